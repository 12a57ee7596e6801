# SPDX-License-Identifier: MIT OR Apache-2.0
"""The named pipelines, as data.

A pipeline is a list of elements in MLIR's textual form: passes of ours, upstream passes, nested
lists such as `func.func(canonicalize)`, and the names of other pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xyntra.errors import ConfigError
from xyntra.passes.suggest import did_you_mean
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName
from xyntra.passes.targets.target import ITSELF, Target

__all__ = [
    "PIPELINES",
    "Pipeline",
    "expand",
    "fusion_pipeline",
    "kernel_pipeline",
    "lowering",
    "name_of_element",
    "observing_pipeline",
]


@dataclass(frozen=True)
class Pipeline:
    """A pipeline: its purpose, in one line, and its elements."""

    summary: str
    elements: tuple[str, ...]


_EGRAPH = "simplify-expressions"
_TOLD_TARGET = ("channels-last", "fold-transposes", "fuse-operations")
_CHECK = "check-fusion"
_INTEGERS = "integer-contractions"
_LOWER = "lower-precision"
_MERGE = "merge-contractions"
_OBSERVE = "observe-magnitudes"
_OBSERVE_PRODUCTS = "observe-products"
_PARTS = "hoist-parts"
_PACKED = ("w4", "w4a8", "w8")
_QUANTIZE = "quantize-weights"
_QUANTIZE_PRODUCTS = "quantize-products"
_WIDEN = "widen-contractions"
_ANY_ROWS = 1 << 40
"""More rows than a tensor has."""
_ELEMENTWISE = "decompose-named-ops{only=gelu,silu}"  # for fusion these are arithmetic

PIPELINES: dict[str, Pipeline] = {
    "generalize": Pipeline(
        "ordinary MLIR on tensors to linalg.generic, slices, paddings and reshapes",
        (
            "inline-calls",
            "lower-affine",
            "canonicalize",
            "flatten-control-flow",
            "generalize-operations{strict=true}",
        ),
    ),
    "prepare": Pipeline(
        "a frontend's output, simplified: the level of linalg on tensors",
        ("cse", "canonicalize", "settle-requirements"),
    ),
    "distrust": Pipeline(
        "a module without what it claims of itself, before any pass believes it",
        ("drop-assumptions", "check-bounds"),
    ),
    "safe-text": Pipeline(
        "what `generalize` has made of a given module, made safe to run",
        (
            "drop-assumptions",
            "check-operations",
            "check-bounds",
            "defined-arithmetic{of=indices}",
            "bound-indices",
            "initialize-tensors",
        ),
    ),
    "recognize": Pipeline(
        "named ops for what decomposed graphs spell out",
        (
            _INTEGERS,
            "pack-weights",
            "recognize-patterns",
            "recognize-attention",
            "limit-keys",
            f"{_EGRAPH}{{optional=true}}",
            _ELEMENTWISE,
        ),
    ),
    "weights": Pipeline(
        "work on weights that is done once, when the model is loaded",
        (_WIDEN, "fold-batch-norm", _MERGE),
    ),
    "views": Pipeline(
        "slices, reshapes, transposes and copies folded into what reads or writes them",
        ("fold-slices", "move-reshapes", "channels-last", "fold-transposes"),
    ),
    "fuse": Pipeline(
        "linalg on tensors to xyntra.fused regions",
        (
            "recognize",
            "weights",
            "views",
            "inline-into-gathers",
            "copy-results",
            "fuse-operations",
            "form-kernels",
        ),
    ),
    "form": Pipeline(
        "linalg on tensors to xyntra.fused regions of one operation each",
        (_ELEMENTWISE, "copy-results", "form-kernels"),
    ),
    "kernels": Pipeline(
        "xyntra.fused regions to kernel functions and their calls",
        (_PARTS, "outline-kernels", _CHECK, "write-states", "reuse-buffers"),
    ),
    "kernel-loops": Pipeline(
        "kernel functions, ready for the lowering of a target",
        ("decompose-named-ops{keep=attention}", "merge-elementwise", "merge-reductions"),
    ),
    "gpu-kernel-loops": Pipeline(
        "the same for GPUs",
        (
            "decompose-named-ops{keep=attention}",
            "inline-fills",
            "merge-elementwise",
            "merge-reductions",
        ),
    ),
    "gpu-stages": Pipeline(
        "kernels on buffers to the stages of their launches, with schedules",
        (
            "split-scans",
            "scatter-updates",
            "find-top-k",
            "generalize-copies",
            "forward-pieces",
            "pieces-to-loops",
            "merge-siblings",
            "split-long-products",
            "split-long-reductions",
            "form-attention-stages",
            "form-contraction-stages",
            "rows-in-pieces",
            "form-stages",
            "fold-padding",
            "join-pieces",
            "split-stage-loops",
            "align-operands",
            "fuse-column-slices",
            "fuse-row-statistics",
            "join-independent-stages",
            "choose-schedules",
        ),
    ),
    "decompose": Pipeline(
        "named ops to linalg on tensors",
        ("decompose-named-ops", "canonicalize", "cse"),
    ),
}


def expand(name: str) -> tuple[str, ...]:
    """Return the elements of the pipeline `name`, with the pipelines that it names in their place.

    Raises:
        ConfigError: there is no such pipeline.
    """
    if name not in PIPELINES:
        raise ConfigError(
            "unknown-pipeline",
            f"there is no pipeline '{name}'",
            hint=did_you_mean(name, PIPELINES, f"there are {', '.join(PIPELINES)}"),
        )
    elements: list[str] = []
    for element in PIPELINES[name].elements:
        elements += expand(element) if element in PIPELINES else (element,)
    return tuple(elements)


def fusion_pipeline(
    *,
    egraph: bool,
    fast_math: bool,
    target: TargetName = DEFAULT,
    fold_norms: bool = True,
    folds_any: bool = False,
    precision: str = "f32",
    merge_gates: bool = False,
    narrow_io: bool = False,
) -> tuple[str, ...]:
    """Return the elements of `fuse` for a target, with the e-graph stage as the settings want it.

    Args:
        egraph: whether there is such a stage.
        fast_math: whether it may change the results' rounding.
        target: has steps of its own.
        fold_norms: whether norms are folded into products, on targets that do it.
        folds_any: whether those of many rows are, too: where sizes are free, there may be few.
        precision: what contractions of f32 compute in: "f32", "tf32" on tensor cores, or "f16" or
            "bf16", in which tensors are stored, too; or "int8", in which products with weights are
            computed; or "fp8", which is "f16" but for these; or "w4" or "w8", in which weights are
            stored, or "w4a8", in which rows that meet these are rounded to 8 bits.
        merge_gates: whether launches can compute pairs of columns of a contraction, so that a gate
            and what it multiplies should be one.
        narrow_io: whether inputs and outputs of f32 have the type of `precision`, too.
    """
    elements = [name for name in expand("fuse") if egraph or name_of_element(name) != _EGRAPH]
    without = () if fold_norms else ("fold-norms",)
    options: dict[str, list[str]] = {}
    if fast_math:
        options[_EGRAPH] = ["math=fast"]
    if folds_any:
        options["fold-norms"] = [f"max-rows={_ANY_ROWS}"]
    if precision == "tf32":
        options["order-weights"] = [f"precision={precision}"]
    if merge_gates:
        options[_MERGE] = ["gates=true"]
    if TARGETS[target].multiplies_float8:
        options[_INTEGERS] = ["float8=true"]
    if target != DEFAULT:
        options |= {name: [f"target={target}"] for name in _TOLD_TARGET}
    lower = lowering(precision, target, narrow_io)
    if lower:  # before weights of one type are merged, and before narrow ones are widened
        place = elements.index(_WIDEN if precision in _PACKED else _MERGE)
        place += precision == "int8"  # merged products have one factor to quantize
        if precision == "fp8":
            elements[place + 1 : place + 1] = lower[1:]
            lower = lower[:1]
        elements[place:place] = lower
    return tuple(
        _with_options(element, options.get(name_of_element(element), []))
        for element in _for_target(elements, TARGETS[target], without)
    )


def observing_pipeline(
    *,
    egraph: bool,
    fast_math: bool,
    target: TargetName,
    errors: str = "none",
    quantized: bool = False,
) -> tuple[str, ...]:
    """Return what compiles a model for this processor that returns magnitudes of its tensors.

    Args:
        egraph: as in `fusion_pipeline`.
        fast_math: as there.
        target: for which precision is to be lowered: what comes before that is as for it.
        errors: the 16-bit type of which errors are returned as well, or "none"; or "int8" for the
            factors of products with weights instead of magnitudes.
        quantized: whether the model computes products in 8 bits or in f32, as an input says,
            and returns nothing beside outputs.
    """
    is_int8 = quantized or errors == "int8"
    precision, lower = ("int8", _QUANTIZE_PRODUCTS) if is_int8 else ("f16", _LOWER)
    before = fusion_pipeline(egraph=egraph, fast_math=fast_math, target=target, precision=precision)
    names = [name_of_element(each) for each in before]
    after = fusion_pipeline(egraph=egraph, fast_math=fast_math)
    start = [name_of_element(each) for each in after].index(_MERGE) + is_int8
    observe: tuple[str, ...] = (f"{_OBSERVE}{{errors={errors}}}",)
    if is_int8:
        observe = (_OBSERVE_PRODUCTS,)
    if quantized:
        quantize, *rest = lowering("int8", target, narrow_io=False)
        observe = (_with_options(quantize, ["switches=true"]), *rest)
    return (*before[: names.index(lower)], *observe, *after[start:])


def lowering(precision: str, target: TargetName, narrow_io: bool) -> tuple[str, ...]:
    """Return what gives tensors fewer bits, or weights alone, where kernels compute in f32."""
    if precision in _PACKED:
        round_rows = ("round-rows{all=true}",) if precision.endswith("a8") else ()
        return (_with_options(_QUANTIZE, [f"bits={precision[1]}"]), *round_rows)
    if precision == "int8":
        return (_QUANTIZE_PRODUCTS, _INTEGERS, "cse")
    if precision == "fp8":
        (lower,) = lowering("f16", target, narrow_io)
        return (_with_options(lower, ["note=true"]), "float8-products")
    if precision not in ("f16", "bf16"):
        return ()
    options = [f"type={precision}"]
    options += ["activations=false"] * (not TARGETS[target].multiplies_16_bits)
    options += ["interface=true"] * narrow_io
    return (_with_options(_LOWER, options),)


def kernel_pipeline(target: TargetName, *, parts: bool = True) -> tuple[str, ...]:
    """Return the elements of `kernels`, which checks them by the limits of `target`.

    Args:
        target: what the kernels are for.
        parts: whether kernels may be called with parts of buffers, if the target can do that.
    """
    check = {_CHECK: f"{_CHECK}{{target={target}}}"}
    without = () if parts and TARGETS[target].calls_with_parts else (_PARTS,)
    return tuple(check.get(name, name) for name in expand("kernels") if name not in without)


def _for_target(elements: Sequence[str], target: Target, without: Sequence[str]) -> Iterator[str]:
    """Yield the elements of `fuse`, with the steps of a target, but some, in the place of some."""
    for element in elements:
        for step in target.fuse_steps.get(name_of_element(element), (ITSELF,)):
            if step not in without:
                yield element if step == ITSELF else step


def name_of_element(element: str) -> str:
    """Return the name of the pass that an element of a pipeline runs."""
    return element.partition("{")[0]


def _with_options(element: str, options: Sequence[str]) -> str:
    """Return an element of a pipeline with options added to those that it has."""
    if not options:
        return element
    name, _, given = element.partition("{")
    return f"{name}{{{' '.join([*given.removesuffix('}').split(), *options])}}}"
