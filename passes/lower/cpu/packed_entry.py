# SPDX-License-Identifier: MIT OR Apache-2.0
"""`packed-entry`: the entry point of a kernel takes one array of pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    PREPARE,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    prepare_function,
    private_bytes,
    task_functions,
)
from xyntra.passes.lower.cpu.threads.pool_calls import (
    append_functions,
    argument_attributes,
    hide,
    start_jobs,
)
from xyntra.passes.lower.kernels.prepared_operands import prepared_bytes
from xyntra.passes.registry import register_pass

_SIGNATURE = "!llvm.func<void (%s)>"


@register_pass
@dataclass(frozen=True)
class PackedEntry:
    """Add `NAME(ptr)`, which unpacks its argument and calls the kernel's body.

    `NAME.prepare(ptr)` does the same for the function that prepares the kernel's constants. The
    copies that it makes lie one after the other behind one pointer, the last but the scratch.

    The body, in the LLVM dialect with bare pointers, becomes an internal function that is never
    inlined: what may be assumed of its pointers is worth most to LLVM as argument attributes. Its
    scratch slots lie one after the other behind the last pointer of the packed array, and behind
    them the memory of every thread, `xyntra.private` bytes each. Where it calls tasks, the next
    pointer leads to what runs them: a function `parallel_for(that pointer, task, environment,
    count, grain)` comes first there.
    """

    name: ClassVar[str] = "packed-entry"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module` and append the entry point.

        Raises:
            CompileError: the function is not what the passes before this one make of a kernel.
        """
        body = kernel_function(module, "llvm.func")
        _check(body)
        prepare = prepare_function(module, "llvm.func")
        with module.context, module.location:
            _add_entry(body, module)
            if prepare is not None:
                _add_entry(prepare, module)
                # It copies memory, once: unrolling it would take longer than it saves.
                prepare.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("optsize")])


def _add_entry(body: ir.Operation, module: ir.Operation) -> None:
    name = function_name(body)
    groups = [prepared_bytes(body), _scratch_bytes(body)]
    arguments = len(entry_block(body).arguments)
    first_slot = arguments - sum(map(len, groups))
    tasks = [] if PREPARE in body.attributes else task_functions(module, "llvm.func")
    body.attributes["sym_name"] = ir.StringAttr.get(f"{name}.body")
    hide(body)
    if tasks:
        start_jobs(module, body, tasks, private_bytes(body))
    kinds = [argument.type for argument in entry_block(body).arguments]
    slots = range(first_slot, arguments)
    body.attributes["arg_attrs"] = argument_attributes(kinds, _read_only(body, slots), slots)
    append_functions(module, _entry_text(name, first_slot, groups, bool(tasks)))


def _scratch_bytes(body: ir.Operation) -> list[int]:
    """The sizes of the slots, then that of the memory of one thread."""
    if "xyntra.scratch" not in body.attributes:
        return []
    sizes = list(ir.DenseI64ArrayAttr(body.attributes["xyntra.scratch"]))
    return [*sizes, private_bytes(body)] if private_bytes(body) else sizes


def _check(body: ir.Operation) -> None:
    place = f"kernel '{function_name(body)}'"
    for attribute in ("xyntra.inputs", "xyntra.scratch"):
        if attribute not in body.attributes:
            raise CompileError("kernel-attributes", f"a kernel lacks {attribute}", place=place)
    arguments = len(entry_block(body).arguments)
    slots = len(_scratch_bytes(body)) + len(prepared_bytes(body))
    pointers = ", ".join(["ptr"] * arguments)
    if arguments < slots or str(body.attributes["function_type"]) != _SIGNATURE % pointers:
        message = "a lowered kernel takes pointers, its scratch slots last, and returns nothing"
        raise CompileError("kernel-type", message, place=place)


def _read_only(body: ir.Operation, slots: range) -> list[int]:
    if PREPARE in body.attributes:
        return list(range(slots.start))
    inputs = ir.IntegerAttr(body.attributes["xyntra.inputs"]).value
    written = set(inplace_pairs(body).values())
    copies = slots[: len(prepared_bytes(body))]
    return [*(number for number in range(inputs) if number not in written), *copies]


def _entry_text(name: str, pointers: int, groups: Sequence[Sequence[int]], has_tasks: bool) -> str:
    """The entry point; the scratch memory has a place among the pointers even where it is empty."""
    lines = [f"llvm.func @{name}(%args: !llvm.ptr {{llvm.noundef}}) attributes {{no_unwind}} {{"]
    names = []
    for index in range(pointers):
        lines += _pointer(index)
        names.append(f"%p{index}")
    copies, scratch = groups
    place = pointers
    for group, slots in ((0, copies), (1, scratch)):
        if slots:
            lines += _pointer(place)
        for index, offset in enumerate(accumulate(slots[:-1], initial=0) if slots else ()):
            slot = f"{group}_{index}"
            lines.append(f"%o{slot} = llvm.mlir.constant({offset} : i64) : i64")
            lines.append(_element(f"p{place}", f"s{slot}", f"%o{slot}", "i8"))
            names.append(f"%s{slot}")
        place += bool(slots) or group
    if has_tasks:
        lines += _pointer(place)
        names.append(f"%p{place}")
    kinds = ", ".join(["!llvm.ptr"] * len(names))
    lines.append(f"llvm.call @{name}.body({', '.join(names)}) : ({kinds}) -> ()")
    return "\n".join([f"llvm.func @{name}.body({kinds})", *lines, "llvm.return", "}"])


def _pointer(index: int) -> list[str]:
    load = f"%p{index} = llvm.load %a{index} : !llvm.ptr -> !llvm.ptr"
    return [_element("args", f"a{index}", index, "!llvm.ptr"), load]


def _element(base: str, result: str, index: int | str, kind: str) -> str:
    operands = "!llvm.ptr, i64" if isinstance(index, str) else "!llvm.ptr"
    return f"%{result} = llvm.getelementptr %{base}[{index}] : ({operands}) -> !llvm.ptr, {kind}"
