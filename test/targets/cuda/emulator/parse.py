# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the PTX that the compiler writes: entry points with their code, arrays, constants.

Inline assembly declares registers and labels of its own between braces; they are renamed, so that
all of an entry point have names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from emulator.errors import require

__all__ = ["Address", "Entry", "Immediate", "Instruction", "Module", "Operand", "Register",
           "SharedArray", "Symbol", "Vector", "parse"]  # fmt: skip


@dataclass(frozen=True)
class Register:
    """A register, or a special one such as %tid.x."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A number, as it is written."""

    text: str


@dataclass(frozen=True)
class Symbol:
    """A name: a label, a parameter, an array."""

    name: str


@dataclass(frozen=True)
class Vector:
    """Operands in braces."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class Address:
    """A place in memory: what it starts from, and bytes to be added.

    Attributes:
        base: a register, an array or a parameter.
        offset: bytes.
        coordinates: of a box in a tensor, for copies by TMA.
    """

    base: Operand
    offset: int = 0
    coordinates: Vector | None = None


Operand = Register | Immediate | Symbol | Vector | Address


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        opcode: with all its suffixes.
        parts: the same, split.
        operands: results first.
        guard: the predicate that it depends on, or None.
        negated: whether it runs where the predicate is false.
        text: as it is written.
    """

    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    text: str


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory; the dynamic one has no size."""

    name: str
    alignment: int
    nbytes: int | None


@dataclass
class Entry:
    """A kernel.

    Attributes:
        name: its symbol.
        parameters: their names.
        threads: of a block.
        registers: the PTX type of each, by name.
        code: its instructions.
        labels: the instruction that each stands before.
    """

    name: str
    parameters: tuple[str, ...]
    threads: int
    registers: dict[str, str] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Module:
    """All of a text.

    Attributes:
        entries: by name.
        shared: all arrays in shared memory, of whichever entry point.
        constants: contents of arrays in global memory, by name.
    """

    entries: Mapping[str, Entry]
    shared: tuple[SharedArray, ...]
    constants: Mapping[str, bytes]


_ENTRY = re.compile(r"\.entry (\w+)\((.*?)\)(.*?)\n\{", re.S)
_SHARED = re.compile(r"\.shared \.align (\d+) \.[a-z]+(\d+) ([\w$]+)(?:\[(\d*)\])?;")
_CONSTANT = re.compile(r"\.global \.align \d+ \.b(\d+) ([\w$]+)\[(\d+)\] = \{([^}]*)\}")
_GUARDED = re.compile(r"@(!?)([%\w]+)\s+(.*)", re.S)
_LABEL = re.compile(r"([$\w]+):\s*")
_RANGE = re.compile(r"(%\w+)<(\d+)>")


def parse(text: str) -> Module:
    """Read a module."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.S)
    entries = {match[1]: _entry(match, text) for match in _ENTRY.finditer(text)}
    shared = tuple(
        SharedArray(match[3], int(match[1]), _nbytes(match)) for match in _SHARED.finditer(text)
    )
    constants = {
        name: b"".join(
            (int(number) % (1 << int(bits))).to_bytes(int(bits) // 8, "little")
            for number in values.split(",")
        ).ljust(int(count) * int(bits) // 8, b"\0")
        for bits, name, count, values in _CONSTANT.findall(text)
    }
    return Module(entries, shared, constants)


def _nbytes(match: re.Match[str]) -> int | None:
    """Bytes of a shared array; one without brackets has one element, and [] is the dynamic one."""
    elements = {None: 1, "": None}.get(match[4], match[4])
    return None if elements is None else int(elements) * int(match[2]) // 8


def _entry(match: re.Match[str], text: str) -> Entry:
    name, parameters, attributes = match.groups()
    threads = re.search(r"\.(?:reqntid|maxntid) (\d+)", attributes)
    names = tuple(re.findall(r"(\w+_param_\d+)", parameters))
    entry = Entry(name, names, int(threads[1]) if threads else 0)
    statements = list(_statements(text, match.end()))
    scopes: list[dict[str, str]] = [{}]
    for number, (kind, statement) in enumerate(statements):
        if kind == "{":
            scopes.append(_labels(statements, number))
        elif kind == "}":
            scopes.pop()
        elif kind == ":":
            entry.labels[_scoped(statement, scopes)] = len(entry.code)
        elif statement.startswith(".reg"):
            _declare(entry, statement, scopes[-1], number if len(scopes) > 1 else 0)
        elif not statement.startswith("."):
            entry.code.append(_instruction(statement, scopes))
    return entry


def _labels(statements: list[tuple[str, str]], first: int) -> dict[str, str]:
    """Names of the labels of a scope, which only it knows."""
    last = next(i for i in range(first, len(statements)) if statements[i][0] == "}")
    found = [text for kind, text in statements[first:last] if kind == ":"]
    return {label: f"{label}.{first}" for label in found}


def _statements(text: str, place: int) -> Iterator[tuple[str, str]]:
    """Yield ("{", ""), ("}", ""), (":", label) or (";", statement), up to the last brace."""
    depth = 1
    while True:
        if text[place].isspace():
            place += 1
        elif text[place] in "{}":
            depth += 1 if text[place] == "{" else -1
            if not depth:
                return
            yield text[place], ""
            place += 1
        elif label := _LABEL.match(text, place):
            yield ":", label[1]
            place = label.end()
        else:
            end = text.index(";", place)
            yield ";", text[place:end].strip()
            place = end + 1


def _declare(entry: Entry, statement: str, scope: dict[str, str], number: int) -> None:
    _, kind, names = statement.split(None, 2)
    for name in names.replace(" ", "").split(","):
        if spread := _RANGE.fullmatch(name):
            entry.registers |= {f"{spread[1]}{i}": kind[1:] for i in range(int(spread[2]))}
            continue
        scope[name] = f"{name}.{number}" if number else name
        entry.registers[scope[name]] = kind[1:]


def _scoped(name: str, scopes: list[dict[str, str]]) -> str:
    return next((scope[name] for scope in reversed(scopes) if name in scope), name)


def _instruction(statement: str, scopes: list[dict[str, str]]) -> Instruction:
    guard, negated, rest = None, False, statement
    if guarded := _GUARDED.fullmatch(statement):
        negated, rest = bool(guarded[1]), guarded[3]
        guard = Register(_scoped(guarded[2], scopes))
    opcode, _, operands = rest.partition(" ") if " " in rest else rest.partition("\t")
    opcode, _, more = opcode.partition("\t")
    text = " ".join(statement.split())
    found = tuple(_operand(each, scopes) for each in _split(f"{more} {operands}"))
    return Instruction(opcode, tuple(opcode.split(".")), found, guard, negated, text)


def _split(text: str) -> list[str]:
    """Split at the commas that are in no bracket."""
    found, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "{[") - (letter in "]}")
        if letter == "," and not depth:
            found.append(current.strip())
            current = ""
        else:
            current += letter
    return [*found, current.strip()] if current.strip() else found


def _operand(text: str, scopes: list[dict[str, str]]) -> Operand:
    if text.startswith("{"):
        return Vector(tuple(_operand(each, scopes) for each in _split(text[1:-1])))
    if text.startswith("["):
        return _address(text[1:-1].strip(), scopes)
    if re.match(r"-?\d", text):
        return Immediate(text)
    if "|" in text:  # two results
        return Vector(tuple(_operand(each, scopes) for each in text.split("|")))
    name = _scoped(text, scopes)
    own = any(text in scope for scope in scopes)
    return Register(name) if text.startswith("%") or own or text == "_" else Symbol(name)


def _address(text: str, scopes: list[dict[str, str]]) -> Address:
    base, *rest = _split(text)
    if rest:
        coordinates = _operand(rest[0], scopes)
        require(isinstance(coordinates, Vector), f"{text} has no coordinates")
        return Address(_operand(base, scopes), 0, coordinates)
    place = re.fullmatch(r"(.*?)\s*(?:\+\s*(-?\d+))?", base)
    require(place, f"{text} is no address")
    return Address(_operand(place[1], scopes), int(place[2] or 0))
