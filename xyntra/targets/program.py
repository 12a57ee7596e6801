# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what the levels above ask of a compiled model on a device, and of calls in flight."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from xyntra.plan.plan import Plan, Port


class Program(Protocol):
    """A compiled model on a device, ready to run.

    Arrays come in the order of the plan's inputs and results. Calls from several threads are safe.
    """

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]:
        """Check the arrays, run once, and return the outputs: those of `out`, or new ones.

        Where a device has memory of its own, they are there if an input was.
        """

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        """Run, perhaps a few times, on contiguous arrays that fit; return steps' nanoseconds."""


@runtime_checkable
class TimedProgram(Program, Protocol):
    """A program whose launches are so short that they are timed together."""

    def time_together(self, inputs: Sequence[Any]) -> int:
        """Run on contiguous arrays that fit; return the nanoseconds of all steps of a call."""


@runtime_checkable
class StateProgram(Program, Protocol):
    """A program that can write outputs where inputs lie."""

    def state_address(self, array: Any, port: Port) -> int:
        """Return where an array lies that an output is to be written over.

        Raises:
            InputError: it does not fit the input, or kernels cannot write it where it lies.
        """

    def input_address(self, array: Any) -> int | None:
        """Return where an array of a call lies; None where it is copied before it is read."""

    def new_states(self, ports: Sequence[Port]) -> Sequence[Any]:
        """Return arrays of zeros for inputs that outputs are written over, where those can lie."""


@runtime_checkable
class SettlingProgram(Program, Protocol):
    """A program that can let go of weights for what it has made of them."""

    def settled(self, plan: Plan, made: Collection[int]) -> tuple[Program, Mapping[int, Any]]:
        """Return this program by a plan in which some of its prepared buffers are parameters.

        Args:
            plan: as `settlement` makes it, with the numbers of this one's buffers.
            made: the buffers that have become parameters; their bytes are returned, too.
        """


class Future(Protocol):
    """The results of a call that may not have finished; `await` gives what `result` returns."""

    def __await__(self) -> Generator[Any, None, Any]:
        """Wait without blocking the event loop."""

    def cancel(self) -> bool:
        """Withdraw the call if it has not begun; tell whether it is withdrawn."""

    def done(self) -> bool:
        """Tell whether `result` would return, or raise, at once."""

    def result(self, timeout: float | None = None) -> Any:
        """Wait, for `timeout` seconds at most, and return what calling the model returns.

        Raises:
            TimeoutError: the call has not finished.
        """


class PlainCall(Protocol):
    """The short way of calling a program, which checks only that arrays are of the usual kind."""

    def __call__(self, arrays: Sequence[Any], into: Sequence[Any] = ()) -> list[Any] | None:
        """Run once, and return the results; None, with nothing done, where an array does not fit.

        Args:
            arrays: one an input.
            into: for every result an array, which nothing reads any more, or None; or nothing. A
                result is written there where that is of its kind, else into a new array.
        """


@runtime_checkable
class HostProgram(Program, Protocol):
    """A program that runs in this process, on memory whose addresses it is given."""

    def run_at(self, addresses: Sequence[int]) -> None:
        """Run once on memory that the caller vouches for.

        Args:
            addresses: of inputs and results in order, each contiguous, of the port's size and
                aligned to its elements. No result, and no input that an output is written over,
                may overlap anything else. Such an output is none of the results.
        """

    def plain_call(self) -> PlainCall:
        """Return a function that runs once on arrays of numpy that fit."""


@runtime_checkable
class PlainProgram(Program, Protocol):
    """A program with a short way of calling it on arrays that lie where it runs."""

    def plain_call(self) -> PlainCall:
        """Return a function that runs once on arrays that fit.

        Arrays that outputs are written over share memory with no other, and come back.
        """


@runtime_checkable
class DeviceProgram(Program, Protocol):
    """A program that also takes arrays in the memory of its device."""

    def submit(self, arrays: Sequence[Any]) -> Future:
        """Start a call; its inputs have been read, or are used in the order of their stream."""

    def launches(self, addresses: Sequence[int]) -> Sequence[Any]:
        """Return the launches of a call, for addresses of inputs and outputs in order."""

    def overlaps(self) -> Mapping[str, Sequence[bool]]:
        """Return, by kernel, which of its launches may begin before the one ahead has ended."""

    def launch_resources(self) -> Sequence[Any]:
        """Return what every launch of a call occupies of the device, in order."""


@runtime_checkable
class StreamProgram(DeviceProgram, Protocol):
    """A program that runs on memory of its device, on a stream, both of which it is given."""

    def launch_at(self, addresses: Sequence[int], stream: int, *, recorded: bool) -> None:
        """Launch once on memory that the caller vouches for, and wait for nothing.

        Args:
            addresses: of inputs and results in order, each contiguous, of the port's size and
                aligned to 16 bytes. No result may overlap anything else.
            stream: where; it is there as long as the process.
            recorded: the stream records what is put on it, to be replayed later. The program was
                launched before, and stays as long as the record.
        """

    def replay(self, arrays: Sequence[Any], out: Sequence[Any]) -> bool:
        """Repeat a call on arrays that lie where those of a call before did; wait for nothing.

        Args:
            arrays: one an input, none of which a gradient is taken of.
            out: one a result.

        Returns:
            False, with nothing done, where an array is of another kind, type, layout or device
            than that of the port, or lies elsewhere than in the calls before.
        """
