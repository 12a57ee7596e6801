# SPDX-License-Identifier: MIT OR Apache-2.0
"""The named pipelines, as data.

A pipeline is a list of elements in MLIR's textual form: passes of ours, upstream passes, nested
lists such as `func.func(canonicalize)`, and the names of other pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.errors import ConfigError
from xyntra.passes.suggest import did_you_mean

__all__ = [
    "PIPELINES",
    "SIMPLIFY",
    "Pipeline",
    "expand",
    "fusion_pipeline",
    "kernel_pipeline",
    "lowering",
    "observing_pipeline",
]


@dataclass(frozen=True)
class Pipeline:
    """What the pipeline is for, in one line, and its elements."""

    summary: str
    elements: tuple[str, ...]


SIMPLIFY = "simplify-expressions{optional=true}"
_ATTENTION = "recognize-attention"
_CHANNELS = "channels-last"
_LAST_VIEW = "fold-transposes"
_FUSION = "fuse-operations"
_MERGE = "merge-contractions"
_NORMS = "split-long-norms"
_CHECK = "check-fusion"
_LOWER = "lower-precision"
_OBSERVE = "observe-magnitudes"
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
            "integer-contractions",
            "recognize-patterns",
            _ATTENTION,
            SIMPLIFY,
            _ELEMENTWISE,
        ),
    ),
    "weights": Pipeline(
        "work on weights that is done once, when the model is loaded",
        ("widen-contractions", "fold-batch-norm", _LOWER, _MERGE),
    ),
    "views": Pipeline(
        "slices, reshapes, transposes and copies folded into what reads or writes them",
        ("fold-slices", "move-reshapes", _CHANNELS, _LAST_VIEW),
    ),
    "fuse": Pipeline(
        "linalg on tensors to xyntra.fused regions",
        (
            "recognize",
            "weights",
            "views",
            "copy-results",
            _FUSION,
            "form-kernels",
        ),
    ),
    "form": Pipeline(
        "linalg on tensors to xyntra.fused regions of one operation each",
        (_ELEMENTWISE, "copy-results", "form-kernels"),
    ),
    "kernels": Pipeline(
        "xyntra.fused regions to kernel functions and their calls",
        ("outline-kernels", _CHECK, "reuse-buffers"),
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
            "merge-siblings",
            "split-long-products",
            "split-long-reductions",
            "form-attention-stages",
            "form-contraction-stages",
            "form-stages",
            "fold-padding",
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
    target: str = "cpu",
    fold_norms: bool = True,
    precision: str = "f32",
    merge_gates: bool = False,
    narrow_io: bool = False,
) -> tuple[str, ...]:
    """Return the elements of `fuse`, with the e-graph stage as the settings want it.

    Args:
        egraph: whether there is such a stage.
        narrow_io: whether inputs and outputs of f32 have the type of `precision`, too.
        fast_math: whether it may change the results' rounding.
        target: "cpu" or "cuda". Factors of 16-bit floats become f32 where nothing narrower is
            multiplied; for tensor cores, which take them as they are, weights are stored in order
            and images of few channels packed.
        fold_norms: whether norms are folded into products, where launches cost more than they do.
        precision: what contractions of f32 compute in: "f32", "tf32" on tensor cores, or "f16" or
            "bf16", in which tensors are stored, too.
        merge_gates: whether launches can compute pairs of columns of a contraction, so that a gate
            and what it multiplies should be one.
    """
    simplify = SIMPLIFY.replace("}", " math=fast}") if fast_math else SIMPLIFY
    stages: dict[str, tuple[str, ...]] = {SIMPLIFY: (simplify,) if egraph else ()}
    if target == "cpu":
        stages[_LAST_VIEW] = ("rows-in-place", _LAST_VIEW)
    else:
        order = "order-weights{precision=tf32}" if precision == "tf32" else "order-weights"
        stages |= {
            _CHANNELS: (f"{_CHANNELS}{{target={target}}}",),
            "widen-contractions": (),
            _ATTENTION: (_ATTENTION, "narrow-row-ops"),
            _MERGE: (f"{_MERGE}{{gates=true}}" if merge_gates else _MERGE,),
            _LAST_VIEW: (f"{_LAST_VIEW}{{target={target}}}", "split-gates", "pack-channels", order),
            _FUSION: (
                "inline-into-reductions",
                f"{_FUSION}{{target={target}}}",
                *(("fold-norms",) if fold_norms else ()),
            ),
        }
    if target in ("cpu", "cuda"):
        stages[_ELEMENTWISE] = (_ELEMENTWISE, f"{_NORMS}{{target={target}}}")
    if target == "cuda":
        stages[_CHANNELS] = (*stages[_CHANNELS], f"{_NORMS}{{target={target}}}")
    stages[_LOWER] = lowering(precision, target, narrow_io)
    return tuple(each for name in expand("fuse") for each in stages.get(name, (name,)))


def observing_pipeline(
    *, egraph: bool, fast_math: bool, target: str, errors: str = "none"
) -> tuple[str, ...]:
    """Return what compiles a model for this processor that returns magnitudes of its tensors.

    Args:
        egraph: as in `fusion_pipeline`.
        fast_math: as there.
        target: for which precision is to be lowered: what comes before that is as for it.
        errors: the 16-bit type of which errors are returned as well, or "none".
    """
    before = fusion_pipeline(egraph=egraph, fast_math=fast_math, target=target, precision="f16")
    place = next(i for i, name in enumerate(before) if name.startswith(_LOWER))
    after = fusion_pipeline(egraph=egraph, fast_math=fast_math)
    rest = after[next(i for i, name in enumerate(after) if name.startswith(_MERGE)) :]
    return (*before[:place], f"{_OBSERVE}{{errors={errors}}}", *rest)


def lowering(precision: str, target: str, narrow_io: bool) -> tuple[str, ...]:
    """Return what gives tensors fewer bits: CPUs, which compute in f32, gain from weights alone."""
    if precision not in ("f16", "bf16"):
        return ()
    options = [f"type={precision}", *(["activations=false"] if target == "cpu" else [])]
    options += ["interface=true"] * narrow_io
    return (f"{_LOWER}{{{' '.join(options)}}}",)


def kernel_pipeline(target: str) -> tuple[str, ...]:
    """Return the elements of `kernels`, which checks them by the limits of `target`."""
    check = {_CHECK: f"{_CHECK}{{target={target}}}"}
    return tuple(check.get(name, name) for name in expand("kernels"))
