# SPDX-License-Identifier: MIT OR Apache-2.0
"""`observe-magnitudes`: a model returns how large its tensors become, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.decisions import decide
from xyntra.passes.precision.roles import PrecisionRole, element_of
from xyntra.passes.registry import register_pass

__all__ = ["ERROR", "PEAK", "SIZE", "ObserveMagnitudes", "Observed", "return_more"]

PEAK, ERROR, SIZE = "xyntra.peak", "xyntra.error", "xyntra.size"
"""Prefixes of the names of what is returned, before the number of an operation."""

_DTYPES = {"f16": "float16", "bf16": "bfloat16"}
Observed = tuple[str, ir.Value, ir.Operation]


@register_pass
@dataclass(frozen=True)
class ObserveMagnitudes:
    """Return more from `main`: the largest magnitude in each tensor of f32 that it computes.

    The results are called "xyntra.peak N of M NODES" with the number N of an operation among M in
    the order of the text, which is how `lower-precision` finds them again. With `errors` set, two
    more follow for each contraction and attention that has 16-bit factors with that type:
    "xyntra.error N NODES" is the sum of the squares by which the result differs, and "xyntra.size N
    NODES" that of the result.
    """

    name: ClassVar[str] = "observe-magnitudes"

    errors: Literal["none", "f16", "bf16"] = "none"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module` that is no kernel and has one block."""
        for function in list(functions(module)):
            if len(function.regions[0].blocks) == 1:
                self._observe(function)

    def _observe(self, function: ir.Operation) -> None:
        block = function.regions[0].blocks[0]
        decisions = decide(block, 0.0)
        lowered = decide(block, float("inf")).lowered if self.errors != "none" else set()
        end = decisions.roles[-1][0]
        found: list[Observed] = []
        for number, (op, role) in enumerate(decisions.roles[:-1]):
            if role in (PrecisionRole.CONSTANT, PrecisionRole.MOVE) or len(op.results) != 1:
                continue
            if element_of(op.results[0]) != "f32" or op.results[0] not in decisions.data:
                continue
            b = TensorBuilder(ir.InsertionPoint(end), op.location)
            place = f"{number} of {len(decisions.roles)}"
            found.append((f"{PEAK} {place}", _peak(b, op.results[0]), op))
            if number in lowered:
                found += self._errors(b, op, role, number)
        return_more(function, end, found, _first_nodes)

    def _errors(
        self, b: TensorBuilder, op: ir.Operation, role: PrecisionRole, number: int
    ) -> Iterator[Observed]:
        """What rounding the factors and the result of `op` adds, from exact factors on."""
        dtype = _DTYPES[self.errors]
        with b.insertion_point:
            clone = op.clone().operation
        for place in range(3 if role is PrecisionRole.ATTENTION else 2):
            clone.operands[place] = _rounded(b, op.operands[place], dtype)
        clone.move_before(b.insertion_point.ref_operation)
        exact = Tensor.of(op.results[0])
        rounded = Tensor.of(_rounded(b, clone.results[0], dtype))
        error = b.map(lambda x, y: (x - y) * (x - y), exact, rounded, dtype="float32")
        yield f"{ERROR} {number}", _sum(b, error), op
        size = b.map(lambda x: x * x, exact, dtype="float32")
        yield f"{SIZE} {number}", _sum(b, size), op


def _peak(b: TensorBuilder, value: ir.Value) -> ir.Value:
    x = Tensor.of(value)
    every = range(x.rank)
    return b.reduce(x, every, "max", keepdims=False, element=lambda v: v.math("absf")).value


def _sum(b: TensorBuilder, x: Tensor) -> ir.Value:
    return b.reduce(x, range(x.rank), "sum", keepdims=False).value


def _rounded(b: TensorBuilder, value: ir.Value, dtype: str) -> ir.Value:
    x = Tensor.of(value)
    return b.map(lambda v: v.cast(dtype).cast("float32"), x, dtype="float32").value


def _first_nodes(op: ir.Operation) -> str:
    return ", ".join(source_nodes(op.location)[:3])


def return_more(
    function: ir.Operation,
    end: ir.Operation,
    found: Sequence[Observed],
    nodes: Callable[[ir.Operation], str],
) -> None:
    """Let the function return what was found as well, under these names, each with its nodes."""
    before = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    count = len(end.operands)
    with function.context:
        values = [*end.operands, *(value for _, value, _ in found)]
        ir.Operation.create(
            "func.return", operands=values, loc=end.location, ip=ir.InsertionPoint(end)
        )
        type_ = ir.FunctionType.get(before.inputs, [value.type for value in values])
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        given = [ir.DictAttr.get({})] * count
        if "res_attrs" in function.attributes:
            given = list(ir.ArrayAttr(function.attributes["res_attrs"]))
        for name, _, op in found:
            label = f"{name} {nodes(op)}"
            given.append(ir.DictAttr.get({"xyntra.output": ir.StringAttr.get(label)}))
        function.attributes["res_attrs"] = ir.ArrayAttr.get(given)
    end.erase()
