# SPDX-License-Identifier: MIT OR Apache-2.0
"""A compiled model that can be called."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xyntra.errors import InputError, UnsupportedError
from xyntra.plan.artifact import Artifact
from xyntra.plan.calls.arguments import InputChecks, OutputChecks
from xyntra.plan.calls.call_inputs import CallInputs
from xyntra.plan.kernel import Kernel, kernels_at_load, kernels_of
from xyntra.plan.plan import Plan, Port
from xyntra.plan.storage.executable_file import file_parts, kinds_of
from xyntra.plan.storage.files import make_folder, replace_file
from xyntra.spans import calls_recorded, span
from xyntra.suggestions import did_you_mean
from xyntra.targets.checked_program import checked_program
from xyntra.targets.program import (
    DeviceProgram,
    Future,
    HostProgram,
    PlainCall,
    PlainProgram,
    Program,
    StreamProgram,
)
from xyntra.targets.stateful_program import StatefulProgram, stateful_program
from xyntra.targets.table import backend_of

if TYPE_CHECKING:
    from xyntra.targets.launch_resources import LaunchResources
    from xyntra.targets.submitted_calls import CallQueue

Array = np.ndarray[Any, Any]


class Executable:
    """A model compiled for one target; calling it runs it.

    Calls from several threads are safe and run at the same time. It can be pickled and copied: a
    pickle holds the code and the weights, and is loaded on a machine of the same kind alone.

    Args:
        artifact: the compiled model.
        program: the artifact, loaded.
        weights: its parameters by name.
        loaded_for: the target and the number of threads that it was loaded for, for copies.
        restore: loads what a pickle holds: a saved model without its weights, the weights, and
            `loaded_for`. A function that pickle finds by its name; None where none is wanted.
        whole: where `weights` are what the load made of the model's, the artifact that takes
            those, with their dtypes and shapes by name.
    """

    def __init__(
        self,
        artifact: Artifact,
        program: Program,
        weights: Mapping[str, Array],
        loaded_for: tuple[str, int | None] = ("auto", None),
        restore: Callable[[bytes, Mapping[str, Array], str, int | None], Executable] | None = None,
        whole: tuple[Artifact, Mapping[str, Any]] | None = None,
    ) -> None:
        self.artifact = artifact
        self._whole = whole or (artifact, kinds_of(weights, artifact.plan))
        checked = checked_program(program, artifact.plan)
        self._program = checked = stateful_program(checked, program, artifact.plan)
        self._device = checked if isinstance(checked, DeviceProgram) else None
        self._queue: CallQueue | None = None
        self._restore = restore
        self._loaded_for = loaded_for
        self._weights = weights
        self._checked = InputChecks(artifact.plan.inputs)
        self._inputs = CallInputs(artifact.plan.inputs)
        self._count = len(artifact.plan.inputs)
        self._results = OutputChecks(artifact.plan.own_outputs)
        self._output_names = [port.name for port in artifact.plan.outputs]

    def __repr__(self) -> str:
        from xyntra.observe.summary import summary

        return summary(self.artifact)

    @property
    def plan(self) -> Plan:
        """Return what runs, in which order, into which buffers."""
        return self.artifact.plan

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The model's inputs: name, dtype, shape."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The model's outputs: name, dtype, shape."""
        return self.plan.outputs

    @property
    def weights(self) -> Mapping[str, Array]:
        """The model's weights by name, read-only."""
        return self._weights

    @property
    def kernels(self) -> list[Kernel]:
        """Every launch of a call, in order."""
        return kernels_of(self.plan)

    @property
    def kernels_at_load(self) -> list[Kernel]:
        """Every launch that computes from weights alone: it happens once, when the model loads."""
        return kernels_at_load(self.plan)

    @property
    def overlaps(self) -> Mapping[str, Sequence[bool]]:
        """On GPUs, by kernel, which of its launches begin while the one ahead ends; else empty."""
        return {} if self._device is None else self._device.overlaps()

    def __call__(
        self,
        /,
        *arrays: Any,
        out: Sequence[Any] | Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
        """Run the model on inputs given in order, by name, or both.

        A model for a GPU takes arrays on that GPU where they lie, and runs on the stream that their
        library uses; its outputs are then there as well, as `DeviceArray`, and nothing is waited
        for.

        Args:
            arrays: one array an input: numpy, or anything with DLPack; dtype and shape must be
                those of the input. Lists, and Python's and numpy's scalars, take the dtype of the
                input where that is exact; floats for floats are rounded. One mapping alone holds
                inputs by name.
            out: arrays to write the outputs into, in order or by name; fresh ones where not given.
                An output that was compiled to be written over an input is there in any case, and
                may be left out. An input of this name is given in order or in a mapping.
            named: inputs by name, instead of the last ones in order.

        Returns:
            The output array, or a tuple of them where the model has several.

        Raises:
            InputError: an array does not fit, is missing, unknown or given twice; the message
                names the input. `branch-not-compiled`: the values take a branch of an `If` that
                could not be compiled for these shapes; the arrays of `out` hold nothing of use
                then. A model with such a branch waits for the GPU.
            DeviceError: the GPU is missing, or failed.
        """
        given = self._arranged(arrays, named)
        if isinstance(out, Mapping):
            out = self._out_in_order(out)
        results = self._called(given, out)
        return results[0] if len(results) == 1 else tuple(results)

    def submit(self, /, *arrays: Any, **named: Any) -> Future:
        """Start a call and return at once; `result(timeout)` of what is returned waits for it.

        It can be awaited as well, which does not block the event loop. Several calls may be on
        their way; they run in order. On a GPU, numpy arrays have been read when this returns, and
        the fifth call of these waits for the first. Arrays on the GPU, and on the CPU target all,
        must not change before the call has finished.

        Args:
            arrays: as for a call.
            named: as for a call.

        Raises:
            InputError: an array does not fit (on the CPU target, `result` raises it). `result`
                raises `branch-not-compiled` on all targets.
            DeviceError: the GPU is missing, or failed.
        """
        given = self._arranged(arrays, named)
        if self._device is not None:
            return self._device.submit(given)
        if self._queue is None:
            from xyntra.targets.submitted_calls import CallQueue  # with asyncio, which loads long

            self._queue = CallQueue()
        return self._queue.submit(lambda: self(*given))

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the model on inputs given by name and return its outputs by name.

        Raises:
            InputError: an input is missing, unknown, or does not fit, or `branch-not-compiled`.
        """
        results = self._called(self._inputs.in_order(inputs), None)
        return dict(zip(self._output_names, results, strict=True))

    def bare_call(self) -> Callable[[Sequence[int]], None]:
        """Return a function that runs a model for the CPU on memory, of which it checks nothing.

        It takes the addresses of inputs and outputs in order, each contiguous, of the port's size
        and aligned to its elements. No output may overlap anything else.

        Raises:
            UnsupportedError: `addresses-unchecked`: the model is for a GPU, or has a branch that
                was not compiled, and only calls find out whether it is taken.
        """
        if not isinstance(self._program, HostProgram):
            raise UnsupportedError(
                "addresses-unchecked",
                "only models for the CPU without branches run on bare memory",
                hint="call the executable with arrays",
            )
        return self._program.run_at

    def plain_call(self) -> PlainCall | None:
        """Return a function that runs the model on arrays that fit; None where there is none.

        It takes the inputs in order, and returns the outputs, or None, having done nothing, where
        an input is no contiguous array of the right dtype and shape: of numpy, or on a GPU one that
        was placed there. Inputs that outputs are written over share memory with nothing else. For
        outputs that have memory of their own it may be given that, in arrays which are not needed.
        """
        return self._program.plain_call() if isinstance(self._program, PlainProgram) else None

    def stream_call(self) -> Callable[..., None]:
        """Return a function that puts a model for a GPU on a stream, and checks nothing.

        It takes `addresses`, `stream` and `recorded` as `StreamProgram.launch_at` does.

        Raises:
            UnsupportedError: `addresses-unchecked`: the model is not for a GPU that has streams, or
                has a branch that was not compiled.
        """
        return self._on_streams().launch_at

    def replay_call(self) -> Callable[[Sequence[Any], Sequence[Any]], bool]:
        """Return a function that repeats a call on tensors of a GPU, as `StreamProgram.replay`.

        Raises:
            UnsupportedError: `addresses-unchecked`: as for `stream_call`.
        """
        return self._on_streams().replay

    def _on_streams(self) -> StreamProgram:
        if isinstance(self._program, StreamProgram):
            return self._program
        raise UnsupportedError(
            "addresses-unchecked",
            "only models for NVIDIA GPUs without branches run on bare memory of a stream",
            hint="call the executable with arrays",
        )

    def _called(self, given: Sequence[Any], out: Sequence[Any] | None) -> Sequence[Any]:
        """The outputs of a call; it is a span where calls are recorded."""
        if not calls_recorded():
            return self._program.call(given, out)
        with span("call", "call"):
            return self._program.call(given, out)

    def _arranged(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs of a call in order; the usual call is passed on as it is."""
        if named or len(arrays) != self._count:
            return self._inputs.arranged(arrays, named)
        first = type(arrays[0]) if self._count == 1 else np.ndarray
        if first is not np.ndarray and issubclass(first, Mapping):
            return self._inputs.arranged(arrays, named)
        return arrays

    def _out_in_order(self, out: Mapping[str, Any]) -> list[Any] | None:
        """The arrays for outputs in order, None for those that are left out."""
        names = [port.name for port in self.plan.outputs]
        for name in out:
            if name not in names:
                raise InputError(
                    "unknown-output",
                    f"the model has no output '{name}'",
                    place="out=",
                    cause=f"its outputs are {', '.join(names)}",
                    hint=did_you_mean(name, names),
                )
        found = [out.get(name) for name in names]
        missing = [n for n, each in zip(names, found, strict=True) if each is None]
        if missing and not self.plan.aliases:
            raise InputError(
                "output-count",
                f"output '{missing[0]}' is missing",
                place="out=",
            )
        return found

    def new_states(self) -> dict[str, Any]:
        """Return arrays of zeros, by name, for the inputs that outputs are written over.

        They lie where the model runs: numpy's on the CPU, a `DeviceArray` each on a GPU.

        Raises:
            DeviceError: the GPU is missing, failed, or has not so much memory.
        """
        program = self._program
        return program.new_states() if isinstance(program, StatefulProgram) else {}

    def time_kernels(self, inputs: Mapping[str, Any]) -> list[int]:
        """Run the model once and return the nanoseconds that each entry of `kernels` took.

        Raises:
            InputError: an input is missing, unknown, or does not fit, or `branch-not-compiled`.
        """
        given = self._inputs.in_order(inputs)
        prepared = given if self.plan.free else self._checked(given)
        for _, number in self.plan.aliases:
            prepared[number] = prepared[number].copy()
        times = self._program.time_steps(prepared, self._results.new())
        return [t for t, step in zip(times, self.plan.steps, strict=True) if not step.once]

    def launches(self, addresses: Sequence[int]) -> Sequence[Any]:
        """Return what a call puts on a stream of a GPU, for graphs of one's own.

        Each is called with the handle of a stream; in order, they compute the outputs.

        Args:
            addresses: of inputs and outputs on the GPU, in order, multiples of 16 bytes. They, and
                this executable, must be there as long as the launches are used.

        Raises:
            UnsupportedError: `target-unsupported`: the model is for the CPU; `launches-unchecked`:
                it has a branch that was not compiled, and only calls find out whether it is taken.
            DeviceError: the GPU is missing, or failed.
        """
        if self._device is None:
            raise UnsupportedError("target-unsupported", "the CPU has no launches")
        return self._device.launches(addresses)

    def launch_resources(self, *, predicted: bool = False) -> Sequence[LaunchResources]:
        """Return what every launch of a call occupies of the GPU, in order.

        Args:
            predicted: concluded from what ptxas says, for a GPU that need not be there, instead of
                asked of the driver.

        Raises:
            UnsupportedError: `no-occupancy`: it is not for NVIDIA GPUs.
            DeviceError: the GPU, or ptxas, is missing, or failed.
        """
        if predicted or self._device is None:
            return backend_of(self.artifact.target).predicted_resources(self.artifact)
        return self._device.launch_resources()

    def explain_launches(self, nanoseconds: Sequence[int] | None = None) -> str:
        """A table of what every launch on a GPU occupies, and how fast it was; "" on the CPU.

        Args:
            nanoseconds: measured times, from `time_kernels`.

        Raises:
            DeviceError: the GPU is missing, or failed.
        """
        if self._device is None:
            return ""
        from xyntra.observe.gpu.launch_table import launch_table

        return launch_table(self._device.launch_resources(), self.kernels, nanoseconds)

    def explain(self, nanoseconds: Sequence[int] | None = None) -> str:
        """A report of what was fused into which kernel, what was not, and why.

        Args:
            nanoseconds: measured times, from `time_kernels`, to be shown beside the predicted.
        """
        from xyntra.observe.explain import explain

        return explain(self.plan, nanoseconds, overlaps=self.overlaps)

    def explain_html(self, nanoseconds: Sequence[int] | None = None, title: str = "") -> str:
        """A page, complete in itself, that shows the graph before and after fusion.

        Args:
            nanoseconds: measured times, from `time_kernels`, to be shown beside the predicted.
            title: name of the model.
        """
        from xyntra.observe.page.document import page

        return page(self.plan, self.artifact.source_graph(), nanoseconds, title)

    def save(self, path: str | os.PathLike[str], *, weights: bool = True) -> None:
        """Write the compiled model to `path`, for `xyntra.load`.

        The file is written beside `path` and renamed, so that none is ever half-written.

        Args:
            path: the file.
            weights: whether it holds them; if not, `xyntra.load` is given them.

        Raises:
            ArchiveError: the file cannot be written.
        """
        if not weights:
            replace_file(path, file_parts(*self._whole))
            return
        held = {name: self._weights[name] for name in self.plan.parameters}
        replace_file(path, file_parts(self.artifact, kinds_of(held, self.plan), held))

    def save_web(self, folder: str | os.PathLike[str], *, title: str = "") -> None:
        """Write a folder that runs a model for WebGPU in a browser, from any static server.

        It holds a page, the runtime `xyntra.js` for pages of one's own, the plan, WGSL, and the
        weights in chunks. What else lies in the folder stays there.

        Args:
            folder: it is made if it is not there.
            title: what the page calls the model.

        Raises:
            UnsupportedError: `web-target`: the model is for another target.
            ArchiveError: a file cannot be written.
        """
        from xyntra.targets.table import backend_of

        backend = backend_of(self.artifact.target)
        for name, data in backend.site_files(self.artifact, self._weights, title):
            path = Path(folder, *name.split("/"))
            make_folder(path.parent)
            replace_file(path, [data])

    def __reduce__(self) -> tuple[Any, ...]:
        if self._restore is None:
            raise TypeError("this executable was not made to be pickled")
        held = {name: self._weights[name] for name in self.plan.parameters}
        data = b"".join(file_parts(self.artifact, kinds_of(held, self.plan)))
        return self._restore, (data, held, *self._loaded_for)

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        # Weights are read-only: copies share them.
        return copy.copy(self)
