# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opens GPUs through wgpu, and names what goes wrong on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xyntra.errors import DeviceError, MissingExtraError, XyntraError
from xyntra.passes.lower.gpu.device import WEBGPU, WEBGPU_DISCRETE

__all__ = [
    "Adapter",
    "OpenDevice",
    "adapters",
    "architecture_of",
    "describe",
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
    """

    device: Any
    name: str
    binding_bytes: int
    buffer_bytes: int
    bindings: int
    has_times: bool


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


def architecture_of(adapter: Any) -> str:
    """Return the name of the device that suits an adapter best, of those it can run code for."""
    is_discrete = str(adapter.info.get("adapter_type", "")) == "DiscreteGPU"
    has_memory = adapter.limits[_WORKGROUP_MEMORY] >= WEBGPU_DISCRETE.static_bytes
    return (WEBGPU_DISCRETE if is_discrete and has_memory else WEBGPU).name


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
    has_times = _TIMES in adapter.features
    try:
        device = adapter.request_device_sync(
            required_features=[_TIMES] if has_times else [], required_limits=limits
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
        has_times,
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
