# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code of the processor as data: compiled with a model, kept in its file.

The code needs no other symbol and no relocation, so that a process can use it without LLVM.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from typing import Any

from xyntra.targets.cpu.object_symbols import sections_of, symbols_of
from xyntra.targets.llvm_backend import llvm

__all__ = ["HostCode", "compile_host_code", "this_machine"]

_CODE, _RELOCATIONS = 1, (4, 9)  # types of sections: SHT_PROGBITS, …
_EXECUTABLE = 4  # flag of a section
_GLOBAL = 1  # binding of a symbol
_MACHINES = {"x86_64": "x86_64-unknown-linux-gnu"}  # elsewhere calls are started by Python


@dataclass(frozen=True)
class HostCode:
    """Functions for processors of one kind.

    Attributes:
        machine: what they run on, as `this_machine` says.
        entries: where each function begins, by name.
        code: the instructions.
        interface: what a process must agree with to call them.
    """

    machine: str
    entries: dict[str, int]
    code: bytes
    interface: str = ""

    def to_bytes(self) -> bytes:
        """A line of JSON and the instructions."""
        head = {"machine": self.machine, "entries": self.entries, "interface": self.interface}
        return json.dumps(head).encode() + b"\n" + self.code

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> HostCode | None:
        """Return what `to_bytes` wrote; None for something else."""
        head, _, code = bytes(data).partition(b"\n")
        try:
            fields: dict[str, Any] = json.loads(head)
            entries = {str(name): int(start) for name, start in fields["entries"].items()}
            return cls(str(fields["machine"]), entries, code, str(fields["interface"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None


def this_machine() -> str:
    """Return the kind of processor and system, and "" where no such code is made."""
    machine = platform.machine()
    return f"{machine}-linux" if sys.platform == "linux" and machine in _MACHINES else ""


def compile_host_code(llvm_ir: str) -> HostCode | None:
    """Compile functions for any processor of this machine's kind; None where that is not known.

    Args:
        llvm_ir: a module as llvmlite reads it; it may not use symbols that it does not define.

    Raises:
        ValueError: the code needs a relocation.
    """
    if not this_machine():
        return None
    binding = llvm()
    target = binding.Target.from_triple(_MACHINES[platform.machine()])
    # Optimizing takes 20 times as long and saves a hundredth of a microsecond.
    machine = target.create_target_machine(cpu="x86-64", reloc="pic", codemodel="small", opt=0)
    module = binding.parse_assembly(llvm_ir)
    module.verify()
    return _flat(machine.emit_object(module))


def _flat(object_code: bytes) -> HostCode:
    """Take instructions and symbols out of an ELF object."""
    sections = sections_of(object_code)
    if any(each.kind in _RELOCATIONS and each.size for each in sections):
        raise ValueError("native code of calls needs relocations")
    (number,) = (
        index
        for index, each in enumerate(sections)
        if each.kind == _CODE and each.flags & _EXECUTABLE and each.size
    )
    entries = {
        each.name: each.value
        for each in symbols_of(object_code)
        if each.section == number and each.binding == _GLOBAL
    }
    start, size = sections[number].offset, sections[number].size
    return HostCode(this_machine(), entries, object_code[start : start + size])
