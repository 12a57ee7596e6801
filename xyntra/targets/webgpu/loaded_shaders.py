# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of a program that lives on a GPU: pipelines, weights, buffers and bindings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.errors import UnsupportedError
from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import Plan
from xyntra.plan.storage.stored import contents
from xyntra.targets.webgpu.adapter import OpenDevice, named_errors, wgpu_module
from xyntra.targets.webgpu.bound_plan import (
    WORD,
    bind_plan,
    images_of,
    places,
    whole_words,
)
from xyntra.targets.webgpu.code.shader_image import ShaderLaunch
from xyntra.targets.webgpu.native import encode_launches, mapped_bytes, shader_module
from xyntra.targets.webgpu.step_times import Stamps, repeated, step_times

__all__ = ["LoadedShaders"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Copy:
    """A buffer that is copied into another one, ahead of a launch."""

    source: Any
    destination: Any
    offset: int
    nbytes: int


@dataclass(frozen=True)
class _Dispatch:
    """A launch with everything that it is given."""

    pipeline: Any
    bindings: Any
    grid: tuple[int, int]
    copies: tuple[_Copy, ...] = ()


class LoadedShaders:
    """A plan ready to be launched; one thread uses it at a time.

    Args:
        artifact: the plan and its code.
        weights: the plan's parameters by name, contiguous.
        opened: where it lives.

    Raises:
        CompileError: the code is damaged, or a weight is missing.
        DeviceError: the GPU failed, or has too little memory.
        UnsupportedError: it binds fewer, or smaller, buffers than the model needs.
    """

    def __init__(
        self, artifact: Artifact, weights: Mapping[str, Array], opened: OpenDevice
    ) -> None:
        self.plan: Plan = artifact.plan
        self._wgpu = wgpu_module()
        self._opened = opened
        self._device = opened.device
        self._images = images_of(artifact)
        self._bound = bind_plan(self.plan, self._images)
        self._places = places(self.plan)
        self._pipelines: dict[tuple[str, str], Any] = {}
        self._modules: dict[str, Any] = {}
        self._layouts: dict[tuple[bool, ...], Any] = {}
        with named_errors("loading the model"):
            self._buffers = self._make_buffers(weights)
        self._steps = [self._dispatches(number) for number in range(len(self.plan.steps))]
        with named_errors("loading the model"):
            self._staging = self._make_staging()
            self._staged = self._make_buffer(WORD)
            self._run([n for n, step in enumerate(self.plan.steps) if step.once])

    def call(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run once, from and into contiguous arrays that fit."""
        with named_errors("running the model"):
            self._upload(inputs)
            encoder = self._device.create_command_encoder()
            called = [n for n, step in enumerate(self.plan.steps) if not step.once]
            self._encode(encoder, called)
            places = self._encode_results(encoder)
            self._device.queue.submit([encoder.finish()])
            self._download(outputs, places)

    def time_steps(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
        """Run a few times; return each step's nanoseconds, zero for those of the load.

        The outputs are those of the first run, since others may find states that it has written.
        """
        called = [n for n, step in enumerate(self.plan.steps) if not step.once]
        timed = self._timed_pass if self._opened.has_times else self._timed_one_by_one
        with named_errors("running the model"):
            self._upload(inputs)
            start = time.perf_counter()
            first = timed(called)
            spent = time.perf_counter() - start
            encoder = self._device.create_command_encoder()
            places = self._encode_results(encoder)
            self._device.queue.submit([encoder.finish()])
            self._download(outputs, places)
            found = iter(repeated(lambda count: timed(called * count), first, spent))
        return [0 if step.once else next(found) for step in self.plan.steps]

    def _timed_pass(self, numbers: Sequence[int]) -> list[int]:
        """Run steps, measured by the GPU."""

        def encode(encoder: Any, number: int, stamps: Stamps) -> None:
            self._encode(encoder, [number], stamps)

        return step_times(self._device, numbers, encode)

    def _timed_one_by_one(self, numbers: Sequence[int]) -> list[int]:
        """Run steps, measured by the processor, which waits for each."""
        times = []
        for number in numbers:
            start = time.perf_counter_ns()
            self._run([number])
            self._device.queue.read_buffer(self._staged, 0, WORD)  # once all is done
            times.append(time.perf_counter_ns() - start)
        return times

    def _run(self, numbers: Sequence[int]) -> None:
        """Start some steps."""
        if not numbers:
            return
        encoder = self._device.create_command_encoder()
        self._encode(encoder, numbers)
        self._device.queue.submit([encoder.finish()])

    def _encode(self, encoder: Any, numbers: Sequence[int], stamps: Stamps | None = None) -> None:
        """Record steps, in a new compute pass behind every copy."""
        parts: list[tuple[Sequence[_Copy], list[_Dispatch]]] = [((), [])]
        for number in numbers:
            for each in self._steps[number]:
                if each.copies:
                    parts.append((each.copies, []))
                parts[-1][1].append(each)
        for index, (copies, dispatches) in enumerate(parts):
            for copy in copies:
                place = copy.destination, copy.offset
                encoder.copy_buffer_to_buffer(copy.source, 0, *place, copy.nbytes)
            ends = index == len(parts) - 1
            writes = stamps and stamps.writes(begins=index == 0, ends=ends)
            compute = encoder.begin_compute_pass(timestamp_writes=writes)
            encode_launches(compute, [(d.pipeline, d.bindings, d.grid) for d in dispatches])
            compute.end()

    def _upload(self, inputs: Sequence[Array]) -> None:
        for array, port in zip(inputs, self.plan.inputs, strict=True):
            if array.nbytes:
                self._device.queue.write_buffer(
                    self._buffers[self._bound.numbers[port.buffer]], 0, _words(array)
                )

    def _encode_results(self, encoder: Any) -> list[int]:
        """Copy the results side by side to where the host can read them; returns where."""
        places, place = [], 0
        for port in self.plan.results:
            places.append(place)
            nbytes = whole_words(port.nbytes)
            if port.nbytes:
                source = self._buffers[self._bound.numbers[port.buffer]]
                encoder.copy_buffer_to_buffer(source, 0, self._staging, place, nbytes)
            place += -(-nbytes // 8) * 8
        return places

    def _download(self, outputs: Sequence[Array], places: Sequence[int]) -> None:
        with mapped_bytes(self._device, self._staging) as found:
            for array, place in zip(outputs, places, strict=True):
                array.reshape(-1).view(np.uint8)[:] = found[place : place + array.nbytes]

    def _make_staging(self) -> Any:
        nbytes = sum(-(-whole_words(port.nbytes) // 8) * 8 for port in self.plan.results)
        usage = self._wgpu.BufferUsage
        return self._device.create_buffer(
            size=max(nbytes, 8), usage=usage.MAP_READ | usage.COPY_DST
        )

    def _make_buffers(self, weights: Mapping[str, Array]) -> list[Any]:
        """Make all memory."""
        for buffer in self._bound.buffers:
            self._check_size(buffer.nbytes, buffer.what)
        found = []
        for buffer in self._bound.buffers:
            given = None if buffer.source is None else self.plan.buffers[buffer.source]
            source = None if given is None else contents(given, weights)
            found.append(self._make_buffer(buffer.nbytes, source))
        return found

    def _make_buffer(self, nbytes: int, source: Array | None = None) -> Any:
        usage = self._wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        if source is not None and source.nbytes:
            return self._device.create_buffer_with_data(data=_words(source), usage=flags)
        return self._device.create_buffer(size=whole_words(nbytes), usage=flags)

    def _check_size(self, nbytes: int, what: str) -> None:
        self._check(nbytes, what, self._opened.buffer_bytes, "has in one buffer")

    def _check_binding(self, nbytes: int, what: str) -> None:
        self._check(nbytes, what, self._opened.binding_bytes, "binds at once")

    def _check(self, nbytes: int, what: str, limit: int, does: str) -> None:
        if nbytes > limit:
            raise UnsupportedError(
                "webgpu-binding",
                f"'{what}' has {nbytes:,} bytes, and {limit:,} are what the GPU {does}",
                cause=f"the limit is that of {self._opened.name}",
                hint="use a GPU with a larger limit, or another target",
            )

    def _dispatches(self, number: int) -> list[_Dispatch]:
        kernel = self.plan.steps[number].kernel
        place, found = self._places[kernel], []
        for bound in self._bound.steps[number]:
            launch = bound.launch
            self._check_launch(launch, place)
            with named_errors("making a pipeline", place):
                layout = self._layout(launch.written)
                pipeline = self._pipeline(self._images[kernel].wgsl, launch.entry, layout)
                buffers = [self._buffers[each] for each in bound.buffers]
                for (_, nbytes), index in zip(bound.ranges, bound.buffers, strict=True):
                    self._check_binding(nbytes, self._bound.buffers[index].what)
                parts = enumerate(zip(buffers, bound.ranges, strict=True))
                entries = [
                    {"binding": index, "resource": {"buffer": each, "offset": start, "size": size}}
                    for index, (each, (start, size)) in parts
                ]
                bindings = self._device.create_bind_group(layout=layout, entries=entries)
            copies = tuple(
                _Copy(self._buffers[c.source], self._buffers[c.destination], c.offset, c.nbytes)
                for c in bound.copies
            )
            found.append(_Dispatch(pipeline, bindings, launch.grid, copies))
        return found

    def _check_launch(self, launch: ShaderLaunch, place: str) -> None:
        if len(launch.written) > self._opened.bindings:
            raise UnsupportedError(
                "webgpu-bindings",
                f"a kernel needs {len(launch.written)} buffers at once",
                place=place,
                cause=f"{self._opened.name} binds {self._opened.bindings}",
                hint="compile it with fuse=False, or use another target",
            )

    def _layout(self, written: tuple[bool, ...]) -> Any:
        """Return the layout of so many buffers, of which some are written."""
        found = self._layouts.get(written)
        if found is None:
            kinds = ("read-only-storage", "storage")
            stage = self._wgpu.ShaderStage.COMPUTE
            entries = [
                {"binding": number, "visibility": stage, "buffer": {"type": kinds[each]}}
                for number, each in enumerate(written)
            ]
            found = self._layouts[written] = self._device.create_bind_group_layout(entries=entries)
        return found

    def _pipeline(self, wgsl: str, entry: str, layout: Any) -> Any:
        found = self._pipelines.get((wgsl, entry))
        if found is None:
            module = self._modules.get(wgsl)
            if module is None:
                module = self._modules[wgsl] = shader_module(self._device, wgsl)
            found = self._pipelines[wgsl, entry] = self._device.create_compute_pipeline(
                layout=self._device.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={"module": module, "entry_point": entry},
            )
        return found


def _words(array: Array) -> Array:
    """Return an array's bytes, with zeros up to a whole word."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    missing = -flat.nbytes % WORD
    return np.concatenate([flat, np.zeros(missing, np.uint8)]) if missing else flat
