# SPDX-License-Identifier: MIT OR Apache-2.0
"""`parallel-loops`: loops worth sharing become functions over a range of iterations."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    TASK,
    check_buffers,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    set_signature,
    terminator,
)
from xyntra.passes.lower.cpu.threads.captures import capture_values, move_private_buffers
from xyntra.passes.lower.cpu.threads.loop_work import LoopWork
from xyntra.passes.lower.cpu.threads.parallel_choice import Choice, choose_loops
from xyntra.passes.lower.kernels.prepared_operands import prepared_bytes
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class ParallelLoops:
    """Put loops whose iterations are independent into functions of their own, and call these.

    Emitters mark such loops with `xyntra.parallel`. A loop with a schedule is shared as that says;
    of others those are taken that share best, as far as that can be estimated: one loop, or some
    that lie perfectly inside each other as one. The schedule then stands on the function. The
    function `KERNEL.parallel0(begin, end, …)` does the iterations from `begin` to `end`; the kernel
    calls it for all of them, and `packed-entry` makes a job for the thread pool of that call.
    Memory that is allocated inside the loop, or outside and used by nothing else, is allocated in
    the function, so that every thread has its own.
    """

    name: ClassVar[str] = "parallel-loops"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module`.

        Raises:
            CompileError: the function is not a kernel on buffers, or a schedule is not legal.
        """
        share_loops(module, LoopWork())


def share_loops(module: ir.Operation, known: LoopWork) -> None:
    """As `parallel-loops`, with estimates of the kernel's loops that are there already."""
    kernel = kernel_function(module)
    check_buffers(kernel)
    done = []
    with module.context:
        for number, choice in enumerate(choose_loops(entry_block(kernel), known)):
            name = f"{function_name(kernel)}.parallel{number}"
            done.append(_outline(module, kernel, choice, name))
    for loop in done:
        loop.erase()


def _outline(module: ir.Operation, kernel: ir.Operation, choice: Choice, name: str) -> ir.Operation:
    """Move a loop into a new function and call that; returns the loop, which is empty now."""
    loop = choice.loops[0]
    with loop.location:
        task = _new_function(module, name, choice.grain)
        choice.schedule.attach(task)
        block = entry_block(task)
        move_private_buffers(loop, terminator(block))
        _move_body(choice, block)
        captured = capture_values(task, loop)
        _finish_function(task, _read_only(kernel, captured))
        with ir.InsertionPoint(loop):
            operands = [index(0), index(prod(choice.extents)), *captured]
            callee = ir.FlatSymbolRefAttr.get(name)
            ir.Operation.create("func.call", operands=operands, attributes={"callee": callee})
    return loop


def _new_function(module: ir.Operation, name: str, grain: int) -> ir.Operation:
    """A function of two indices that does nothing, at the end of `module`."""
    kind = ir.IndexType.get()
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), grain)
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        task = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([kind, kind], [])),
                TASK: number,
            },
            regions=1,
        )
    block = task.regions[0].blocks.append(kind, kind)
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return")
    return task


def _move_body(choice: Choice, block: ir.Block) -> None:
    """Put a loop over the range of `block`'s arguments, with all that is inside the choice's."""
    begin, end = list(block.arguments)[:2]
    with ir.InsertionPoint(terminator(block)):
        shared = scf.ForOp(begin, end, index(1), [])
    with ir.InsertionPoint(shared.body):
        steps = _unravelled(shared.induction_variable, choice.extents)
        scf.YieldOp([])
    last = terminator(shared.body)
    for loop, step in zip(choice.loops, steps, strict=True):
        body = loop.regions[0].blocks[0]
        body.arguments[0].replace_all_uses_with(step)
        ending = terminator(body)
        for view in list(body.operations):
            op = view.operation
            if op not in choice.loops and op != ending:
                op.move_before(last)


def _unravelled(number: ir.Value, extents: tuple[int, ...]) -> list[ir.Value]:
    """The numbers of the iterations of nested loops at iteration `number` of all of them."""
    if len(extents) == 1:
        return [number]
    rest = index(extents[-1])
    outer = _unravelled(integers.divui(number, rest), extents[:-1])
    return [*outer, integers.remui(number, rest)]


def _read_only(kernel: ir.Operation, captured: list[ir.Value]) -> list[bool]:
    """Tell which values are memory that the kernel does not write."""
    if "xyntra.inputs" not in kernel.attributes:
        return [False] * len(captured)
    inputs = ir.IntegerAttr(kernel.attributes["xyntra.inputs"]).value
    written = set(inplace_pairs(kernel).values())
    arguments = list(entry_block(kernel).arguments)
    read = [value for n, value in enumerate(arguments) if n < inputs and n not in written]
    read += arguments[len(arguments) - len(prepared_bytes(kernel)) :]
    return [value in read for value in captured]


def _finish_function(task: ir.Operation, read_only: list[bool]) -> None:
    set_signature(task, [])
    places = [number + 2 for number, is_read in enumerate(read_only) if is_read]
    task.attributes["xyntra.readonly"] = ir.DenseI64ArrayAttr.get(places)
