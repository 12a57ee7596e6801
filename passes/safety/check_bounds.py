# SPDX-License-Identifier: MIT OR Apache-2.0
"""`check-bounds`: refuses accesses that leave their tensors whatever the data are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.registry import register_pass
from xyntra.passes.safety.affine_ranges import is_mixed, loop_extents, loops_in, range_of
from xyntra.passes.safety.linalg_loops import maps_of, shapes_of
from xyntra.passes.safety.refusal import out_of_bounds

__all__ = ["CheckBounds"]

_DYNAMIC = -(1 << 63)
_Problem = str | None


@register_pass
@dataclass(frozen=True)
class CheckBounds:
    """Refuse indexing maps and slices that leave their tensors, or write them in part.

    MLIR's verifier looks at the first and the last iteration of linalg operations. This pass bounds
    every index over all iterations, which differs for maps such as (d0 - d1) and (d0 mod 4).
    """

    name: ClassVar[str] = "check-bounds"

    def run(self, module: ir.Operation) -> None:
        """Check `module`, which is left as it is.

        Raises:
            PassFailure: with the code `mlir-out-of-bounds`.
        """
        proven: dict[object, _Problem] = {}
        for op in nested_operations(module):
            if not _is_static(op):
                continue  # is refused for that, by its own pass
            if op.name in ("tensor.extract_slice", "tensor.insert_slice"):
                problem = _slice_problem(op)
            elif op.name == "tensor.pad":
                problem = _pad_problem(op)
            elif op.name == "linalg.generic":
                kinds = op.attributes["indexing_maps"], op.attributes["iterator_types"]
                key = kinds, tuple(value.type for value in op.operands)
                if key not in proven:
                    proven[key] = _maps_problem(op)
                problem = proven[key]
            elif op.name.startswith("linalg.") and len(op.regions):
                problem = _maps_problem(op)
            else:
                continue
            if problem is not None:
                raise out_of_bounds(op, f"'{op.name}' {problem}")


def _is_static(op: ir.Operation) -> bool:
    types = [value.type for value in (*op.operands, *op.results)]
    return all(t.has_static_shape for t in types if isinstance(t, ir.RankedTensorType))


def _maps_problem(op: ir.Operation) -> _Problem:
    maps, shapes = maps_of(op), shapes_of(op)
    if not maps:
        return None  # an operation that is no nest of loops over its operands
    extents = loop_extents(maps, shapes)
    if extents is None:
        return "has a loop whose extent no operand tells"
    if op.name == "linalg.generic":
        loop = _mixed_loop(op, maps)
        if loop is not None:
            return f"sums along loop {loop}, by which it indexes a result, too"
    if 0 in extents:
        return None
    try:
        return _problem_of(maps, shapes, extents)
    except RecursionError:
        return "has an index that is nested too deeply"


def _mixed_loop(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> int | None:
    """Return a reduction by which a result is indexed; its other elements would not be written."""
    outputs = maps[len(maps) - len(op.results) :]
    used = {loop for m in outputs for e in m.results for loop in loops_in(e)}
    kinds = ir.ArrayAttr(op.attributes["iterator_types"])
    return next((loop for loop in sorted(used) if "reduction" in str(kinds[loop])), None)


def _problem_of(
    maps: Sequence[ir.AffineMap], shapes: Sequence[Sequence[int]], extents: Sequence[int]
) -> _Problem:
    for number, (map_, shape) in enumerate(zip(maps, shapes, strict=True)):
        if len(map_.results) != len(shape):
            return f"indexes operand {number} by {map_}, which is not of its rank"
        for expression, size in zip(map_.results, shape, strict=True):
            if is_mixed(expression):
                return f"indexes operand {number} by {expression}: write it without a difference"
            found = range_of(expression, extents, size)
            if found is None:
                return f"indexes operand {number} by {expression}, which has no bounds"
            if found[0] < 0 or found[1] >= size:
                span = f"from {found[0]} to {found[1]}"
                return f"indexes operand {number} {span} where it has {size} elements"
    return None


def _slice_problem(op: ir.Operation) -> _Problem:
    whole = op.operands[1 if op.name == "tensor.insert_slice" else 0].type
    spans = [
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    ]
    for offset, size, stride, extent in zip(*spans, whole.shape, strict=True):
        if _DYNAMIC in (size, stride):
            continue  # becomes computed indices, or is refused
        start = 0 if offset == _DYNAMIC else offset
        last = start + (size - 1) * stride
        if start < 0 or size < 0 or stride < 1 or (last >= extent if size else start > extent):
            return f"takes {size} elements from {start} on, by {stride}, where there are {extent}"
    return None


def _pad_problem(op: ir.Operation) -> _Problem:
    for name in ("static_low", "static_high"):
        widths = [each for each in ir.DenseI64ArrayAttr(op.attributes[name]) if each != _DYNAMIC]
        if min(widths, default=0) < 0:
            return "pads by less than nothing"
    return None
