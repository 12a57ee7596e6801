# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists what runs each instruction, by opcode; the modules of instructions fill the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulator.errors import EmulatorError
from emulator.parse import Instruction
from emulator.types import Array

if TYPE_CHECKING:
    from emulator.machine import Machine

__all__ = ["WARP", "Kind", "Threads", "blocking", "collective", "instruction", "kind_of"]

WARP = 32
Threads = Array
"""Numbers of threads, in order."""
Handler = Callable[["Machine", Instruction], None]
Blocking = Callable[["Machine", Instruction, Threads, int], Threads]
_MOVES = ("bra", "ret", "exit")


@dataclass(frozen=True)
class Kind:
    """How an instruction is run.

    Attributes:
        run: does it for the threads `machine.at`; one that blocks returns the threads that go on.
        together: threads that must be complete: 1, 32 of a warp, or 128 of a warpgroup.
        blocks: whether threads may have to wait.
    """

    run: Handler | Blocking
    together: int = 1
    blocks: bool = False


_KINDS: dict[str, Kind] = {}


def instruction(*names: str) -> Callable[[Handler], Handler]:
    """Register what runs opcodes that begin with one of `names`; the longest one counts."""

    def register(handler: Handler) -> Handler:
        _KINDS.update(dict.fromkeys(names, Kind(handler)))
        return handler

    return register


def collective(together: int, *names: str) -> Callable[[Handler], Handler]:
    """Likewise for instructions that a whole warp or warpgroup must run together."""

    def register(handler: Handler) -> Handler:
        _KINDS.update(dict.fromkeys(names, Kind(handler, together)))
        return handler

    return register


def blocking(*names: str) -> Callable[[Blocking], Blocking]:
    """Likewise for instructions after which threads may wait.

    What runs them is given the threads and the place behind the instruction as well.
    """

    def register(handler: Blocking) -> Blocking:
        _KINDS.update(dict.fromkeys(names, Kind(handler, blocks=True)))
        return handler

    return register


def kind_of(opcode: str) -> Kind | None:
    """What runs an opcode; None for those that end threads or move them.

    Raises:
        EmulatorError: nothing does.
    """
    parts = opcode.split(".")
    if parts[0] in _MOVES:
        return None
    for count in range(len(parts), 0, -1):
        if found := _KINDS.get(".".join(parts[:count])):
            return found
    raise EmulatorError(f"'{opcode}' is not known to the emulator")
