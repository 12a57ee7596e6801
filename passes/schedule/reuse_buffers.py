# SPDX-License-Identifier: MIT OR Apache-2.0
"""`reuse-buffers`: lets elementwise kernels write into the buffer of a dying argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.graph.access import Loops, Shape, loops_of
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.fusion.graph.nodes import TensorTypes
from xyntra.passes.registry import register_pass

INPLACE = "xyntra.inplace"
Pairs = tuple[tuple[int, int], ...]


@register_pass
@dataclass(frozen=True)
class ReuseBuffers:
    """Mark results of elementwise kernels that may be written into an argument's buffer.

    A result takes the place of an argument that has its type, that the kernel reads element by
    element, that another kernel has computed and that nothing reads afterwards. The kernel gets the
    attribute `xyntra.inplace`, a list of [result, argument] pairs; where calls of one kernel differ
    in what they may reuse, the kernel is copied.
    """

    name: ClassVar[str] = "reuse-buffers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every call in `module`."""
        kernels = _kernels(module)
        tensors = TensorTypes()
        candidates = {name: _pointwise_pairs(op, tensors) for name, op in kernels.items()}
        variants = _Variants(kernels)
        called = set()
        for function in functions(module):
            lives = _Lives(function)
            for index, call in lives.calls:
                name = _callee(call)
                pairs = _choose(call, index, lives, candidates.get(name, ()))
                if pairs:
                    variants.use(call, name, pairs)
                called.add(_callee(call))
        variants.erase_unused(called)


def _kernels(module: ir.Operation) -> dict[str, ir.Operation]:
    operations = [view.operation for view in module.regions[0].blocks[0].operations]
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in operations
        if op.name == "func.func"
        and KernelFacts.of(op) is not None
        and INPLACE not in op.attributes
    }


def _callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


class _Lives:
    """The lives of buffers: who computes each, and where it is read last; views share a buffer."""

    def __init__(self, function: ir.Operation) -> None:
        self.calls: list[tuple[int, ir.Operation]] = []
        self.origin: dict[ir.Value, ir.Value] = {}
        self.last_read: dict[ir.Value, int] = {}
        self.computed: set[ir.Value] = set()
        self.fixed: set[ir.Value] = set()
        for index, view in enumerate(function.regions[0].blocks[0].operations):
            self._visit(index, view.operation)

    def _visit(self, index: int, op: ir.Operation) -> None:
        for value in op.operands:
            origin = self.origin.get(value, value)
            self.last_read[origin] = index
            if op.name == "func.return":
                self.fixed.add(origin)
        if op.name in RESHAPES:
            self.origin[op.results[0]] = self.origin.get(op.operands[0], op.operands[0])
        elif op.name == "func.call":
            self.calls.append((index, op))
            # What depends on weights alone is computed once and must stay as it is.
            if any(self.origin.get(v, v) in self.computed or _is_input(v) for v in op.operands):
                self.computed.update(op.results)

    def ends_at(self, value: ir.Value, index: int) -> bool:
        """Whether a kernel computes `value` at every call, and operation `index` reads it last."""
        origin = self.origin.get(value, value)
        return (
            origin in self.computed and origin not in self.fixed and self.last_read[origin] == index
        )


def _is_input(value: ir.Value) -> bool:
    if not isinstance(value.owner, ir.Block):
        return False
    function = value.owner.owner.operation
    if "arg_attrs" not in function.attributes:
        return True
    attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[value.arg_number])
    return "xyntra.parameter" not in attributes


def _pointwise_pairs(kernel: ir.Operation, tensors: TensorTypes) -> Pairs:
    """All (result, argument) of equal type that one loop nest reads and writes point by point."""
    block = kernel.regions[0].blocks[0]
    if not _is_one_space(block, tensors):
        return ()
    results = [value.type for value in block.operations[len(block.operations) - 1].operands]
    types = set(results)
    arguments = [
        (argument.arg_number, argument.type)
        for argument in block.arguments
        if argument.type in types and all(_is_pointwise(use, tensors) for use in argument.uses)
    ]
    return tuple(
        (result, number)
        for result, type_ in enumerate(results)
        for number, other in arguments
        if other == type_
    )


def _is_one_space(block: ir.Block, tensors: TensorTypes) -> bool:
    """Tell whether all operations before the return are elementwise over one space."""
    spaces: set[Shape] = set()
    for view in block.operations:
        op = view.operation
        if is_source(op) or op.name == "func.return":
            continue
        known = _is_elementwise(op, tensors) and tensors.shape_and_bytes(op.results[0].type)
        if not known:
            return False
        spaces.add(known[0])
    return len(spaces) == 1


def _is_elementwise(op: ir.Operation, tensors: TensorTypes) -> bool:
    """Tell whether `op` is a `linalg.generic` that computes every element from inputs alone."""
    if op.name != "linalg.generic":
        return False
    loops = loops_of(op, tensors.loops)
    if not loops.is_parallel or not loops.writes_in_order or loops.inputs == len(loops.maps):
        return False
    arguments = op.regions[0].blocks[0].arguments
    outputs = range(loops.inputs, len(loops.maps))
    return all(next(iter(arguments[number].uses), None) is None for number in outputs)


def _is_pointwise(use: ir.OpOperand, tensors: TensorTypes) -> bool:
    reader = use.owner.operation
    if reader.name != "linalg.generic":
        return False
    loops = loops_of(reader, tensors.loops)
    return use.operand_number < loops.inputs and _reads_in_order(loops, use.operand_number)


def _reads_in_order(loops: Loops, position: int) -> bool:
    return loops.maps[position] == tuple(range(len(loops.reductions)))


def _choose(call: ir.Operation, index: int, lives: _Lives, candidates: Pairs) -> Pairs:
    """Pairs that this call may use, each result and each argument at most once."""
    operands, results = list(call.operands), list(call.results)
    origins = [lives.origin.get(value, value) for value in operands]
    chosen: dict[int, int] = {}
    for result, argument in candidates:
        free = result not in chosen and argument not in chosen.values()
        returned = results[result] in lives.fixed
        alone = origins.count(origins[argument]) == 1
        if free and alone and not returned and lives.ends_at(operands[argument], index):
            chosen[result] = argument
    return tuple(sorted(chosen.items()))


class _Variants:
    """Copies of kernels, one for each set of pairs that its calls use."""

    def __init__(self, kernels: dict[str, ir.Operation]) -> None:
        self.kernels = kernels
        self.made: dict[tuple[str, Pairs], str] = {}

    def use(self, call: ir.Operation, name: str, pairs: Pairs) -> None:
        """Let `call` call the variant of kernel `name` that reuses `pairs`."""
        if (name, pairs) not in self.made:
            self.made[name, pairs] = self._make(name, pairs)
        with call.context:
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(self.made[name, pairs])

    def _make(self, name: str, pairs: Pairs) -> str:
        kernel = self.kernels[name]
        variant = f"{name}_inplace_" + "_".join(f"{r}{a}" for r, a in pairs)
        clone = kernel.clone(ip=ir.InsertionPoint(kernel))
        with kernel.location:
            clone.attributes["sym_name"] = ir.StringAttr.get(variant)
            clone.attributes[INPLACE] = _pairs_attribute(pairs)
        return variant

    def erase_unused(self, called: set[str]) -> None:
        """Erase the originals of variants that are not among the kernels `called`."""
        for name in {name for name, _ in self.made} - called:
            self.kernels[name].erase()


def _pairs_attribute(pairs: Sequence[tuple[int, int]]) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([ir.IntegerAttr.get(i64, item) for item in pair]) for pair in pairs]
    )
