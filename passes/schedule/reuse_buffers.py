# SPDX-License-Identifier: MIT OR Apache-2.0
"""`reuse-buffers`: lets elementwise kernels write into the buffer of a dying argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.parts import is_part
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.registry import register_pass
from xyntra.passes.schedule.inplace_variants import Variants, callee_of, kernels_of
from xyntra.passes.schedule.pointwise_pairs import Pairs, PointwisePairs


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
        kernels = kernels_of(module)
        pointwise = PointwisePairs()
        candidates = {name: pointwise.of(op) for name, op in kernels.items()}
        variants = Variants(kernels)
        called = set()
        for function in functions(module):
            lives = _Lives(function)
            for index, call in lives.calls:
                name = callee_of(call)
                pairs = _choose(call, index, lives, candidates.get(name, ()))
                if pairs:
                    variants.use(call, name, pairs)
                called.add(callee_of(call))
        variants.erase_unused(called)


class _Lives:
    """The lives of buffers: who computes each, and where it is read last; views share a buffer.

    A part of a buffer is read where a call takes it, and is never free itself.
    """

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
        if op.name in TENSOR_VIEWS:
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
            origin in self.computed
            and origin not in self.fixed
            and self.last_read[origin] == index
            and not is_part(value)
        )


def _is_input(value: ir.Value) -> bool:
    if not isinstance(value.owner, ir.Block):
        return False
    function = value.owner.owner.operation
    if "arg_attrs" not in function.attributes:
        return True
    attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[value.arg_number])
    return "xyntra.parameter" not in attributes


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
