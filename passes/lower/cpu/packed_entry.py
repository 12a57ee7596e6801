# SPDX-License-Identifier: MIT OR Apache-2.0
"""The entry point of a kernel in the LLVM dialect: one argument, an array of pointers.

The body keeps its pointer arguments, with what may be assumed of them, in an internal function:
`noalias` is worth most to LLVM as an argument attribute, so the two are never inlined.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.kernel_function import entry_block, function_name, kernel_function
from xyntra.passes.lower.cpu.scratch_allocation import SLOT_ALIGNMENT


def add_packed_entry(module: ir.Module, slots: Sequence[int], read_only: Sequence[bool]) -> None:
    """Rename the kernel's function and add `NAME(ptr)`, which unpacks its arguments and calls it.

    Args:
        slots: sizes in bytes of the scratch slots, which are the last arguments of the body. They
            are found one after the other behind the last pointer of the packed array.
        read_only: for each of the other arguments, whether the body only reads it.
    """
    body = kernel_function(module, "llvm.func")
    name = function_name(body)
    with module.context, ir.Location.unknown():
        body.attributes["sym_name"] = ir.StringAttr.get(f"{name}.body")
        body.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        body.attributes["no_inline"] = ir.UnitAttr.get()
        body.attributes["arg_attrs"] = _argument_attributes(slots, read_only)
        arguments = len(entry_block(body).arguments)
        unit = ir.Module.parse(_entry_text(name, arguments - len(slots), slots))
        entry = list(unit.body.operations)[-1]
        module.body.append(entry.detach_from_parent())


def _argument_attributes(slots: Sequence[int], read_only: Sequence[bool]) -> ir.ArrayAttr:
    unit = ir.UnitAttr.get()
    aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SLOT_ALIGNMENT)
    common = {"llvm.noalias": unit, "llvm.noundef": unit}
    attributes = [common | ({"llvm.readonly": unit} if constant else {}) for constant in read_only]
    attributes += [common | {"llvm.align": aligned}] * len(slots)
    return ir.ArrayAttr.get([ir.DictAttr.get(each) for each in attributes])


def _entry_text(name: str, pointers: int, slots: Sequence[int]) -> str:
    lines = [f"llvm.func @{name}(%args: !llvm.ptr {{llvm.noundef}}) attributes {{no_unwind}} {{"]
    loads = pointers + (1 if slots else 0)
    for index in range(loads):
        lines.append(_element("args", f"a{index}", index, "!llvm.ptr"))
        lines.append(f"%p{index} = llvm.load %a{index} : !llvm.ptr -> !llvm.ptr")
    names = [f"%p{index}" for index in range(pointers)]
    offset = 0
    for index, nbytes in enumerate(slots):
        lines.append(_element(f"p{pointers}", f"s{index}", offset, "i8"))
        names.append(f"%s{index}")
        offset += nbytes
    kinds = ", ".join(["!llvm.ptr"] * len(names))
    lines.append(f"llvm.call @{name}.body({', '.join(names)}) : ({kinds}) -> ()")
    return "\n".join([f"llvm.func @{name}.body({kinds})", *lines, "llvm.return", "}"])


def _element(base: str, result: str, index: int, kind: str) -> str:
    return f"%{result} = llvm.getelementptr %{base}[{index}] : (!llvm.ptr) -> !llvm.ptr, {kind}"
