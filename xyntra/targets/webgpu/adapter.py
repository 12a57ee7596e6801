# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opens GPUs through wgpu, and names what goes wrong on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xyntra.errors import DeviceError, MissingExtraError, XyntraError
from xyntra.passes.lower.gpu.device import ADAPTERS, WEBGPU, Feature, GpuDevice

__all__ = [
    "Adapter",
    "OpenDevice",
    "adapters",
    "architecture_in",
    "architecture_of",
    "describe",
    "missing",
    "named_errors",
    "open_device",
    "wgpu_module",
]

_WORKGROUP_MEMORY = "max-compute-workgroup-storage-size"
_LIMITS = (
    "max-storage-buffers-per-shader-stage",
    "max-storage-buffer-binding-size",
    "max-buffer-size",
    _WORKGROUP_MEMORY,
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
)
_TIMES = "timestamp-query"
FEATURES = {Feature.SUBGROUPS: "subgroup", Feature.SHADER_F16: "shader-f16"}
"""What wgpu calls features that code may use."""
_INTERFACES = ("Vulkan", "Metal", "DX12")
"""OpenGL misses parts of WebGPU, and some of its drivers on Linux give their LLVM to the whole
process, where the LLVM of MLIR finds it and aborts."""


@dataclass(frozen=True)
class Adapter:
    """A GPU that wgpu finds, as other devices are described.

    Attributes:
        name: what its driver calls it.
        cores: WebGPU does not say how many there are.
        vector_bits: of what every adapter loads at once.
        summary: with the kind of the adapter, and the interface that it is reached by.
    """

    name: str
    summary: str
    cores: int = 1
    vector_bits: int = 128


@dataclass(frozen=True)
class OpenDevice:
    """A GPU that can be used.

    Attributes:
        device: wgpu's.
        name: of the adapter.
        binding_bytes: that one binding may have at most.
        buffer_bytes: that one buffer may have at most.
        bindings: storage buffers that a pipeline may have.
        has_times: whether it measures the time of passes.
        workgroup_bytes: memory of a workgroup.
        features: that code may use, as wgpu calls them.
    """

    device: Any
    name: str
    binding_bytes: int
    buffer_bytes: int
    bindings: int
    has_times: bool
    workgroup_bytes: int
    features: frozenset[str]


def wgpu_module() -> Any:
    """Return wgpu.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import wgpu
    except ImportError:
        raise MissingExtraError.for_extra(
            "webgpu", "wgpu", purpose="running a model on the target 'webgpu'"
        ) from None
    return wgpu


def adapters() -> list[Any]:
    """Return the adapters of this machine, GPUs before what computes on the processor.

    Raises:
        DeviceError: `webgpu-adapter`, the system's graphics drivers cannot be asked.
        MissingExtraError: wgpu is not installed.
    """
    wgpu = wgpu_module()
    _choose_interfaces()
    try:
        found = wgpu.gpu.enumerate_adapters_sync()
    except Exception as error:
        raise _no_adapter(str(error)) from error
    return sorted(found, key=_rank)


@lru_cache(maxsize=1)
def _choose_interfaces() -> None:
    """Ask wgpu for what runs WebGPU whole, unless the program has started it already."""
    from wgpu.backends.wgpu_native.extras import set_instance_extras

    with suppress(RuntimeError):
        set_instance_extras(backends=_INTERFACES)


def describe(adapter: Any) -> Adapter:
    """Return what users are told of an adapter."""
    info = adapter.info
    name = str(info.get("device", "")) or "GPU"
    kind, interface = info.get("adapter_type", ""), info.get("backend_type", "")
    return Adapter(name, f"{name} ({kind}, {interface})")


def architecture_in(machine_key: str) -> str:
    """Return the architecture that a key of the machines for some code names."""
    return machine_key.rpartition(";")[2]


def architecture_of(adapter: Any) -> str:
    """Return the name of the device that suits an adapter best, of those it can run code for."""
    is_discrete = str(adapter.info.get("adapter_type", "")) == "DiscreteGPU"
    memory = adapter.limits[_WORKGROUP_MEMORY]
    found = [each for each in ADAPTERS.values() if not missing(each, memory, adapter.features)]
    found = [each for each in found if is_discrete or each.static_bytes == WEBGPU.static_bytes]
    return max(found, key=lambda each: (each.static_bytes, len(each.features))).name


def missing(device: GpuDevice, memory: int, features: Collection[str]) -> str:
    """Return what an adapter lacks for code of a device; "" where it lacks nothing.

    Args:
        device: that the code is for.
        memory: bytes of a workgroup that the adapter has.
        features: of the adapter, as wgpu calls them.
    """
    if device.static_bytes > memory:
        return f"{device.static_bytes:,} bytes of memory in a workgroup"
    lacks = [FEATURES[each] for each in device.features if FEATURES[each] not in features]
    return ", ".join(sorted(lacks))


def _rank(adapter: Any) -> int:
    order = ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "CPU")
    kind = str(adapter.info.get("adapter_type", ""))
    # A program that started wgpu itself may have chosen it.
    last = len(order) + 1 if str(adapter.info.get("backend_type", "")) == "OpenGL" else 0
    return last + (order.index(kind) if kind in order else len(order))


@lru_cache(maxsize=8)
def open_device(ordinal: int = 0) -> OpenDevice:
    """Open an adapter, once.

    Args:
        ordinal: its number among `adapters`.

    Raises:
        DeviceError: `webgpu-adapter`, there is none, or not as many; `webgpu-device`, it does not
            open.
        MissingExtraError: wgpu is not installed.
    """
    found = adapters()
    if ordinal >= len(found):
        raise _no_adapter(f"this machine has {len(found)} of them, and number {ordinal} is wanted")
    adapter = found[ordinal]
    name = str(adapter.info.get("device", "")) or "GPU"
    limits = {each: adapter.limits[each] for each in _LIMITS}
    features = {_TIMES, *FEATURES.values()} & set(adapter.features)
    try:
        device = adapter.request_device_sync(
            required_features=sorted(features), required_limits=limits
        )
    except Exception as error:
        message = f"the GPU '{name}' cannot be opened"
        raise DeviceError("webgpu-device", message, cause=str(error)) from error
    return OpenDevice(
        device,
        name,
        limits["max-storage-buffer-binding-size"],
        limits["max-buffer-size"],
        limits["max-storage-buffers-per-shader-stage"],
        _TIMES in features,
        limits[_WORKGROUP_MEMORY],
        frozenset(features),
    )


def _no_adapter(cause: str) -> DeviceError:
    return DeviceError(
        "webgpu-adapter",
        "there is no GPU for the target 'webgpu'",
        cause=cause,
        hint="install a Vulkan, Metal or Direct3D driver; Mesa's lavapipe computes on the processor"
        " (Debian's package mesa-vulkan-drivers)",
    )


@contextmanager
def named_errors(during: str, place: str | None = None) -> Iterator[None]:
    """Turn wgpu's errors into ours.

    Args:
        during: what is done, for the message.
        place: the kernel that it is about.

    Raises:
        DeviceError: `webgpu-memory`, `webgpu-validation` or `webgpu-failed`.
    """
    try:
        yield
    except XyntraError:
        raise
    except Exception as error:
        kind = type(error).__name__
        hint = None
        if "OutOfMemory" in kind or "out of memory" in str(error).lower():
            code, message = "webgpu-memory", f"the GPU ran out of memory while {during}"
            hint = "give the model smaller inputs, or free what else uses the GPU"
        elif "Validation" in kind:
            code, message = "webgpu-validation", f"wgpu refused something while {during}"
            hint = "please report this with the model"
        else:
            code, message = "webgpu-failed", f"the GPU failed while {during}"
            hint = "call the model again: the GPU is opened anew, and the weights are copied there"
        cause = f"{kind}: {error}"
        raise DeviceError(code, message, place=place, cause=cause, hint=hint) from error
