# SPDX-License-Identifier: MIT OR Apache-2.0
"""The symbols that object code needs from outside, read from its ELF symbol table.

A missing symbol would only show when the object is loaded, in another process and perhaps another
machine; checked here, it is an error of the compilation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from xyntra.errors import CompileError
from xyntra.targets.cpu.support_sources import SOURCES

_MEMORY = ("memcpy", "memset", "memmove", "bcmp", "memcmp")
_CLOCK = ("clock_gettime",)
_THREADS = ("sched_getcpu", "pthread_self", "pthread_setaffinity_np", "syscall")
_MATH = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 fdim
    floor fma fmax fmaximum fmaximum_num fmin fminimum fminimum_num fmod ldexp log log10 log1p log2
    modf nearbyint pow rint round roundeven sin sincos sinh sqrt tan tanh tgamma trunc
    """.split()
)
ALLOWED_IMPORTS = frozenset([*_MEMORY, *_CLOCK, *_THREADS, *_MATH, *(f"{name}f" for name in _MATH)])

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_SYMBOL_TABLE = 2  # SHT_SYMTAB
_LINKER_SYMBOL = "_GLOBAL_OFFSET_TABLE_"  # made by whoever links
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names that 64-bit little-endian ELF object code imports, sorted.

    Other formats give an empty list: their imports are resolved when the code is loaded.

    Raises:
        CompileError: the object code is damaged.
    """
    if not code.startswith(_ELF64_LITTLE):
        return []
    try:
        return sorted(
            {each.name for each in symbols_of(code) if not each.section} - {_LINKER_SYMBOL}
        )
    except (struct.error, IndexError, ValueError) as error:
        raise CompileError(
            "object-damaged", "compiled code is damaged", cause=str(error)
        ) from error


def check_imports(code: bytes) -> None:
    """Refuse object code that imports more than functions of the C library and `support`.

    Raises:
        CompileError: naming the symbols.
    """
    known = ALLOWED_IMPORTS | SOURCES.keys()
    unknown = [name for name in undefined_symbols(code) if name not in known]
    if unknown:
        message = "a kernel's machine code needs functions that are not available"
        raise CompileError("missing-symbol", message, cause=", ".join(unknown))


class Section(NamedTuple):
    """A part of an ELF file: its type, flags, place and size, and the section that it refers to."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int


class Symbol(NamedTuple):
    """A symbol of an ELF file: its name, binding, section (0 for none of the file) and value."""

    name: str
    binding: int
    section: int
    value: int


def sections_of(code: bytes) -> list[Section]:
    """Return the sections of 64-bit little-endian ELF object code, in order."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    found = []
    for index in range(count):
        header = _SECTION.unpack_from(code, table + index * size)
        found.append(Section(header[1], header[2], *header[4:7]))
    return found


def symbols_of(code: bytes) -> Iterator[Symbol]:
    """Yield the symbols of such code that have names."""
    sections = sections_of(code)
    for each in sections:
        if each.kind != _SYMBOL_TABLE:
            continue
        strings = sections[each.link].offset
        for name, info, _, section, value, _ in _SYMBOL.iter_unpack(
            code[each.offset : each.offset + each.size]
        ):
            if name:
                yield Symbol(_string(code, strings + name), info >> 4, section, value)


def _string(code: bytes, offset: int) -> str:
    return code[offset : code.index(b"\0", offset)].decode("utf-8", "replace")
