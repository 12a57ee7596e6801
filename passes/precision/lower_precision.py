# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lower-precision`: f32 tensors and factors become f16 or bf16 where that is safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.functions import function_blocks, weight_positions
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.decisions import Decisions, decide
from xyntra.passes.precision.magnitudes import FACTORS
from xyntra.passes.precision.report import ROUNDED, NodePrecision, record_precisions
from xyntra.passes.precision.rewriting import PrecisionRewriter
from xyntra.passes.precision.roles import PrecisionRole
from xyntra.passes.registry import register_pass

__all__ = ["LowerPrecision"]

_DTYPES = {"f16": "float16", "bf16": "bfloat16"}
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38}
_NAMED_NODES = 3
_DOUBLE = "it is of f64"


@register_pass
@dataclass(frozen=True)
class LowerPrecision:
    """Compute a model of f32 with factors and tensors of 16 bits.

    Contractions and attention take 16-bit factors and sum in f32. Tensors that depend on weights or
    on float inputs are stored in 16 bits, parameters too; bodies of operations compute in f32, as
    norms and softmax do. In f32 stay the model's inputs and results, sums, what holds constants
    beyond the range, squares, powers and exponentials, and what rounding errors would grow in: the
    arguments of sines, exponentials, logarithms, comparisons and conversions to integers. Types
    other than f32 are left alone. The module says which contractions stay in f32, and why.
    """

    name: ClassVar[str] = "lower-precision"

    type: Literal["f16", "bf16"] = "f16"
    activations: bool = True
    """Whether tensors that a call computes are lowered, or parameters alone."""
    interface: bool = False
    """Whether inputs and results of f32 are lowered as well."""
    note: bool = False
    """Whether contractions say how large their factors are in samples, for `float8-products`."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        found: list[NodePrecision] = []
        for block in list(function_blocks(module)):
            dtype, limit = _DTYPES[self.type], _LARGEST[self.type]
            how = {"activations": self.activations, "interface": self.interface}
            decisions = decide(block, limit, **how)
            found += self._report(block, decisions)
            if self.note:
                _note(decisions)
            PrecisionRewriter(block, decisions, dtype, interface=self.interface).rewrite()
            _finish_interface(block, dtype)
        if found and all(each.reason == _DOUBLE for each in found):
            raise UnsupportedError(
                "precision-f64",
                f"precision '{self.type}' is for models of f32",
                place=found[0].nodes,
                cause="all that this one multiplies is f64",
                hint="convert the model to f32, or leave out precision",
            )
        record_precisions(module, found)

    def _report(self, block: ir.Block, decisions: Decisions) -> Iterator[NodePrecision]:
        names = _parameter_names(block)
        for argument in block.arguments:
            if argument in names and (reason := decisions.arguments.get(argument)):
                yield NodePrecision(f"weight {names[argument]}", "f32", reason)
        for number, (op, role) in enumerate(decisions.roles):
            is_product = role in (PrecisionRole.CONTRACTION, PrecisionRole.ATTENTION)
            reason = decisions.kept.get(number, "")
            if number in decisions.lowered:
                yield NodePrecision(_nodes(op), self.type, "")
            elif reason and (is_product or len(op.results)):
                yield NodePrecision(_nodes(op), "f32", reason)


def _note(decisions: Decisions) -> None:
    for number, magnitudes in decisions.observed.items():
        op, _ = decisions.roles[number]
        if any(magnitudes):
            with op.context:
                op.attributes[FACTORS] = ir.DenseF32ArrayAttr.get(list(magnitudes))


def _nodes(op: ir.Operation) -> str:
    found = source_nodes(op.location)
    more = f" and {len(found) - _NAMED_NODES} more" if len(found) > _NAMED_NODES else ""
    return ", ".join(found[:_NAMED_NODES]) + more


def _parameter_names(block: ir.Block) -> dict[ir.Value, str]:
    positions = weight_positions(block)
    if not positions:
        return {}
    given = ir.ArrayAttr(block.owner.attributes["arg_attrs"])
    return {
        block.arguments[place]: str(ir.DictAttr(given[place])["xyntra.parameter"].value)
        for place in positions
    }


def _finish_interface(block: ir.Block, dtype: str) -> None:
    """Give the function the types of its arguments and results; say which parameters are rounded.

    What has another type than before is an f32 that was narrowed.
    """
    function = block.owner
    before = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    returned = list(list(block.operations)[-1].operands)
    with function.context:
        inputs = [argument.type for argument in block.arguments]
        results = [value.type for value in returned]
        type_ = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        function.attributes["function_type"] = type_
        for name, old, new in (
            ("arg_attrs", before.inputs, inputs),
            ("res_attrs", before.results, results),
        ):
            changed = [first != second for first, second in zip(old, new, strict=True)]
            if name in function.attributes and any(changed):
                _set_dtype(function, name, changed, dtype)


def _set_dtype(function: ir.Operation, name: str, changed: list[bool], dtype: str) -> None:
    """Write `dtype` into the attributes of what has `changed`, of arguments or results."""
    given = list(ir.ArrayAttr(function.attributes[name]))
    for place, is_changed in enumerate(changed):
        if not is_changed:
            continue
        entries = {entry.name: entry.attr for entry in ir.DictAttr(given[place])}
        entries["xyntra.dtype"] = ir.StringAttr.get(dtype)
        if "xyntra.parameter" in entries:
            entries[ROUNDED] = ir.StringAttr.get("float32")
        given[place] = ir.DictAttr.get(entries)
    function.attributes[name] = ir.ArrayAttr.get(given)
