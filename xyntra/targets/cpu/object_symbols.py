# SPDX-License-Identifier: MIT OR Apache-2.0
"""The symbols that object code needs from outside, read from its ELF symbol table.

A missing symbol would only show when the object is loaded, in another process and perhaps another
machine; checked here, it is an error of the compilation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from xyntra.errors import CompileError
from xyntra.targets.cpu.support import SOURCES

_MEMORY = ("memcpy", "memset", "memmove", "bcmp", "memcmp")
_CLOCK = ("clock_gettime",)
_THREADS = ("sched_getcpu", "sched_yield", "pthread_setaffinity_np", "syscall")
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
        return sorted(set(_undefined(code)) - {_LINKER_SYMBOL})
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


def _undefined(code: bytes) -> Iterator[str]:
    sections = _sections(code)
    for kind, offset, size, link in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[link][1]
        for symbol in _SYMBOL.iter_unpack(code[offset : offset + size]):
            name_offset, section = symbol[0], symbol[3]
            if section == 0 and name_offset:
                yield _string(code, strings + name_offset)


def _sections(code: bytes) -> list[tuple[int, int, int, int]]:
    """Return type, offset, size and link of every section."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    found = []
    for index in range(count):
        header = _SECTION.unpack_from(code, table + index * size)
        found.append((header[1], header[4], header[5], header[6]))
    return found


def _string(code: bytes, offset: int) -> str:
    return code[offset : code.index(b"\0", offset)].decode("utf-8", "replace")
