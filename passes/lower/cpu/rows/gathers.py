# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads vectors of elements that lie anywhere in a buffer."""

from __future__ import annotations

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.vector_body import broadcast

__all__ = ["gather", "gather_neighbours", "multiples", "near"]


def gather(memory: ir.Value, base: ir.Value, places: ir.Value, lanes: int) -> ir.Value:
    """Load the elements at `places`, counted from `base`."""
    element = ir.MemRefType(memory.type).element_type
    kind = ir.VectorType.get([lanes], element)
    one = emit("arith.constant", [], ir.IntegerType.get_signless(1), value=ir.BoolAttr.get(True))
    mask = broadcast(one, lanes)
    zero = ir.Attribute.parse(f"dense<0{'' if _is_integer(element) else '.0'}> : {kind}")
    rest = emit("arith.constant", [], kind, value=zero)
    return emit("vector.gather", [memory, base, places, mask, rest], kind)


def gather_neighbours(memory: ir.Value, base: ir.Value, places: ir.Value, lanes: int) -> ir.Value:
    """Load the elements at `places` as a vector where each is one behind the one before."""
    kind = ir.VectorType(places.type)
    element = kind.element_type
    first = emit("vector.extract", [places], element, static_position=ir.DenseI64ArrayAttr.get([0]))
    numbers = [ir.IntegerAttr.get(element, lane) for lane in range(lanes)]
    steps = emit("arith.constant", [], kind, value=ir.DenseElementsAttr.get(numbers, kind))
    expected = emit("arith.addi", [broadcast(first, lanes), steps], kind)
    equal = arith.cmpi(arith.CmpIPredicate.eq, places, expected)
    all_equal = emit(
        "vector.reduction",
        [equal],
        ir.IntegerType.get_signless(1),
        kind=ir.Attribute.parse("#vector.kind<and>"),
    )
    result = ir.VectorType.get([lanes], ir.MemRefType(memory.type).element_type)
    branch = scf.IfOp(all_equal, [result], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        start = first if isinstance(element, ir.IndexType) else _as_index(first)
        place = integers.addi(base, start)
        scf.YieldOp([emit("vector.load", [memory, place], result)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([gather(memory, base, places, lanes)])
    found: ir.Value = branch.results[0]
    return found


def _as_index(value: ir.Value) -> ir.Value:
    return emit("arith.index_cast", [value], ir.IndexType.get())


def near(base: ir.Value, places: ir.Value, lanes: int) -> tuple[ir.Value, ir.Value]:
    """Return the same places, counted from 0 where their numbers have 32 bits.

    LLVM widens numbers that are the same in a loop before it; instructions that gather by 32 bits
    take fewer steps than those by 64.
    """
    i32 = ir.IntegerType.get_signless(32)
    if ir.VectorType(places.type).element_type != i32:
        return base, places
    start = broadcast(emit("arith.index_cast", [base], i32), lanes)
    return index(0), emit("arith.addi", [places, start], places.type)


def multiples(step: int, lanes: int) -> ir.Value:
    """Return the places of `lanes` elements that are `step` apart."""
    i32 = ir.IntegerType.get_signless(32)
    kind = ir.VectorType.get([lanes], i32)
    places = [ir.IntegerAttr.get(i32, step * lane) for lane in range(lanes)]
    return emit("arith.constant", [], kind, value=ir.DenseElementsAttr.get(places, kind))


def _is_integer(element: ir.Type) -> bool:
    return isinstance(element, ir.IntegerType)
