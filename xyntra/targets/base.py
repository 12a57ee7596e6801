# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the levels above know of a target."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable


class Device(Protocol):
    """Something that kernels run on, described for cost models and schedules.

    Targets add what only they have (see `CpuDevice`).
    """

    @property
    def name(self) -> str:
        """The model of the processor."""

    @property
    def cores(self) -> int:
        """Units that run kernels side by side: processor cores, multiprocessors."""

    @property
    def vector_bits(self) -> int:
        """Bits that one core's vector instruction works on."""

    @property
    def summary(self) -> str:
        """What it is, on one line."""


class Program(Protocol):
    """A compiled model on a device, ready to run.

    Arrays come in the order of the plan's inputs and results. Calls from several threads are safe.
    """

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]:
        """Check the arrays, run once, and return the outputs: those of `out`, or new ones.

        Where a device has memory of its own, they are there if an input was.
        """

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        """Run once on contiguous arrays that fit; return every step's nanoseconds."""


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
