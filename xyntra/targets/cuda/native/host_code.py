# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code of the processor as data: compiled with a model, kept in its file.

The code needs no other symbol and no relocation, so that a process can use it without LLVM.
"""

from __future__ import annotations

import json
import platform
import struct
import sys
from dataclasses import dataclass
from typing import Any

__all__ = ["HostCode", "compile_host_code", "this_machine"]

_CODE, _SYMBOLS, _RELOCATIONS = 1, 2, (4, 9)  # types of sections: SHT_PROGBITS, …
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
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
        """What `to_bytes` wrote; None for something else."""
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
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(_MACHINES[platform.machine()])
    # Optimizing takes 20 times as long and saves a hundredth of a microsecond.
    machine = target.create_target_machine(cpu="x86-64", reloc="pic", codemodel="small", opt=0)
    module = binding.parse_assembly(llvm_ir)
    module.verify()
    return _flat(machine.emit_object(module))


def _flat(object_code: bytes) -> HostCode:
    """Take instructions and symbols out of an ELF object."""
    sections = _sections(object_code)
    if any(kind in _RELOCATIONS and size for kind, _, _, size, _ in sections):
        raise ValueError("native code of calls needs relocations")
    (number,) = (
        index
        for index, (kind, flags, _, size, _) in enumerate(sections)
        if kind == _CODE and flags & _EXECUTABLE and size
    )
    entries: dict[str, int] = {}
    for kind, _, offset, size, link in sections:
        if kind != _SYMBOLS:
            continue
        names = sections[link][2]
        for symbol in _SYMBOL.iter_unpack(object_code[offset : offset + size]):
            if symbol[3] == number and symbol[0] and symbol[1] >> 4 == _GLOBAL:
                start = names + symbol[0]
                name = object_code[start : object_code.index(b"\0", start)].decode()
                entries[name] = symbol[4]
    _, _, offset, size, _ = sections[number]
    return HostCode(this_machine(), entries, object_code[offset : offset + size])


def _sections(code: bytes) -> list[tuple[int, int, int, int, int]]:
    """Return type, flags, offset, size and link of every section."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    found = []
    for index in range(count):
        header = _SECTION.unpack_from(code, table + index * size)
        found.append((header[1], header[2], header[4], header[5], header[6]))
    return found
