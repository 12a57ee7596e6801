# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes jobs for the thread pool of calls of tasks, in the LLVM dialect.

A call of a task for all of its iterations becomes a call of `TASK.start`, which puts the arguments
into an array and gives the pool `TASK.run` and that array. `TASK.run(environment, begin, end,
worker)` unpacks them, finds the worker's own memory, and calls the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    TASK,
    entry_block,
    function_name,
    operations_named,
)
from xyntra.passes.lower.buffers.scratch_allocation import SLOT_ALIGNMENT

__all__ = ["append_functions", "argument_attributes", "hide", "start_jobs"]

_POINTER = "!llvm.ptr"
_NUMBERS = 2  # a task's first arguments: where it begins and ends


@dataclass(frozen=True)
class _Task:
    """A task: its name, the types of what it captures, its slots, and the least iterations."""

    name: str
    captured: tuple[str, ...]
    slots: tuple[int, ...]
    grain: int


def start_jobs(
    module: ir.Operation, body: ir.Operation, tasks: Sequence[ir.Operation], private: int
) -> None:
    """Let the kernel's `body` share its tasks with the pool, which it gets as a last argument.

    Args:
        module: holds all functions.
        body: the kernel; with `private`, its last argument is the memory of one thread.
        tasks: llvm.func operations that `body` calls.
        private: bytes that one thread needs.
    """
    with module.context, body.location:
        memory = list(entry_block(body).arguments)[-1]
        team = entry_block(body).add_argument(ir.Type.parse(_POINTER), body.location)
        kinds = ", ".join(str(argument.type) for argument in entry_block(body).arguments)
        kind = ir.Type.parse(f"!llvm.func<void ({kinds})>")
        body.attributes["function_type"] = ir.TypeAttr.get(kind)
        described = {function_name(task): _describe(task) for task in tasks}
        for task in tasks:
            _finish(task, described[function_name(task)])
        calls = [op for op in operations_named(body, "llvm.call") if _callee(op) in described]
        for call in calls:
            found = described[_callee(call)]
            given = list(call.operands)[1 : _NUMBERS + len(found.captured)]
            with ir.InsertionPoint(call):
                _call(f"{found.name}.start", [team, memory, *given])
        for call in calls:
            call.erase()
        for found in described.values():
            append_functions(module, _start_text(found))
            append_functions(module, _run_text(found, private))


def argument_attributes(
    kinds: Sequence[ir.Type], read_only: Sequence[int], slots: range
) -> ir.ArrayAttr:
    """Return what LLVM may assume of the arguments of a function that works on memory.

    Args:
        kinds: their types.
        read_only: the numbers of those that are not written.
        slots: the numbers of those that are aligned memory.
    """
    unit = ir.UnitAttr.get()
    aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SLOT_ALIGNMENT)
    found = []
    for number, kind in enumerate(kinds):
        attributes: dict[str, ir.Attribute] = {"llvm.noundef": unit}
        if str(kind) == _POINTER:
            attributes["llvm.noalias"] = unit
        if number in read_only:
            attributes["llvm.readonly"] = unit
        if number in slots:
            attributes["llvm.align"] = aligned
        found.append(ir.DictAttr.get(attributes))
    return ir.ArrayAttr.get(found)


def hide(function: ir.Operation) -> None:
    """Make a function internal and keep it from being inlined.

    What may be assumed of its pointers is worth most to LLVM as attributes of arguments.
    """
    function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    function.attributes["no_inline"] = ir.UnitAttr.get()
    function.attributes["no_unwind"] = ir.UnitAttr.get()
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]


def append_functions(module: ir.Operation, text: str) -> None:
    """Append the last function of `text` to `module`; those before it stand for known ones."""
    unit = ir.Module.parse(text)
    function = list(unit.body.operations)[-1].operation
    module.regions[0].blocks[0].append(function.detach_from_parent())


def _describe(task: ir.Operation) -> _Task:
    slots = tuple(ir.DenseI64ArrayAttr(task.attributes["xyntra.scratch"]))
    kinds = [str(argument.type) for argument in entry_block(task).arguments]
    captured = tuple(kinds[_NUMBERS : len(kinds) - len(slots)])
    grain = ir.IntegerAttr(task.attributes[TASK]).value
    return _Task(function_name(task), captured, slots, grain)


def _finish(task: ir.Operation, found: _Task) -> None:
    hide(task)
    kinds = [argument.type for argument in entry_block(task).arguments]
    read = list(ir.DenseI64ArrayAttr(task.attributes["xyntra.readonly"]))
    slots = range(len(kinds) - len(found.slots), len(kinds))
    task.attributes["arg_attrs"] = argument_attributes(kinds, read, slots)


def _callee(call: ir.Operation) -> str:
    if "callee" not in call.attributes:
        return ""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _call(name: str, operands: Sequence[ir.Value]) -> None:
    ir.Operation.create(
        "llvm.call",
        operands=operands,
        attributes={
            "callee": ir.FlatSymbolRefAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    )


def _start_text(task: _Task) -> str:
    """The environment: the memory of the first thread, then what is captured."""
    kinds = [_POINTER, *task.captured]
    names = ["%memory", *(f"%c{number}" for number in range(len(task.captured)))]
    given = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
    return "\n".join(
        [
            f"llvm.func @{task.name}.run(!llvm.ptr, i64, i64, i64)",
            f"llvm.func internal @{task.name}.start(%team: !llvm.ptr, %memory: !llvm.ptr,"
            f" %count: i64{given[len('%memory: !llvm.ptr') :]}) attributes {{no_unwind}} {{",
            "%one = llvm.mlir.constant(1 : i64) : i64",
            f"%grain = llvm.mlir.constant({task.grain} : i64) : i64",
            f"%e = llvm.alloca %one x !llvm.array<{len(kinds)} x i64> : (i64) -> !llvm.ptr",
            *_stores(names, kinds),
            f"%run = llvm.mlir.addressof @{task.name}.run : !llvm.ptr",
            "%for = llvm.load %team : !llvm.ptr -> !llvm.ptr",
            "llvm.call %for(%team, %run, %e, %count, %grain) : "
            "!llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()",
            "llvm.return",
            "}",
        ]
    )


def _stores(names: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        yield f"%s{number} = llvm.getelementptr %e[{number}] : (!llvm.ptr) -> !llvm.ptr, i64"
        yield f"llvm.store {name}, %s{number} : {kind}, !llvm.ptr"


def _run_text(task: _Task, private: int) -> str:
    kinds = ["i64", "i64", *task.captured, *[_POINTER] * len(task.slots)]
    names = ["%begin", "%end", *(f"%c{number}" for number in range(len(task.captured)))]
    names += [f"%m{number}" for number in range(len(task.slots))]
    return "\n".join(
        [
            f"llvm.func @{task.name}({', '.join(kinds)})",
            f"llvm.func internal @{task.name}.run(%e: !llvm.ptr, %begin: i64, %end: i64,"
            " %worker: i64) attributes {no_unwind} {",
            "%memory = llvm.load %e : !llvm.ptr -> !llvm.ptr",
            *_loads(task.captured),
            f"%size = llvm.mlir.constant({private} : i64) : i64",
            "%offset = llvm.mul %worker, %size : i64",
            "%own = llvm.getelementptr %memory[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8",
            *_slots(task.slots),
            f"llvm.call @{task.name}({', '.join(names)}) : ({', '.join(kinds)}) -> ()",
            "llvm.return",
            "}",
        ]
    )


def _loads(kinds: Sequence[str]) -> Iterator[str]:
    for number, kind in enumerate(kinds):
        yield f"%s{number} = llvm.getelementptr %e[{number + 1}] : (!llvm.ptr) -> !llvm.ptr, i64"
        yield f"%c{number} = llvm.load %s{number} : !llvm.ptr -> {kind}"


def _slots(sizes: Sequence[int]) -> Iterator[str]:
    for number, start in enumerate(accumulate(sizes[:-1], initial=0) if sizes else ()):
        yield f"%o{number} = llvm.mlir.constant({start} : i64) : i64"
        yield (
            f"%m{number} = llvm.getelementptr %own[%o{number}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"
        )
