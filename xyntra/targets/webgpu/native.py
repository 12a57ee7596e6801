# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reaches what wgpu's native library has beyond WebGPU, and wgpu's Python interface has not.

Where the library is another one, WebGPU's own way is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["encode_launches", "nanoseconds_of_a_tick", "shader_module"]

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


def nanoseconds_of_a_tick(device: Any) -> float:
    """Return the unit of timestamps."""
    try:
        from wgpu.backends.wgpu_native._api import libf

        return float(libf.wgpuQueueGetTimestampPeriod(device.queue._internal)) or 1.0
    except (ImportError, AttributeError):
        return 1.0
