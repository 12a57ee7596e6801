# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what the levels above ask of a target: its backend, its devices and its programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from xyntra.errors import UnsupportedError
from xyntra.passes.targets.table import TARGETS, TargetName
from xyntra.passes.targets.target import Target
from xyntra.targets.kernel import CompiledKernel, KernelSource

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir
    from xyntra.passes.lower.gpu.device import Feature
    from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
    from xyntra.plan.artifact import Artifact
    from xyntra.plan.plan import Plan, Port
    from xyntra.targets.array_pool import ArrayPool
    from xyntra.targets.launch_resources import LaunchResources

CALLS = "xyntra.calls"
"""The name of the code that starts calls, among the compiled kernels."""


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
        """Return what it is, on one line."""


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

    def plain_call(self) -> Callable[[Sequence[Any]], list[Any] | None]:
        """Return a function that runs once on arrays of numpy that fit, and returns new ones.

        It takes one value an input, and returns None, having done nothing, where one does not fit.
        """


@runtime_checkable
class PlainProgram(Program, Protocol):
    """A program with a short way of calling it on arrays that lie where it runs."""

    def plain_call(self) -> Callable[[Sequence[Any]], list[Any] | None]:
        """Return a function that runs once on arrays that fit, and returns new ones.

        It takes one value an input, and returns None, having done nothing, where one does not fit.
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
        """Repeat a call on inputs and results that lie where those of a call before did.

        It waits for nothing, and returns False, having done nothing, where one is of another kind,
        type, layout or device, or lies elsewhere.
        """


class Backend(ABC):
    """The implementation of a target: it compiles, loads and runs models."""

    name: ClassVar[TargetName]
    writes_inputs: ClassVar[bool] = True
    """Whether outputs can be written where inputs lie."""
    sizes_by_value: ClassVar[bool] = False
    """Whether kernels are told sizes by value, not in an array."""
    keeps_arrays: ClassVar[bool] = False
    """Whether arrays can lie in memory of its devices between calls; see `place`."""
    schedules_by_size: ClassVar[bool] = False
    """Whether kernels that are told sizes have schedules for several classes of them."""

    @property
    def target(self) -> Target:
        """Return what passes know of the target."""
        return TARGETS[self.name]

    @abstractmethod
    def locate(self, target: str) -> tuple[str, int]:
        """Read "cuda", "cuda:1" or "cuda:sm_90a": an architecture, and the number of a device.

        Raises:
            UnsupportedError: the target has no such device.
            DeviceError: the machine has no such device.
        """

    @abstractmethod
    def locate_saved(self, machine_key: str, target: str) -> tuple[str, int]:
        """Return where saved code runs, as `locate` does; no device is looked for.

        Args:
            machine_key: of the code.
            target: "auto", or what a user has named of this target.

        Raises:
            WrongMachine: the code does not run there.
        """

    @abstractmethod
    def tuning_key(self, ordinal: int, threads: int | None) -> str:
        """Return what measured times hold for, as one line without versions.

        Args:
            ordinal: the number of the device.
            threads: of the processor that work on one call; None for one a core.

        Raises:
            DeviceError: the machine has no such device.
        """

    def tuning_class(self, architecture: str, threads: int | None) -> str:
        """Return the devices that schedules found on one of them are taken for, as a file's name.

        No device is asked. "" stands for devices that are alike in nothing.

        Args:
            architecture: that code is generated for; "" for this processor.
            threads: as `tuning_key` has them.
        """
        return ""

    def swept_bytes(self, weights: int) -> int:
        """Return how much memory to walk through before a kernel is timed alone.

        In a model its weights have been pushed out of the caches since the last call, where there
        are more weights than these hold.

        Args:
            weights: bytes of those of the model.
        """
        return 0

    def timed_launches(self, nanoseconds: float) -> int:
        """Return how many launches of a kernel to time together when it is measured alone.

        Args:
            nanoseconds: that one of them takes.
        """
        return 2

    def device_name(self, ordinal: int) -> str:
        """Return what users call a device by its number."""
        return self.name

    def text_name(self, architecture: str) -> str:
        """Return what texts of code name as their target; `locate` reads it."""
        return f"{self.name}:{architecture}" if architecture else self.name

    def features(self, architecture: str) -> frozenset[Feature]:
        """Return what code may use on some devices of the target only."""
        return frozenset()

    @abstractmethod
    def machine_key(self, architecture: str) -> str:
        """Return what a machine must have to run the code, as one line."""

    @abstractmethod
    def code_key(self, architecture: str) -> str:
        """Return what generates the code, and for what, as one line for cache keys."""

    @abstractmethod
    def summary_of(self, machine_key: str) -> str:
        """Return a machine key without what only the loader has to know."""

    @abstractmethod
    def compile(self, module: ir.Module, kernel: KernelSource) -> CompiledKernel:
        """Compile a kernel in this process, in the current context.

        Args:
            module: the kernel's, parsed; it is changed.
            kernel: tells the level of the module, and how to compile.

        Raises:
            CompileError: the module is not a kernel, or a library below failed on it.
        """

    @abstractmethod
    def schedule_places(self, module: ir.Module, kernel: KernelSource) -> Sequence[SchedulePlace]:
        """Return what has a schedule in a kernel, in order, with what it could be told.

        Args:
            module: the kernel's, parsed, at the level of kernels; it is changed.
            kernel: tells what it is compiled for.

        Raises:
            CompileError: as `compile`.
        """

    @abstractmethod
    def text_at(self, module: ir.Module, kernel: KernelSource, level: str) -> tuple[str, str]:
        """Return a kernel at a level of the target: its module, and its text below MLIR, if any.

        Raises:
            CompileError: as `compile`.
        """

    @abstractmethod
    def llvm_ir(self, module: ir.Module, kernel: KernelSource) -> str:
        """Return the LLVM IR of a kernel, for a target that has it.

        Raises:
            CompileError: as `compile`.
        """

    def assembly_files(self, objects: Mapping[str, bytes | memoryview]) -> Mapping[str, str]:
        """Return the text of the target's assembly for every compiled kernel that has some."""
        return {}

    def site_files(
        self, artifact: Artifact, weights: Mapping[str, Any], title: str
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the files of a folder that runs an artifact in a browser, by name.

        Args:
            artifact: what to run.
            weights: the plan's parameters by name.
            title: what the page calls it.

        Raises:
            UnsupportedError: `web-target`, browsers do not run code for this target.
            CompileError: the code is damaged, or a weight is missing.
        """
        raise UnsupportedError(
            "web-target",
            "browsers only run models that were compiled for WebGPU",
            hint="compile it with target='webgpu' (--target webgpu)",
        )

    def free_variants(self) -> Sequence[str]:
        """Return how kernels that are told their sizes can be scheduled, in order of preference.

        Empty where no kernel of the target can be told its sizes.
        """
        return ()

    def predicted_resources(self, artifact: Artifact) -> Sequence[LaunchResources]:
        """Return what every launch of a call would occupy of a GPU that need not be there.

        Raises:
            UnsupportedError: `no-occupancy`, nothing is known of the multiprocessors.
            DeviceError: what generates machine code is missing, or refused a kernel.
        """
        raise UnsupportedError(
            "no-occupancy",
            "nothing is known of what kernels occupy of this target",
            hint="compile the model with target='cuda:sm_90a' (--target cuda:sm_90a)",
        )

    def call_code(self) -> str:
        """Return the source of native code that starts calls; "" where there is none."""
        return ""

    def compile_call_code(self) -> bytes:
        """Compile what `call_code` returns."""
        return b""

    def late_modules(self) -> Sequence[str]:
        """Return the names of modules that only some kernels need, to be loaded ahead of them."""
        return ()

    def prepare(self, threads: int | None) -> None:  # noqa: B027  (few have anything to load)
        """Load what `program` needs whatever the artifact: while that is being compiled."""

    @abstractmethod
    def program(
        self, artifact: Artifact, weights: Mapping[str, Any], ordinal: int, threads: int | None
    ) -> Program:
        """Load an artifact; a device is not touched before the first run.

        Args:
            artifact: what to run.
            weights: the plan's parameters by name.
            ordinal: the number of the device.
            threads: how many threads of the processor work on one call; None for one a core.

        Raises:
            CompileError: the code is damaged, or a weight is missing.
        """

    def place(self, array: Any, ordinal: int) -> Any:
        """Return a copy of an array in the memory of a device, where its programs take it.

        Args:
            array: of numpy, or on a device of the target.
            ordinal: the number of the device.

        Raises:
            InputError: the array cannot be read.
            DeviceError: there is no such device, it failed, or has not so much memory.
        """
        raise UnsupportedError(
            "array-device", f"arrays lie in the memory of the host for {self.device_name(ordinal)}"
        )

    def pool(self, ordinal: int) -> ArrayPool:
        """Return the memory of arrays on a device; errors as those of `place`."""
        raise UnsupportedError(
            "array-device", f"arrays lie in the memory of the host for {self.device_name(ordinal)}"
        )

    @abstractmethod
    def devices(self) -> Mapping[str, Device]:
        """Return the devices of this machine that models can run on, by name."""

    def no_device_reason(self) -> str:
        """Return why `devices` returns none."""
        return "none was found"


class WrongMachine(Exception):
    """Saved code does not run where it should; says what is there, or was asked for, instead."""
