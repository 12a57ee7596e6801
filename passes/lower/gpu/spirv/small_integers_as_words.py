# SPDX-License-Identifier: MIT OR Apache-2.0
"""`small-integers-as-words`: i32 for integers of 8 and 16 bits, and words of memory for theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import function_name, operations_named
from xyntra.passes.lower.gpu.emit.atomics import atomic
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION, pass_memory, set_inputs
from xyntra.passes.registry import register_pass

_WORD, _BYTE = 32, 8


@register_pass
@dataclass(frozen=True)
class SmallIntegersAsWords:
    """Let every `gpu.func` compute in i32 where it has narrower integers but booleans.

    A value is extended by zeros; where its sign counts, it is extended before. Elements of memory
    are parts of words: a store takes two atomic operations, since another thread may store beside
    it. In workgroup memory, each element is a word. `split-wide-integers` goes before.
    """

    name: ClassVar[str] = "small-integers-as-words"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`.

        Raises:
            CompileError: an operation on such integers is not known.
        """
        with module.context, module.location:
            for function in operations_named(module, FUNCTION):
                _rewrite(function)
            pass_memory(module, _words_of)


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(_WORD)


def _is_small(kind: ir.Type) -> bool:
    return isinstance(kind, ir.IntegerType) and 1 < kind.width < _WORD


def _is_small_memory(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.MemRefType) or not isinstance(kind.element_type, ir.IntegerType):
        return False
    return bool(kind.element_type.width < _WORD)


def _bits(kind: ir.MemRefType) -> int:
    """Return how many bits an element takes."""
    return max(int(ir.IntegerType(kind.element_type).width), _BYTE)


def _is_shared(kind: ir.MemRefType) -> bool:
    """Tell whether memory is that of a workgroup."""
    return kind.memory_space is not None


def _words_of(kind: ir.MemRefType) -> ir.MemRefType:
    if not _is_small_memory(kind):
        return kind
    size = kind.shape[0]
    if not _is_shared(kind):
        size = -(-size * _bits(kind) // _WORD)
    return ir.MemRefType.get([size], _word(), memory_space=kind.memory_space)


@dataclass(frozen=True)
class _Site:
    """An operation, with the types of what it takes and gives before any has changed."""

    op: ir.Operation
    inputs: tuple[ir.Type, ...]
    result: ir.Type | None

    @property
    def width(self) -> int:
        """Bits of the result, which may be those of a word."""
        return int(ir.IntegerType(self.result).width)

    def signed(self, number: int) -> ir.Value:
        """Return an operand with its sign in all bits."""
        kind, value = self.inputs[number], self.op.operands[number]
        if not _is_small(kind):
            return value
        unused = _constant(_WORD - ir.IntegerType(kind).width)
        return arith.shrsi(arith.shli(value, unused), unused)

    def same(self, *operands: ir.Value) -> ir.Value:
        """Return the operation on words."""
        given = {name: self.op.attributes[name] for name in self.op.attributes}
        kind = _word() if _is_small(self.result) else self.result
        return emit(self.op.name, list(operands), kind, **given)

    def cut(self, value: ir.Value) -> ir.Value:
        """Return a word with zeros where the result has no bits."""
        if not _is_small(self.result):
            return value
        return arith.andi(value, _constant((1 << self.width) - 1))


def _rewrite(function: ir.Operation) -> None:
    sites: list[_Site] = []
    values: list[ir.Value] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        arguments = [each for region in op.regions for block in region for each in block.arguments]
        touched = [*op.results, *arguments]
        own = [each for each in touched if _is_small(each.type) or _is_small_memory(each.type)]
        values.extend(own)
        kinds = tuple(each.type for each in op.operands)
        if own or any(_is_small(each) or _is_small_memory(each) for each in kinds):
            sites.append(_Site(op, kinds, op.results[0].type if op.results else None))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    todo = [(each, _emitter(function, each)) for each in sites if each.op != function]
    for value in values:
        value.set_type(_word() if _is_small(value.type) else _words_of(value.type))
    written = [(site, build) for site, build in todo if build is not None]
    for site, build in written:
        with site.op.location, ir.InsertionPoint(site.op):
            found = build(site)
        if found is not None:
            site.op.result.replace_all_uses_with(found)
    for site, _ in reversed(written):
        site.op.erase()
    set_inputs(function)


_Emitter = Callable[[_Site], "ir.Value | None"]


def _emitter(function: ir.Operation, site: _Site) -> _Emitter | None:
    """Return what emits an operation anew; None where it is right with words in it."""
    name = site.op.name
    if name in _AS_THEY_ARE or name.startswith("scf."):
        return None
    if name == "arith.cmpi":
        is_signed = 2 <= ir.IntegerAttr(site.op.attributes["predicate"]).value < 6
        return _signed if is_signed else None
    found = _EMITTERS.get(name)
    if found is None:
        place = f"function '{function_name(function)}'"
        message = f"{name} of small integers has no code in words"
        raise CompileError("gpu-small-integers", message, place=place)
    return found


def _wrapping(site: _Site) -> ir.Value:
    return site.cut(site.same(*site.op.operands))


def _signed(site: _Site) -> ir.Value:
    found = site.same(*(site.signed(number) for number in range(len(site.inputs))))
    return site.cut(found)


def _shift_signed(site: _Site) -> ir.Value:
    return site.cut(site.same(site.signed(0), site.op.operands[1]))


def _new_constant(site: _Site) -> ir.Value:
    value = ir.IntegerAttr(site.op.attributes["value"]).value
    return _constant(value & ((1 << site.width) - 1))


def _extend_zeros(site: _Site) -> ir.Value:
    value = site.op.operands[0]
    return value if _is_small(site.inputs[0]) else site.same(value)


def _extend_sign(site: _Site) -> ir.Value:
    if _is_small(site.inputs[0]):
        return site.cut(site.signed(0))
    return site.cut(site.same(site.op.operands[0]))


def _truncate(site: _Site) -> ir.Value:
    value = site.op.operands[0]
    return site.cut(value) if _is_small(site.result) else site.same(value)


def _load(site: _Site) -> ir.Value:
    memory, place = site.op.operands
    kind = ir.MemRefType(site.inputs[0])
    if _is_shared(kind):
        word = emit("memref.load", [memory, place], _word())
    else:
        number, shift = _place_of(place, _bits(kind))
        word = arith.shrui(emit("memref.load", [memory, number], _word()), shift)
        word = arith.andi(word, _constant((1 << _bits(kind)) - 1))
    if _is_small(site.result):
        return word
    return arith.cmpi(arith.CmpIPredicate.ne, word, _constant(0))


def _store(site: _Site) -> None:
    value, memory, place = site.op.operands
    kind = ir.MemRefType(site.inputs[1])
    if not _is_small(site.inputs[0]):
        value = emit("arith.extui", [value], _word())
    if _is_shared(kind):
        ir.Operation.create("memref.store", operands=[value, memory, place])
        return
    number, shift = _place_of(place, _bits(kind))
    others = arith.xori(arith.shli(_constant((1 << _bits(kind)) - 1), shift), _constant(-1))
    atomic(arith.AtomicRMWKind.andi, others, memory, number)
    atomic(arith.AtomicRMWKind.ori, arith.shli(value, shift), memory, number)


def _place_of(place: ir.Value, bits: int) -> tuple[ir.Value, ir.Value]:
    """Return the word that an element is in, and the number of its lowest bit there."""
    position = emit("arith.index_castui", [place], _word())
    steps = _WORD // bits
    number = arith.shrui(position, _constant(steps.bit_length() - 1))
    shift = arith.muli(arith.andi(position, _constant(steps - 1)), _constant(bits))
    return emit("arith.index_castui", [number], ir.IndexType.get()), shift


def _constant(number: int) -> ir.Value:
    signed = (number + 2**31) % 2**32 - 2**31
    kind = _word()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, signed))


_AS_THEY_ARE = frozenset(
    "arith.andi arith.ori arith.xori arith.shrui arith.divui arith.remui arith.maxui arith.minui "
    "arith.select arith.uitofp math.ctpop memref.alloc".split()
)
_EMITTERS: dict[str, _Emitter] = {
    "arith.addi": _wrapping,
    "arith.subi": _wrapping,
    "arith.muli": _wrapping,
    "arith.shli": _wrapping,
    "arith.divsi": _signed,
    "arith.remsi": _signed,
    "arith.maxsi": _signed,
    "arith.minsi": _signed,
    "arith.sitofp": _signed,
    "arith.index_cast": _signed,
    "arith.index_castui": _wrapping,
    "math.absi": _signed,
    "arith.shrsi": _shift_signed,
    "arith.fptosi": _wrapping,
    "arith.fptoui": _wrapping,
    "arith.constant": _new_constant,
    "arith.extui": _extend_zeros,
    "arith.extsi": _extend_sign,
    "arith.trunci": _truncate,
    "memref.load": _load,
    "memref.store": _store,
}
