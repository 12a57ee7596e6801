# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reaches what wgpu's native library has beyond WebGPU, and wgpu's Python interface has not.

Where the library is another one, WebGPU's own way is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from xyntra.targets.webgpu.adapter import wgpu_module

__all__ = ["encode_launches", "mapped_bytes", "nanoseconds_of_a_tick", "shader_module"]

_PATIENCE = 60.0  # seconds for a callback that another thread has taken
_WAITING: list[Any] = []
"""Callbacks that may still be called."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

Launches = Sequence[tuple[Any, Any, tuple[int, int]]]
"""Pipelines, their bindings, and grids."""


def encode_launches(compute: Any, launches: Launches) -> None:
    """Record launches in a compute pass.

    wgpu's Python interface looks for errors after each call of the library, which takes longer than
    the calls; what is wrong with a command is reported when its encoder is finished, too.
    """
    try:
        from wgpu.backends.wgpu_native._api import ffi, lib

        taken = [(p._internal, b._internal, grid) for p, b, grid in launches]
        own, none = compute._internal, ffi.NULL
        set_pipeline = lib.wgpuComputePassEncoderSetPipeline
        set_bindings = lib.wgpuComputePassEncoderSetBindGroup
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
    except (ImportError, AttributeError):
        for pipeline, bindings, grid in launches:
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, bindings)
            compute.dispatch_workgroups(*grid)
        return
    for pipeline, bindings, (columns, rows) in taken:
        set_pipeline(own, pipeline)
        set_bindings(own, 0, bindings, 0, none)
        dispatch(own, columns, rows, 1)


def shader_module(device: Any, wgsl: str) -> Any:
    """Return a shader module whose code is run as it is.

    WebGPU confines the index of every access to its memory, and counts the iterations of every loop
    to end it one day: pages are not to be trusted. Kernels are, as those for other targets: no
    access of theirs is outside of its buffer, and all of their loops end.
    """
    found = _trusted(device, wgsl)
    return device.create_shader_module(code=wgsl) if found is None else found


def _trusted(device: Any, wgsl: str) -> Any | None:
    try:
        from wgpu.backends.wgpu_native import GPUShaderModule
        from wgpu.backends.wgpu_native._api import ffi, lib, libf, new_struct_p, to_c_string_view

        create, kind = libf.wgpuDeviceCreateShaderModuleTrusted, lib.WGPUSType_ShaderSourceWGSL
        own = device._internal
    except (ImportError, AttributeError):
        return None
    source = new_struct_p("WGPUShaderSourceWGSL *", code=to_c_string_view(wgsl))
    source[0].chain.next, source[0].chain.sType = ffi.NULL, kind
    chain = ffi.cast("WGPUChainedStruct *", source)
    label = to_c_string_view("")
    described = new_struct_p("WGPUShaderModuleDescriptor *", nextInChain=chain, label=label)
    module = create(own, described, 0)
    return None if module == ffi.NULL else GPUShaderModule("", module, device)


@contextmanager
def mapped_bytes(device: Any, buffer: Any) -> Iterator[Bytes]:
    """Map a buffer that is read by the host, once all that was submitted is done; give its bytes.

    wgpu's Python interface submits an empty command buffer ahead of that, and has another thread
    wait for the GPU, which takes longer than a small model.
    """
    try:
        from wgpu.backends.wgpu_native._api import ffi, from_c_string_view, lib, libf, new_struct

        own, mapped = device._internal, buffer._internal
        struct = new_struct(
            "WGPUBufferMapCallbackInfo", mode=lib.WGPUCallbackMode_AllowProcessEvents
        )
        start, poll, end = libf.wgpuBufferMapAsync, libf.wgpuDevicePoll, lib.wgpuBufferUnmap
        place = lib.wgpuBufferGetConstMappedRange
    except (ImportError, AttributeError):
        buffer.map_sync(wgpu_module().MapMode.READ)
        try:
            yield np.frombuffer(buffer.read_mapped(copy=False), np.uint8)
        finally:
            buffer.unmap()
        return
    told: list[tuple[int, str]] = []
    is_told = threading.Event()

    def tell(status: int, message: Any, _first: Any, _second: Any) -> None:
        told.append((status, from_c_string_view(message)))
        is_told.set()

    callback = ffi.callback("void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)", tell)
    struct.callback = callback
    _WAITING.append(callback)
    start(mapped, lib.WGPUMapMode_Read, 0, buffer.size, struct)
    poll(own, True, ffi.NULL)
    if not is_told.wait(_PATIENCE):
        raise RuntimeError("the GPU does not say whether it is done")
    _WAITING.remove(callback)
    status, message = told[0]
    if status != lib.WGPUMapAsyncStatus_Success:
        raise RuntimeError(f"the results could not be read: {message}")
    try:
        yield np.frombuffer(ffi.buffer(place(mapped, 0, buffer.size), buffer.size), np.uint8)
    finally:
        end(mapped)


def nanoseconds_of_a_tick(device: Any) -> float:
    """Return the unit of timestamps."""
    try:
        from wgpu.backends.wgpu_native._api import libf

        return float(libf.wgpuQueueGetTimestampPeriod(device.queue._internal)) or 1.0
    except (ImportError, AttributeError):
        return 1.0
