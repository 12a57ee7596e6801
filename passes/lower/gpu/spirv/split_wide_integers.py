# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-wide-integers`: two words for every 64-bit integer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.gpu.spirv.expanded_function import (
    ExpandedFunction,
    Values,
    expand_functions,
)
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION, pass_memory, set_inputs
from xyntra.passes.lower.gpu.spirv.wide_arithmetic import Wide, from_float, full_product
from xyntra.passes.math.values import Bool, Builder, Float, Int
from xyntra.passes.registry import register_pass

_WIDE, _WORD = 64, 32


@register_pass
@dataclass(frozen=True)
class SplitWideIntegers:
    """Replace i64 in every `gpu.func` by two i32, in memory the low one first, as it is there.

    Results are exact. WGSL has no integers of 64 bits. `flatten-memory` and `scalarize-vectors` go
    before.
    """

    name: ClassVar[str] = "split-wide-integers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`.

        Raises:
            CompileError: an operation on such integers is not known.
        """
        with module.context, module.location:
            expand_functions(module, _Words, is_expanded=_is_wide, names=[FUNCTION])
            for op in operations_named(module, "arith.mului_extended"):
                _by_halves(op)
            pass_memory(module, _words_of)


def _is_wide(value: ir.Value) -> bool:
    return _is_wide_type(value.type)


def _is_wide_type(kind: ir.Type) -> bool:
    kind = getattr(kind, "element_type", kind)
    return isinstance(kind, ir.IntegerType) and bool(kind.width == _WIDE)


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(_WORD)


def _words_of(kind: ir.MemRefType) -> ir.MemRefType:
    if not _is_wide_type(kind):
        return kind
    return ir.MemRefType.get([2 * kind.shape[0]], _word(), memory_space=kind.memory_space)


class _Words(ExpandedFunction):
    """A function with words in the place of 64-bit integers."""

    def is_expanded(self, value: ir.Value) -> bool:
        """Tell whether a value is such an integer, or memory of them."""
        return _is_wide(value)

    def kinds(self, value: ir.Value) -> list[ir.Type]:
        """Return the types of what stands for a value."""
        if not _is_wide(value):
            return [value.type]
        if isinstance(value.type, ir.MemRefType):
            return [_words_of(value.type)]
        return [_word(), _word()]

    def wide(self, value: ir.Value) -> Wide:
        """Return the words of an integer."""
        return Wide.of(*self.parts(value))

    def finish(self, function: ir.Operation) -> None:
        """Write down the new types of the arguments."""
        set_inputs(function)

    def expand(self, op: ir.Operation) -> Values:
        """Emit words for an operation on wide integers."""
        if op.name in _BINARY:
            left, right = (self.wide(each) for each in op.operands)
            return [_BINARY[op.name](left, right).words]
        if op.name in _OTHER:
            return _OTHER[op.name](self, op)
        message = f"{op.name} of 64-bit integers has no code in words of 32 bits"
        raise self.refusal("gpu-wide-integers", message)

    def constant(self, op: ir.Operation) -> Values:
        """Split a constant."""
        return [Wide.constant(ir.IntegerAttr(op.attributes["value"]).value).words]

    def compare(self, op: ir.Operation) -> Values:
        """Compare the high words, then the low ones."""
        left, right = (self.wide(each) for each in op.operands)
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate < 2:  # eq, ne
            found = left.equals(right)
            return [[(found if predicate == 0 else _not(found)).value]]
        signed, order = predicate < 6, (predicate - 2) % 4  # lt, le, gt, ge
        if order in (1, 2):
            left, right = right, left
        found = left.below(right, signed=signed)
        return [[(found if order in (0, 2) else _not(found)).value]]

    def select(self, op: ir.Operation) -> Values:
        """Select both words."""
        condition = Bool(Builder(ir.F32Type.get()), self.one(op.operands[0]))
        first, second = (self.wide(each) for each in op.operands[1:])
        return [first.select(condition, second).words]

    def extend(self, op: ir.Operation) -> Values:
        """Fill the high word."""
        build, value = Builder(ir.F32Type.get()), self.one(op.operands[0])
        if ir.IntegerType(value.type).width < _WORD:
            value = emit(op.name, [value], _word())
        low = Int(build, value)
        return [Wide(low, low >> 31 if op.name == "arith.extsi" else build.int(0)).words]

    def truncate(self, op: ir.Operation) -> Values:
        """Take the low word, or part of it."""
        low = self.parts(op.operands[0])[0]
        if ir.IntegerType(op.result.type).width == _WORD:
            return [[low]]
        return [[emit("arith.trunci", [low], op.result.type)]]

    def cast(self, op: ir.Operation) -> Values:
        """Convert from or to an index, which has 32 bits here."""
        if isinstance(op.result.type, ir.IndexType):
            return [[emit(op.name, [self.parts(op.operands[0])[0]], op.result.type)]]
        build = Builder(ir.F32Type.get())
        low = Int(build, emit(op.name, [self.one(op.operands[0])], _word()))
        return [Wide(low, low >> 31 if op.name == "arith.index_cast" else build.int(0)).words]

    def to_float(self, op: ir.Operation) -> Values:
        """Convert to f32."""
        if not isinstance(op.result.type, ir.F32Type):
            raise self.refusal("gpu-wide-integers", f"{op.name} gives {op.result.type}")
        signed = op.name == "arith.sitofp"
        return [[self.wide(op.operands[0]).to_float(signed=signed).value]]

    def from_float(self, op: ir.Operation) -> Values:
        """Convert from f32."""
        value = self.one(op.operands[0])
        if not isinstance(value.type, ir.F32Type):
            raise self.refusal("gpu-wide-integers", f"{op.name} takes {value.type}")
        x = Float(Builder(value.type), value)
        return [from_float(x, signed=op.name == "arith.fptosi").words]

    def absolute(self, op: ir.Operation) -> Values:
        """Take the sign off."""
        return [self.wide(op.operands[0]).size().words]

    def load(self, op: ir.Operation) -> Values:
        """Load two words."""
        memory, place = (self.one(each) for each in op.operands)
        return [[emit("memref.load", [memory, each], _word()) for each in _places(place)]]

    def store(self, op: ir.Operation) -> Values:
        """Store two words."""
        value, memory, place = op.operands
        words = zip(self.parts(value), _places(self.one(place)), strict=True)
        for word, each in words:
            ir.Operation.create("memref.store", operands=[word, self.one(memory), each])
        return []

    def allocate(self, op: ir.Operation) -> Values:
        """Allocate memory of words."""
        given = {name: op.attributes[name] for name in op.attributes}
        return [[emit("memref.alloc", [], _words_of(op.result.type), **given)]]


def _places(place: ir.Value) -> list[ir.Value]:
    kind = ir.IndexType.get()
    two, one = (
        emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, each)) for each in (2, 1)
    )
    low = arith.muli(place, two)
    return [low, arith.addi(low, one)]


def _not(condition: Bool) -> Bool:
    return condition.select_int(1, 0).equals(0)


def _extreme(*, signed: bool, largest: bool) -> Callable[[Wide, Wide], Wide]:
    def build(left: Wide, right: Wide) -> Wide:
        is_below = left.below(right, signed=signed)
        return right.select(is_below, left) if largest else left.select(is_below, right)

    return build


_BINARY: dict[str, Callable[[Wide, Wide], Wide]] = {
    "arith.addi": Wide.__add__,
    "arith.subi": Wide.__sub__,
    "arith.muli": Wide.__mul__,
    "arith.andi": Wide.__and__,
    "arith.ori": Wide.__or__,
    "arith.xori": Wide.__xor__,
    "arith.shli": lambda x, n: x.shifted_left(n.low),
    "arith.shrui": lambda x, n: x.shifted_right(n.low, signed=False),
    "arith.shrsi": lambda x, n: x.shifted_right(n.low, signed=True),
    "arith.divui": lambda x, y: x.divided(y)[0],
    "arith.remui": lambda x, y: x.divided(y)[1],
    "arith.divsi": lambda x, y: x.divided_signed(y)[0],
    "arith.remsi": lambda x, y: x.divided_signed(y)[1],
    "arith.maxsi": _extreme(signed=True, largest=True),
    "arith.minsi": _extreme(signed=True, largest=False),
    "arith.maxui": _extreme(signed=False, largest=True),
    "arith.minui": _extreme(signed=False, largest=False),
}
_OTHER: dict[str, Callable[[_Words, ir.Operation], Values]] = {
    "arith.constant": _Words.constant,
    "arith.cmpi": _Words.compare,
    "arith.select": _Words.select,
    "arith.extsi": _Words.extend,
    "arith.extui": _Words.extend,
    "arith.trunci": _Words.truncate,
    "arith.index_cast": _Words.cast,
    "arith.index_castui": _Words.cast,
    "arith.sitofp": _Words.to_float,
    "arith.uitofp": _Words.to_float,
    "arith.fptosi": _Words.from_float,
    "arith.fptoui": _Words.from_float,
    "math.absi": _Words.absolute,
    "memref.load": _Words.load,
    "memref.store": _Words.store,
    "memref.alloc": _Words.allocate,
}


def _by_halves(op: ir.Operation) -> None:
    """Multiply words by halves."""
    build = Builder(ir.F32Type.get())
    with op.location, ir.InsertionPoint(op):
        found = full_product(*(Int(build, each) for each in op.operands))
    for old, new in zip(op.results, found, strict=True):
        old.replace_all_uses_with(new.value)
    op.erase()
