# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of a program that lives on a GPU: pipelines, weights, buffers and bindings."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.errors import CompileError, UnsupportedError
from xyntra.plan.artifact import Artifact
from xyntra.plan.memory import Lifetime
from xyntra.plan.plan import Plan
from xyntra.plan.stored import contents
from xyntra.targets.webgpu.adapter import OpenDevice, named_errors, wgpu_module
from xyntra.targets.webgpu.buffer_pool import share_buffers
from xyntra.targets.webgpu.code.shader_image import ShaderImage, ShaderLaunch
from xyntra.targets.webgpu.native import nanoseconds_of_a_tick, shader_module

__all__ = ["LoadedShaders"]

Array = np.ndarray[Any, Any]
_WORD = 4


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
        self._images = _images(artifact)
        self._places = _places(self.plan)
        self._pipelines: dict[tuple[str, str], Any] = {}
        self._modules: dict[str, Any] = {}
        self._layouts: dict[tuple[bool, ...], Any] = {}
        with named_errors("loading the model"):
            self._buffers = self._make_buffers(weights)
        self._steps = [self._dispatches(number) for number in range(len(self.plan.steps))]
        with named_errors("loading the model"):
            self._staging = self._make_staging()
            self._staged = self._make_buffer(_WORD)
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
        """Run once, step by step; return each step's nanoseconds, zero for those of the load."""
        times = [0] * len(self.plan.steps)
        with named_errors("running the model"):
            self._upload(inputs)
            for number, step in enumerate(self.plan.steps):
                if not step.once:
                    times[number] = self._timed(number)
            encoder = self._device.create_command_encoder()
            places = self._encode_results(encoder)
            self._device.queue.submit([encoder.finish()])
            self._download(outputs, places)
        return times

    def _timed(self, number: int) -> int:
        """Run a step, measured on the GPU where that can be, else by its clock."""
        if not self._opened.has_times:
            start = time.perf_counter_ns()
            self._run([number])
            self._device.queue.read_buffer(self._staged, 0, _WORD)  # once all is done
            return time.perf_counter_ns() - start
        device, usage = self._device, self._wgpu.BufferUsage
        queries = device.create_query_set(type="timestamp", count=2)
        resolved = device.create_buffer(size=16, usage=usage.QUERY_RESOLVE | usage.COPY_SRC)
        encoder = device.create_command_encoder()
        writes = {
            "query_set": queries,
            "beginning_of_pass_write_index": 0,
            "end_of_pass_write_index": 1,
        }
        self._encode(encoder, [number], timestamp_writes=writes)
        encoder.resolve_query_set(queries, 0, 2, resolved, 0)
        device.queue.submit([encoder.finish()])
        start, end = np.frombuffer(device.queue.read_buffer(resolved), np.uint64)
        return round((int(end) - int(start)) * nanoseconds_of_a_tick(device))

    def _run(self, numbers: Sequence[int]) -> None:
        """Start some steps."""
        if not numbers:
            return
        encoder = self._device.create_command_encoder()
        self._encode(encoder, numbers)
        self._device.queue.submit([encoder.finish()])

    def _encode(self, encoder: Any, numbers: Sequence[int], **given: Any) -> None:
        compute = encoder.begin_compute_pass(**given)
        for number in numbers:
            for each in self._steps[number]:
                if each.copies:
                    compute.end()
                    for copy in each.copies:
                        place = copy.destination, copy.offset
                        encoder.copy_buffer_to_buffer(copy.source, 0, *place, copy.nbytes)
                    compute = encoder.begin_compute_pass(**given)
                compute.set_pipeline(each.pipeline)
                compute.set_bind_group(0, each.bindings)
                compute.dispatch_workgroups(*each.grid)
        compute.end()

    def _upload(self, inputs: Sequence[Array]) -> None:
        for array, port in zip(inputs, self.plan.inputs, strict=True):
            if array.nbytes:
                self._device.queue.write_buffer(
                    self._buffers["buffer", port.buffer], 0, _words(array)
                )

    def _encode_results(self, encoder: Any) -> list[int]:
        """Copy the results side by side to where the host can read them; returns where."""
        places, place = [], 0
        for port in self.plan.results:
            places.append(place)
            nbytes = _rounded(port.nbytes)
            if port.nbytes:
                source = self._buffers["buffer", port.buffer]
                encoder.copy_buffer_to_buffer(source, 0, self._staging, place, nbytes)
            place += -(-nbytes // 8) * 8
        return places

    def _download(self, outputs: Sequence[Array], places: Sequence[int]) -> None:
        self._staging.map_sync(self._wgpu.MapMode.READ)
        try:
            for array, place in zip(outputs, places, strict=True):
                if array.nbytes:
                    data = self._staging.read_mapped(place, _rounded(array.nbytes), copy=False)
                    bytes_ = np.frombuffer(data, np.uint8, array.nbytes)
                    array.reshape(-1).view(np.uint8)[:] = bytes_
                    del bytes_, data
        finally:
            self._staging.unmap()

    def _make_staging(self) -> Any:
        nbytes = sum(-(-_rounded(port.nbytes) // 8) * 8 for port in self.plan.results)
        usage = self._wgpu.BufferUsage
        return self._device.create_buffer(
            size=max(nbytes, 8), usage=usage.MAP_READ | usage.COPY_DST
        )

    def _make_buffers(self, weights: Mapping[str, Array]) -> dict[Hashable, Any]:
        """Make what is bound, by ("buffer", number) and ("scratch", step, slot)."""
        found: dict[Hashable, Any] = {}
        for number, buffer in enumerate(self.plan.buffers):
            if buffer.kind == "temporary":
                continue
            self._check_size(buffer.nbytes, buffer.name or "a tensor")
            source = contents(buffer, weights)
            found["buffer", number] = self._make_buffer(buffer.nbytes, source)
        lives = self._lives()
        for key, life in lives.items():
            self._check_size(life.nbytes, f"a temporary tensor of {key}")
        pool = share_buffers(lives)
        made = [self._make_buffer(size) for size in pool.sizes]
        found.update({key: made[number] for key, number in pool.numbers.items()})
        return found

    def _make_buffer(self, nbytes: int, source: Array | None = None) -> Any:
        usage = self._wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        if source is not None and source.nbytes:
            return self._device.create_buffer_with_data(data=_words(source), usage=flags)
        return self._device.create_buffer(size=_rounded(nbytes), usage=flags)

    def _lives(self) -> dict[Hashable, Lifetime]:
        lives: dict[Hashable, Lifetime] = {}
        uses: dict[int, list[int]] = {}
        for index, step in enumerate(self.plan.steps):
            for buffer in (*step.inputs, *step.outputs):
                if self.plan.buffers[buffer].kind == "temporary":
                    uses.setdefault(buffer, []).append(index)
            for slot, nbytes in enumerate(self._images[step.kernel].scratch):
                lives["scratch", index, slot] = Lifetime(nbytes, index, index)
        for buffer, steps in uses.items():
            nbytes = self.plan.buffers[buffer].nbytes
            lives["buffer", buffer] = Lifetime(nbytes, steps[0], steps[-1])
        return lives

    def _check_size(self, nbytes: int, what: str) -> None:
        limit = min(self._opened.binding_bytes, self._opened.buffer_bytes)
        if nbytes > limit:
            raise UnsupportedError(
                "webgpu-binding",
                f"'{what}' has {nbytes:,} bytes, and the GPU binds {limit:,} at once",
                cause=f"the limit is that of {self._opened.name}",
                hint="use a GPU with a larger limit, or another target",
            )

    def _dispatches(self, number: int) -> list[_Dispatch]:
        step = self.plan.steps[number]
        image, place = self._images[step.kernel], self._places[step.kernel]
        keys: list[Hashable] = [("buffer", each) for each in self.plan.argument_buffers(step)]
        keys += [("scratch", number, slot) for slot in range(len(image.scratch))]
        found = []
        for launch in image.launches:
            self._check_launch(launch, len(keys), place)
            with named_errors("making a pipeline", place):
                layout = self._layout(launch.written)
                pipeline = self._pipeline(image.wgsl, launch.entry, layout)
                buffers = [self._buffers[keys[each]] for each in launch.buffers]
                copies = self._copies(launch, [self._buffers[key] for key in keys])
                buffers += [copy.destination for copy in copies[:1]]
                entries = [
                    {"binding": index, "resource": {"buffer": each, "offset": 0, "size": each.size}}
                    for index, each in enumerate(buffers)
                ]
                bindings = self._device.create_bind_group(layout=layout, entries=entries)
            found.append(_Dispatch(pipeline, bindings, launch.grid, copies))
        return found

    def _copies(self, launch: ShaderLaunch, given: Sequence[Any]) -> tuple[_Copy, ...]:
        """Make the buffer that a launch reads several from; returns how it is filled."""
        if not launch.packed:
            return ()
        sources = [given[pointer] for pointer, _ in launch.packed]
        starts = [_WORD * start for _, start in launch.packed]
        ends = [*starts[1:], starts[-1] + sources[-1].size]
        self._check_size(ends[-1], "a copy of several tensors")
        whole = self._make_buffer(ends[-1])
        parts = zip(sources, starts, ends, strict=True)
        return tuple(
            _Copy(source, whole, start, min(end - start, source.size))
            for source, start, end in parts
        )

    def _check_launch(self, launch: ShaderLaunch, buffers: int, place: str) -> None:
        pointers = [*launch.buffers, *(pointer for pointer, _ in launch.packed)]
        starts = [start for _, start in launch.packed]
        if any(not 0 <= each < buffers for each in pointers) or min(starts, default=0) < 0:
            raise CompileError(
                "webgpu-code", "a kernel is given what it does not have", place=place
            )
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


def _images(artifact: Artifact) -> dict[str, ShaderImage]:
    found = {}
    for name, code in artifact.objects.items():
        try:
            found[name] = ShaderImage.from_bytes(code)
        except (KeyError, TypeError, ValueError) as error:
            message = f"the code of kernel '{name}' is damaged"
            raise CompileError("webgpu-code", message, cause=str(error)) from error
    return found


def _places(plan: Plan) -> dict[str, str]:
    """Return, for every kernel, its name and the source nodes that it holds."""
    nodes: dict[str, list[str]] = {}
    for step in plan.steps:
        nodes.setdefault(step.kernel, []).extend(step.nodes)
    return {
        name: f"kernel '{name}' ({', '.join(dict.fromkeys(found)) or 'no nodes'})"
        for name, found in nodes.items()
    }


def _rounded(nbytes: int) -> int:
    """Return the bytes of whole words, one at least."""
    return max(_WORD, -(-nbytes // _WORD) * _WORD)


def _words(array: Array) -> Array:
    """Return an array's bytes, with zeros up to a whole word."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    missing = -flat.nbytes % _WORD
    return np.concatenate([flat, np.zeros(missing, np.uint8)]) if missing else flat
