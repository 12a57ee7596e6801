# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the targets, and finds the backend of one by what a user, a kernel or a file says.

A backend is loaded with the first model that asks for it; the table itself imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from xyntra.errors import UnsupportedError

if TYPE_CHECKING:
    from xyntra.passes.targets.table import TargetName
    from xyntra.targets.base import Backend

__all__ = [
    "CODE_LEVELS",
    "TARGETS",
    "TargetEntry",
    "backend_for",
    "backend_named",
    "backend_of",
    "backends",
    "entry_for",
]


@dataclass(frozen=True, kw_only=True)
class TargetEntry:
    """A target, as far as it is known before its backend is loaded.

    Attributes:
        title: what its kernels are for, in words.
        module: defines `BACKEND`.
        architectures: what the names of its architectures begin with; "" for the only target
            whose architecture is that of this machine.
        levels: of its kernels below functions on tensors, from the top down.
        assembly: the one of them whose text is no MLIR; "" for none.
        has_llvm: whether its kernels have LLVM IR.
        precisions: that models of f32 may be computed, or their weights stored, in.
        usage: how the command line asks for it, where the machine may have no such device.
    """

    title: str
    module: str
    architectures: str
    levels: tuple[str, ...]
    assembly: str = ""
    has_llvm: bool = True
    precisions: tuple[str, ...] = ("f32",)
    usage: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The levels below kernel functions that its kernels have text at."""
        return (*self.levels, "llvm") if self.has_llvm else self.levels


TARGETS: dict[TargetName, TargetEntry] = {
    "cpu": TargetEntry(
        title="CPUs",
        module="xyntra.targets.cpu.backend",
        architectures="",
        levels=("stages",),
        precisions=("f32", "f16", "bf16", "int8", "w8", "w4", "w4a8"),
        usage="--target cpu",
    ),
    "cuda": TargetEntry(
        title="NVIDIA GPUs",
        module="xyntra.targets.cuda.backend",
        architectures="sm_",
        levels=("stages", "gpu", "nvvm", "ptx"),
        assembly="ptx",
        precisions=("f32", "tf32", "f16", "bf16", "int8", "fp8", "w8", "w4"),
        usage="--target cuda, or --target cuda:sm_90a where there is no GPU",
    ),
    "webgpu": TargetEntry(
        title="GPUs behind WebGPU",
        module="xyntra.targets.webgpu.backend",
        architectures="webgpu",
        levels=("stages", "gpu", "spirv", "wgsl"),
        assembly="wgsl",
        has_llvm=False,
        usage="--target webgpu, which needs no GPU to write text",
    ),
}
DEFAULT: TargetName = "cpu"
CODE_LEVELS = tuple(dict.fromkeys(level for entry in TARGETS.values() for level in entry.levels))
"""The levels below kernel functions, whose text is code, of all targets from the top down."""


@lru_cache(maxsize=8)
def _backend(name: TargetName) -> Backend:
    backend: Backend = import_module(TARGETS[name].module).BACKEND
    return backend


def backends() -> Iterator[Backend]:
    """Load and yield the backend of every target."""
    yield from map(_backend, TARGETS)


def backend_named(target: str) -> Backend:
    """Return the backend of what a user calls "cuda", "cuda:1" or "cuda:sm_90a"; "auto" is one.

    Raises:
        UnsupportedError: `target-unsupported`, there is no such target.
    """
    wanted = DEFAULT if target == "auto" else target.partition(":")[0]
    for name in TARGETS:
        if name == wanted:
            return _backend(name)
    *names, last = ("auto", *TARGETS)
    raise UnsupportedError(
        "target-unsupported",
        f"target '{target}' is not supported",
        hint=f"the targets are {', '.join(names)} and {last}",
    )


def entry_for(architecture: str) -> TargetEntry:
    """Return the entry of the target that an architecture is of; "" is this processor."""
    return TARGETS[_name_for(architecture)]


def backend_for(architecture: str) -> Backend:
    """Return the backend of an architecture; "" is this processor."""
    return _backend(_name_for(architecture))


def backend_of(machine_key: str) -> Backend:
    """Return the backend that says `machine_key` of the machines that its code runs on."""
    wanted = machine_key.partition(";")[0]
    return next((_backend(name) for name in TARGETS if name == wanted), _backend(DEFAULT))


def _name_for(architecture: str) -> TargetName:
    for name, entry in TARGETS.items():
        prefix = entry.architectures
        if architecture.startswith(prefix) if prefix else not architecture:
            return name
    raise UnsupportedError("target-unsupported", f"no target has '{architecture}'")
