# SPDX-License-Identifier: MIT OR Apache-2.0
"""`drop-assumptions`: removes what a module claims of its values and loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.weights.known_at_load import CONSTANT, KnownAtLoad
from xyntra.passes.registry import register_pass

__all__ = ["DropAssumptions"]

_CLAIMS = (
    "overflowFlags",
    "isExact",
    "nonNeg",
    "isDisjoint",
    "linalg.memoized_indexing_maps",
    "xyntra.parallel",
    "xyntra.best",
)
_NO_SPECIALS = {"nnan", "ninf", "fast"}
_FAST = ("reassoc", "nsz", "arcp", "contract", "afn")
_KERNEL_ARGUMENTS = "arg_attrs"


@register_pass
@dataclass(frozen=True)
class DropAssumptions:
    """Remove flags and attributes that make results undefined where they are wrong.

    These are: no overflow, exact, no NaN and no infinities, whose violation gives poison, from
    which LLVM may derive that a guard is not needed; indexing maps that MLIR has remembered for
    named operations, and would not compute again; loops marked as parallel, or as a search for the
    best elements; loops called reductions that index every result, which are parallel; and
    arguments of kernels marked as constant that some call computes.
    """

    name: ClassVar[str] = "drop-assumptions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the attributes of every operation in `module`."""
        for op in nested_operations(module):
            for name in _CLAIMS:
                if name in op.attributes:
                    _drop(op, name)
            if "fastmath" in op.attributes:
                _restrict_floats(op)
            if op.name == "linalg.generic":
                _correct_iterators(op)
        _drop_constants(module)


def _drop(op: ir.Operation, name: str) -> None:
    if name == "overflowFlags":
        op.attributes[name] = ir.Attribute.parse("#arith.overflow<none>", op.context)
    else:
        del op.attributes[name]


def _restrict_floats(op: ir.Operation) -> None:
    text = str(op.attributes["fastmath"])
    flags = set(text[text.index("<") + 1 : -1].replace(" ", "").split(","))
    if flags & _NO_SPECIALS:
        kept = _FAST if "fast" in flags else sorted(flags - _NO_SPECIALS)
        text = f"#arith.fastmath<{','.join(kept) or 'none'}>"
        op.attributes["fastmath"] = ir.Attribute.parse(text, op.context)


def _correct_iterators(op: ir.Operation) -> None:
    """Call a loop parallel that every result is indexed by: nothing is summed along it."""
    kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    maps = [each.value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    outputs = maps[len(maps) - len(op.results) :]
    loops = [{e.position for e in m.results if isinstance(e, ir.AffineDimExpr)} for m in outputs]
    indexing = set.intersection(*loops) if loops else set()
    if any("reduction" in str(kinds[loop]) for loop in indexing):
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>", op.context)
        kinds = [parallel if loop in indexing else kind for loop, kind in enumerate(kinds)]
        op.attributes["iterator_types"] = ir.ArrayAttr.get(kinds, op.context)


def _drop_constants(module: ir.Operation) -> None:
    """Unmark arguments of kernels that a call gives something not known at load."""
    functions = [view.operation for view in module.regions[0].blocks[0].operations]
    kernels = {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in functions
        if op.name == "func.func" and KernelFacts.of(op) is not None
    }
    marked = {name: marks for name, op in kernels.items() if (marks := _marks(op))}
    if not marked:
        return
    claimed = dict(marked)
    for function in functions:
        if function not in kernels.values() and len(function.regions[0].blocks):
            _restrict(function, claimed)
    for name, marks in claimed.items():
        if marks != marked[name]:
            _set_marks(kernels[name], marks)


def _restrict(function: ir.Operation, claimed: dict[str, frozenset[int]]) -> None:
    known = KnownAtLoad.of(function)
    for view in function.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "func.call":
            name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            if name in claimed:
                operands = list(op.operands)
                claimed[name] = frozenset(n for n in claimed[name] if operands[n] in known.values)
        known.follow(op)


def _marks(kernel: ir.Operation) -> frozenset[int]:
    if _KERNEL_ARGUMENTS not in kernel.attributes:
        return frozenset()
    given = ir.ArrayAttr(kernel.attributes[_KERNEL_ARGUMENTS])
    return frozenset(number for number, each in enumerate(given) if CONSTANT in ir.DictAttr(each))


def _set_marks(kernel: ir.Operation, marks: frozenset[int]) -> None:
    unit = ir.UnitAttr.get(kernel.context)
    count = len(ir.ArrayAttr(kernel.attributes[_KERNEL_ARGUMENTS]))
    kernel.attributes[_KERNEL_ARGUMENTS] = ir.ArrayAttr.get(
        [
            ir.DictAttr.get({CONSTANT: unit} if number in marks else {}, kernel.context)
            for number in range(count)
        ],
        kernel.context,
    )
