# SPDX-License-Identifier: MIT OR Apache-2.0
"""`biased-atomics`: maxima of signed words are maxima of unsigned ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    entry_block,
    function_name,
    kernel_function,
    operations_named,
)
from xyntra.passes.lower.gpu.launching.outline import ARGUMENTS, LAUNCH, scratch_slots
from xyntra.passes.registry import register_pass

_ATOMIC, _LOAD, _STORE = "memref.atomic_rmw", "memref.load", "memref.store"
_UNSIGNED = {
    int(arith.AtomicRMWKind.maxs): arith.AtomicRMWKind.maxu,
    int(arith.AtomicRMWKind.mins): arith.AtomicRMWKind.minu,
}
_SIGN = -(1 << 31)


@register_pass
@dataclass(frozen=True)
class BiasedAtomics:
    """Keep words whose signed maxima or minima are taken atomically with their signs inverted.

    naga takes the words of a buffer for unsigned. Only scratch memory can be kept like that, of
    which nobody but the kernel knows. `flatten-memory` goes before.
    """

    name: ClassVar[str] = "biased-atomics"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what touches such memory in the functions of `module`.

        Raises:
            CompileError: it is an input or a result, or takes part in other atomic operations.
        """
        functions = {function_name(op): op for op in operations_named(module, "gpu.func")}
        signed = {
            op.operands[1]
            for each in functions.values()
            for op in operations_named(each, _ATOMIC)
            if _kind(op) in _UNSIGNED
        }
        if not signed:
            return
        places = _places(module, functions)
        biased = {places[each] for each in signed}
        host = kernel_function(module)
        first = len(entry_block(host).arguments) - len(scratch_slots(host))
        if min(biased) < first:
            message = "signed maxima are taken atomically of what is no scratch memory"
            raise CompileError("gpu-atomics", message, place=f"kernel '{function_name(host)}'")
        with module.context:
            for memory, place in places.items():
                if place in biased:
                    _bias(memory)


def _kind(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["kind"]).value)


def _places(module: ir.Operation, functions: dict[str, ir.Operation]) -> dict[ir.Value, int]:
    """Return the number of the kernel's pointer that every argument of its functions is given."""
    found = {}
    for launch in operations_named(module, LAUNCH):
        segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
        function = functions[str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])]
        given = list(launch.operands)[sum(segments[:ARGUMENTS]) :]
        for argument, value in zip(entry_block(function).arguments, given, strict=False):
            while not isinstance(value.owner, ir.Block):
                value = value.owner.operands[0]
            found[argument] = int(ir.BlockArgument(value).arg_number)
    return found


def _bias(memory: ir.Value) -> None:
    replaced = []
    for op in [use.owner.operation for use in memory.uses]:
        with op.location, ir.InsertionPoint(op):
            if op.name == _STORE:
                op.operands[0] = _inverted(op.operands[0])
            elif op.name == _LOAD:
                loaded = emit(_LOAD, list(op.operands), op.result.type)
                op.result.replace_all_uses_with(_inverted(loaded))
                replaced.append(op)
            elif op.name == _ATOMIC and _kind(op) in _UNSIGNED:
                op.result.replace_all_uses_with(_extreme(op))
                replaced.append(op)
            else:
                raise CompileError("gpu-atomics", f"{op.name} touches words with inverted signs")
    for op in replaced:
        op.erase()


def _extreme(op: ir.Operation) -> ir.Value:
    value, *rest = op.operands
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(_UNSIGNED[_kind(op)]))
    return _inverted(emit(_ATOMIC, [_inverted(value), *rest], value.type, kind=number))


def _inverted(word: ir.Value) -> ir.Value:
    sign = emit("arith.constant", [], word.type, value=ir.IntegerAttr.get(word.type, _SIGN))
    return arith.xori(word, sign)
