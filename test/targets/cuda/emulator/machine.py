# SPDX-License-Identifier: MIT OR Apache-2.0
"""Some blocks of a launch: their threads, registers and memory, and which threads go on next.

Threads at the same instruction go on together. Of several groups the one furthest behind does, so
that the two sides of a branch meet again. Threads that wait are kept apart until what they wait for
has happened; when all wait, the oldest copy lands, and if there is none, nobody will ever go on.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.errors import EmulatorError, require
from emulator.instructions import WARP, Kind, Threads, kind_of
from emulator.memory import GlobalMemory, SharedMemory
from emulator.parse import (
    Address,
    Entry,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Vector,
)
from emulator.races import Races
from emulator.registers import Lanes, Registers, number
from emulator.types import NUMPY, Array
from xyntra.targets.cuda.code.kernel_image import ImageLaunch

__all__ = ["Launch", "Machine", "parts_of"]

_PARAMETERS = 1 << 60
_PARAMETER_BYTES = 128
_MOST = 1 << 20
_WORD = re.compile(r"[\w$]+")
"""Instructions, after which a program counts as one that does not end."""


@dataclass(frozen=True)
class Launch:
    """What is launched.

    Attributes:
        module: the code.
        shape: which of its entry points, and how many threads.
        memory: the arrays of the parameters, then constants.
        parameters: arrays that are parameters; tensor maps follow.
    """

    module: Module
    shape: ImageLaunch
    memory: GlobalMemory
    parameters: int

    @property
    def entry(self) -> Entry:
        """The kernel."""
        return self.module.entries[self.shape.entry]


class Machine:
    """Blocks that run at the same time.

    Attributes:
        at: the threads of the current instruction.
        launch: what runs.
        memory: global.
        shared: of the blocks.
        races: finds them.
        registers: of the threads.
        landing: copies on their way, oldest first; each is called to let it land.
        block: number in `shared` of every thread's block.
        thread: number of every thread in its block.
        executed: instructions so far, each for many threads.
        state: what modules of instructions remember: barriers, copies on their way.

    Args:
        launch: what runs.
        blocks: numbers in the grid, whole clusters.
    """

    def __init__(self, launch: Launch, blocks: Sequence[int]) -> None:
        entry, shape = launch.entry, launch.shape
        self.launch, self.entry, self.memory = launch, entry, launch.memory
        self.threads, self.cluster = entry.threads, shape.cluster
        self.count = len(blocks) * entry.threads
        self.block = np.repeat(np.arange(len(blocks)), entry.threads)
        self.thread = np.tile(np.arange(entry.threads), len(blocks))
        self._number = np.repeat(np.array(blocks), entry.threads)
        words = {word for each in entry.code for word in _WORD.findall(each.text)}
        arrays = [each for each in launch.module.shared if each.name in words]
        self.shared = SharedMemory(arrays, shape.shared, len(blocks))
        self.races = Races(
            len(blocks), shape.cluster, -(-entry.threads // WARP), self.shared.nbytes
        )
        self.registers = Registers(entry.registers, self.count)
        self.at: Lanes = slice(None)
        self.landing: deque[Callable[[], None]] = deque()
        self.executed = 0
        self.state: dict[str, dict[tuple[int, ...], Any]] = defaultdict(dict)
        self._kinds = [kind_of(each.opcode) for each in entry.code]
        self._behind = np.full(len(blocks) // shape.cluster, not shape.programmatic)
        self._ended = np.zeros(self.count, bool)
        self._ready: dict[int, list[Threads]] = {0: [np.arange(self.count)]}
        self._incomplete: dict[int, list[Threads]] = defaultdict(list)

    def run(self) -> None:
        """Run all threads to their end.

        Raises:
            EmulatorError: the program did something wrong; the message has the instruction.
        """
        with np.errstate(all="ignore"):
            while not self._ended.all():
                if self._ready:
                    place = min(self._ready)
                    self._go_on(place, _merged(self._ready.pop(place)))
                elif self.landing:
                    self.landing.popleft()()
                else:
                    raise EmulatorError(f"nobody can go on: {self._stuck()}")
        require(not self.landing, "copies are on their way when the last thread has ended")
        self.races.check_end()

    def wait_for_launch_ahead(self) -> None:
        """Note that the launch ahead has ended, for all threads of the current ones' clusters.

        What one thread knows, others learn at the barriers that hand data on.
        """
        self._behind[self.block[self.at] // self.cluster] = True

    def touch(
        self, addresses: Array, *, where: Array | bool = True, unchanging: bool = False
    ) -> None:
        """Check that the current threads may read or write global memory by now.

        Args:
            addresses: one for each thread.
            where: threads that do.
            unchanging: whether it is read as memory that is not written while the kernel lives.

        Raises:
            EmulatorError: the launch ahead may still write there, or read what is overwritten.
        """
        if not self.launch.shape.programmatic:
            return
        changing = self.memory.may_change(addresses) & where
        if not changing.any():
            return
        require(not unchanging, "ld.global.nc of what the launch ahead may write")
        behind = self._behind[self.block[self.at] // self.cluster]
        require(behind[changing].all(), "memory is touched before griddepcontrol.wait")

    def wake(self, threads: Threads, place: int) -> None:
        """Let threads go on at an instruction."""
        if len(threads):
            self._ready.setdefault(place, []).append(threads)

    def _go_on(self, place: int, threads: Threads) -> None:
        """Run threads from an instruction on until they part, wait, end, or meet others."""
        code = self.entry.code
        while len(threads):
            self.executed += 1
            require(self.executed < _MOST, "the program does not end")
            if self._ready and place >= min(self._ready):
                self.wake(threads, place)
                return
            current = code[place] if place < len(code) else None
            if current is None or current.parts[0] in ("ret", "exit"):
                threads, place = self._end(current, threads), place + 1
            elif current.parts[0] == "bra":
                threads, place = self._branch(current, threads, place)
            else:
                threads = self._run_one(current, self._kinds[place], threads, place)
                place += 1

    def _run_one(
        self, current: Instruction, kind: Kind | None, threads: Threads, place: int
    ) -> Threads:
        assert kind is not None
        if kind.together > 1:
            threads = self._complete(threads, place, kind.together)
        chosen = threads[self._holds(current, threads)] if current.guard else threads
        if not len(chosen):
            return threads
        self.at = slice(None) if len(chosen) == self.count else chosen
        try:
            if not kind.blocks:
                kind.run(self, current)
                return threads
            going = kind.run(self, current, chosen, place + 1)
        except EmulatorError as error:
            raise EmulatorError(f"{error}\n  in {self.entry.name}: {current.text}") from error
        rest = np.setdiff1d(threads, chosen, assume_unique=True)
        return np.union1d(rest, going) if len(rest) else going

    def _complete(self, threads: Threads, place: int, together: int) -> Threads:
        """Keep back the threads whose warp or warpgroup is not all here."""
        threads = _merged([threads, *self._incomplete.pop(place, [])])
        counts = np.bincount(threads // together, minlength=1)
        whole = counts[threads // together] == together
        if not whole.all():
            self._incomplete[place].append(threads[~whole])
        return threads[whole]

    def _branch(self, current: Instruction, threads: Threads, place: int) -> tuple[Threads, int]:
        target = current.operands[0]
        assert isinstance(target, Symbol | Register)
        goal = self.entry.labels[target.name]
        if current.guard is None:
            return threads, goal
        taken = self._holds(current, threads)
        if taken.all():
            return threads, goal
        self.wake(threads[taken], goal)
        return threads[~taken], place + 1

    def _end(self, current: Instruction | None, threads: Threads) -> Threads:
        ending = np.ones(len(threads), bool)
        if current is not None and current.guard is not None:
            ending = self._holds(current, threads)
        self._ended[threads[ending]] = True
        return threads[~ending]

    def _holds(self, current: Instruction, threads: Threads) -> Array:
        assert current.guard is not None
        values = self.registers.predicate(current.guard.name, threads)
        return ~values if current.negated else values

    def _stuck(self) -> str:
        waiting = [f"{kind} {found}" for kind, found in self.state.items() if "barrier" in kind]
        parted = [self.entry.code[place].text for place in self._incomplete]
        return "; ".join([*waiting, *(f"incomplete at '{text}'" for text in parted)])[:1000]

    def size(self) -> int:
        """How many threads run the current instruction."""
        return self.count if isinstance(self.at, slice) else len(self.at)

    def current(self) -> Threads:
        """The threads of the current instruction."""
        found: Threads = np.arange(self.count)[self.at]
        return found

    def warps(self) -> tuple[Array, Array]:
        """Return cluster and number in its cluster of the warp of every current thread."""
        threads, per_cluster = self.current(), self.cluster * self.threads
        return threads // per_cluster, threads % per_cluster // WARP

    def read(self, operand: Operand, kind: str) -> Array:
        """Return an operand for the threads of the current instruction; a number has no shape."""
        if isinstance(operand, Immediate):
            return number(operand.text, kind)
        if isinstance(operand, Register):
            if operand.name in self.registers:
                return self.registers.read(operand.name, kind, self.at)
            return self._special(operand.name).astype(NUMPY[kind])
        assert isinstance(operand, Symbol)
        return np.array(self._symbol(operand.name)).astype(NUMPY[kind])

    def whole(self, operand: Operand, kind: str) -> Array:
        """As `read`, with one element for each thread."""
        return np.broadcast_to(self.read(operand, kind), (self.size(),))

    def write(self, operand: Operand, value: Array) -> None:
        """Write a register; "_" is none."""
        assert isinstance(operand, Register)
        if operand.name != "_":
            self.registers.write(operand.name, value, self.at)

    def addresses(self, operand: Operand) -> Array:
        """Return the addresses of a memory operand, one for each thread."""
        assert isinstance(operand, Address)
        base = operand.base
        is_wide = not isinstance(base, Register) or self.registers.is_wide(base.name)
        found = self.read(base, "u64" if is_wide else "u32").astype(np.int64)
        return np.broadcast_to(found + operand.offset, (self.size(),))

    def map_number(self, address: int) -> int:
        """Return the number of the tensor map that is a parameter at an address."""
        place, rest = divmod(address - _PARAMETERS, _PARAMETER_BYTES)
        require(not rest and place >= self.launch.parameters, "this is no tensor map")
        return place - self.launch.parameters

    def _special(self, name: str) -> Array:
        values = {
            "%tid.x": self.thread,
            "%ctaid.x": self._number,
            "%laneid": self.thread % WARP,
            "%cluster_ctarank": self._number % self.cluster,
            "%nctaid.x": np.full(self.count, self.launch.shape.grid),
            "%ntid.x": np.full(self.count, self.threads),
        }
        if name.endswith((".y", ".z")):
            return np.zeros(self.size(), np.int64)
        require(name in values, f"{name} is not known to the emulator")
        found: Array = values[name][self.at]
        return found

    def _symbol(self, name: str) -> int:
        """The address of a parameter, of an array in shared memory, or of a constant."""
        if name in self.entry.parameters:
            return _PARAMETERS + _PARAMETER_BYTES * self.entry.parameters.index(name)
        if name in self.shared.addresses:
            return self.shared.addresses[name]
        constants = list(self.launch.module.constants)
        require(name in constants, f"{name} is not known to the emulator")
        first = len(self.memory.arrays) - len(constants)
        return self.memory.address(first + constants.index(name))


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector, or an operand by itself."""
    return operand.parts if isinstance(operand, Vector) else (operand,)


def _merged(lists: Sequence[Threads]) -> Threads:
    return np.asarray(lists[0] if len(lists) == 1 else np.sort(np.concatenate(lists)))
