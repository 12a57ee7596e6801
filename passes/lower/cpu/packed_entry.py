# SPDX-License-Identifier: MIT OR Apache-2.0
"""`packed-entry`: the entry point of a kernel takes one array of pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.cpu.kernel_function import (
    PREPARE,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    prepare_function,
)
from xyntra.passes.lower.cpu.prepared_operands import prepared_bytes
from xyntra.passes.lower.cpu.scratch_allocation import SLOT_ALIGNMENT
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
    scratch slots lie one after the other behind the last pointer of the packed array.
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


def _add_entry(body: ir.Operation, module: ir.Operation) -> None:
    name = function_name(body)
    groups = [group for group in (prepared_bytes(body), _scratch_bytes(body)) if group]
    slots = sum(map(len, groups))
    arguments = len(entry_block(body).arguments)
    body.attributes["sym_name"] = ir.StringAttr.get(f"{name}.body")
    body.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
    body.attributes["no_inline"] = ir.UnitAttr.get()
    body.attributes["no_unwind"] = ir.UnitAttr.get()
    body.attributes["arg_attrs"] = _argument_attributes(body, arguments, slots)
    unit = ir.Module.parse(_entry_text(name, arguments - slots, groups))
    entry = list(unit.body.operations)[-1].operation
    module.regions[0].blocks[0].append(entry.detach_from_parent())


def _scratch_bytes(body: ir.Operation) -> list[int]:
    if "xyntra.scratch" not in body.attributes:
        return []
    return list(ir.DenseI64ArrayAttr(body.attributes["xyntra.scratch"]))


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


def _argument_attributes(body: ir.Operation, arguments: int, slots: int) -> ir.ArrayAttr:
    prepares = PREPARE in body.attributes
    copies = range(arguments - slots, arguments - slots + len(prepared_bytes(body)))
    inputs = arguments - slots
    if not prepares:
        inputs = ir.IntegerAttr(body.attributes["xyntra.inputs"]).value
    written = set(inplace_pairs(body).values())
    unit = ir.UnitAttr.get()
    aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SLOT_ALIGNMENT)
    found = []
    for number in range(arguments):
        attributes = {"llvm.noalias": unit, "llvm.noundef": unit}
        if (number < inputs and number not in written) or (number in copies and not prepares):
            attributes["llvm.readonly"] = unit
        if number >= arguments - slots:
            attributes["llvm.align"] = aligned
        found.append(ir.DictAttr.get(attributes))
    return ir.ArrayAttr.get(found)


def _entry_text(name: str, pointers: int, groups: Sequence[Sequence[int]]) -> str:
    lines = [f"llvm.func @{name}(%args: !llvm.ptr {{llvm.noundef}}) attributes {{no_unwind}} {{"]
    for index in range(pointers + len(groups)):
        lines.append(_element("args", f"a{index}", index, "!llvm.ptr"))
        lines.append(f"%p{index} = llvm.load %a{index} : !llvm.ptr -> !llvm.ptr")
    names = [f"%p{index}" for index in range(pointers)]
    for group, slots in enumerate(groups):
        for index, offset in enumerate(accumulate(slots[:-1], initial=0)):
            slot = f"{group}_{index}"
            lines.append(f"%o{slot} = llvm.mlir.constant({offset} : i64) : i64")
            lines.append(_element(f"p{pointers + group}", f"s{slot}", f"%o{slot}", "i8"))
            names.append(f"%s{slot}")
    kinds = ", ".join(["!llvm.ptr"] * len(names))
    lines.append(f"llvm.call @{name}.body({', '.join(names)}) : ({kinds}) -> ()")
    return "\n".join([f"llvm.func @{name}.body({kinds})", *lines, "llvm.return", "}"])


def _element(base: str, result: str, index: int | str, kind: str) -> str:
    operands = "!llvm.ptr, i64" if isinstance(index, str) else "!llvm.ptr"
    return f"%{result} = llvm.getelementptr %{base}[{index}] : ({operands}) -> !llvm.ptr, {kind}"
