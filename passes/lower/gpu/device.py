# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of GPUs that code is generated for: what each has, and what its code may use.

Code that shares out work, or chooses tiles, asks the `GpuDevice` it is given, and nothing else,
for numbers of the hardware. Imports next to nothing: targets read the table when they parse their
names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import combinations

from xyntra.errors import ConfigError
from xyntra.passes.suggest import did_you_mean

__all__ = [
    "ADAPTERS",
    "DEFAULT",
    "DEVICES",
    "WEBGPU",
    "Feature",
    "GpuDevice",
    "device_of",
]


class Feature(Enum):
    """Hardware features that only some GPUs have. Without any of them code is of plain threads."""

    MMA = auto()
    """The threads of a warp multiply matrices together on tensor cores (`mma.sync`)."""
    FLOAT8 = auto()
    """Tensor cores multiply floats of 8 bits (e4m3, e5m2), and instructions convert them."""
    WGMMA = auto()
    """Warpgroups multiply matrices in shared memory (`wgmma`), which TMA copies there, and share
    out registers among them (`setmaxnreg`)."""
    CLUSTERS = auto()
    """Up to eight blocks run at once and reach each other's shared memory."""
    DEPENDENT_LAUNCH = auto()
    """A launch begins before the one ahead has ended, and waits by itself (`griddepcontrol`)."""
    ASYNC_COPIES = auto()
    """Copies to shared memory pass by the registers, and do not block their thread (`cp.async`)."""
    SUBGROUPS = auto()
    """Subgroups of a size that code does not know combine their values in one instruction."""
    SHADER_F16 = auto()
    """Memory has elements of f16, and instructions round to it (`shader-f16`)."""


@dataclass(frozen=True, kw_only=True)
class GpuDevice:
    """A GPU as code generation sees it.

    The words are CUDA's. Of a WebGPU adapter, a multiprocessor is a compute unit, a block a
    workgroup (`block_shared_bytes` is its maxComputeWorkgroupStorageSize), a warp a subgroup, and
    there are no features; what an adapter does not say (`multiprocessors`, and what one of them
    holds at once) is then that of the GPU that is counted on.

    Attributes:
        name: of the architecture, such as "sm_90a".
        target: whose emitters make its code: the folder beside this one with `emitters/table.py`.
        multiprocessors: that blocks are shared out among.
        block_shared_bytes: shared memory that one block may ask for.
        shared_bytes: shared memory of a multiprocessor.
        threads: that a multiprocessor holds at once at most.
        blocks: likewise.
        features: what code may use.
        ptx: LLVM's name of the first version of PTX that has the architecture; "" for none.
        capabilities: compute capabilities of the GPUs that are given code for the architecture.
        subgroup: threads that execute one instruction together, a power of two.
        block_threads: threads of a block at most.
        static_bytes: shared memory of a block that its code declares, at most.
        grid: blocks of a launch at most.
        views_bytes: one buffer may hold elements of several types.
        compact_code: code is compiled where it runs, by compilers that take long for what is
            unrolled, so that loops remain where they cost little.
        shuffles: the threads of a warp exchange values without shared memory.
        vector_memory: a thread accesses several contiguous elements at once only where memory is
            declared as vectors, and these are accessed whole.
        warps_alone: the threads of a warp exchange values whether or not the other warps of their
            block do.
        registers: of 32 bits, of a multiprocessor.
        partitions: of a multiprocessor: each has its share of the registers, and of the warps.
        registers_unit: registers that a warp is given a multiple of.
        reserved_bytes: shared memory that the system takes for each block.
        shared_unit: bytes of shared memory that a block is given a multiple of.
        written_buffers: that launches which share nothing may write to together.
        tile_rows: of the smallest tiles of products, where blocks are few.
        unrolled_steps: of a reduction in large tiles, which code has one after the other.
        cached_scores: of an attention, up to which matrices of them are faster than none, since
            they stay in caches.
    """

    name: str
    target: str = "cuda"
    multiprocessors: int
    block_shared_bytes: int
    shared_bytes: int
    threads: int
    blocks: int
    features: frozenset[Feature] = frozenset()
    ptx: str = ""
    capabilities: tuple[tuple[int, int], ...] = ()
    subgroup: int = 32
    block_threads: int = 1024
    static_bytes: int = 48 << 10
    grid: int = (1 << 31) - 1
    views_bytes: bool = True
    compact_code: bool = False
    shuffles: bool = True
    vector_memory: bool = False
    warps_alone: bool = True
    registers: int = 1 << 16
    partitions: int = 4
    registers_unit: int = 256
    reserved_bytes: int = 1 << 10
    shared_unit: int = 128
    written_buffers: int = 64
    tile_rows: int = 32
    unrolled_steps: int = 4
    cached_scores: int = 1 << 18

    def has(self, feature: Feature) -> bool:
        """Tell whether code may use `feature`."""
        return feature in self.features

    def without(self, *features: Feature) -> GpuDevice:
        """Return the device without some features, whether or not it has them."""
        return replace(self, features=self.features.difference(features))

    def resident(self, threads: int, shared: int, registers: int) -> int:
        """Return how many blocks one multiprocessor holds at once; 0 where none can be launched.

        Args:
            threads: of a block.
            shared: bytes of shared memory of a block.
            registers: of a thread.
        """
        return min(self.block_limits(threads, shared, registers).values())

    def block_limits(self, threads: int, shared: int, registers: int) -> dict[str, int]:
        """Return how many blocks each resource of a multiprocessor is enough for.

        Registers are given to warps, and a warp stays in its partition (CUDA C++ Programming Guide,
        "Hardware Multithreading"). Arguments as for `resident`.
        """
        warps = -(-threads // self.subgroup)
        each = _rounded_up(registers * self.subgroup, self.registers_unit)
        of_partition = self.registers // self.partitions // max(each, 1)
        reserved = _rounded_up(shared + self.reserved_bytes, self.shared_unit)
        fits = shared <= self.block_shared_bytes
        return {
            "registers": of_partition * self.partitions // warps if registers else self.blocks,
            "shared memory": self.shared_bytes // reserved if fits else 0,
            "warps": self.threads // self.subgroup // warps,
            "blocks": self.blocks,
        }


def _rounded_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


_WARPS = frozenset({Feature.MMA, Feature.ASYNC_COPIES})
_CLUSTERS = _WARPS | {Feature.FLOAT8, Feature.CLUSTERS, Feature.DEPENDENT_LAUNCH}
_TABLE = (
    # A100
    GpuDevice(
        name="sm_80",
        multiprocessors=108,
        block_shared_bytes=163 << 10,
        shared_bytes=164 << 10,
        threads=2048,
        blocks=32,
        features=_WARPS,
        ptx="ptx70",
        capabilities=((8, 0),),
    ),
    # A40; GPUs of capability 8.7 have more shared memory, and run the same code
    GpuDevice(
        name="sm_86",
        multiprocessors=84,
        block_shared_bytes=99 << 10,
        shared_bytes=100 << 10,
        threads=1536,
        blocks=16,
        features=_WARPS,
        ptx="ptx71",
        capabilities=((8, 6), (8, 7)),
    ),
    # L40S
    GpuDevice(
        name="sm_89",
        multiprocessors=142,
        block_shared_bytes=99 << 10,
        shared_bytes=100 << 10,
        threads=1536,
        blocks=24,
        features=_WARPS | {Feature.FLOAT8},
        ptx="ptx78",
        capabilities=((8, 9),),
    ),
    # H100 SXM, in what later GPUs run, too: GPUs of capability 9.0 are given sm_90a
    GpuDevice(
        name="sm_90",
        multiprocessors=132,
        block_shared_bytes=227 << 10,
        shared_bytes=228 << 10,
        threads=2048,
        blocks=32,
        features=_CLUSTERS,
        ptx="ptx80",
    ),
    # H100 SXM
    GpuDevice(
        name="sm_90a",
        multiprocessors=132,
        block_shared_bytes=227 << 10,
        shared_bytes=228 << 10,
        threads=2048,
        blocks=32,
        features=_CLUSTERS | {Feature.WGMMA},
        ptx="ptx80",
        capabilities=((9, 0),),
    ),
    # B200
    GpuDevice(
        name="sm_100a",
        multiprocessors=148,
        block_shared_bytes=227 << 10,
        shared_bytes=228 << 10,
        threads=2048,
        blocks=32,
        features=_CLUSTERS,
        ptx="ptx86",
        capabilities=((10, 0),),
    ),
    # RTX PRO 6000 Blackwell Server Edition
    GpuDevice(
        name="sm_120",
        multiprocessors=188,
        block_shared_bytes=99 << 10,
        shared_bytes=100 << 10,
        threads=1536,
        blocks=24,
        features=_CLUSTERS,
        ptx="ptx87",
        capabilities=((12, 0),),
    ),
)
WEBGPU = GpuDevice(
    name="webgpu",
    target="webgpu",
    multiprocessors=32,
    block_shared_bytes=16 << 10,
    shared_bytes=64 << 10,
    threads=1024,
    blocks=16,
    block_threads=256,
    static_bytes=16 << 10,
    views_bytes=False,
    compact_code=True,
    shuffles=False,
    vector_memory=True,
    warps_alone=False,
    written_buffers=7,
)
"""A GPU of which nothing is known but what WebGPU promises of every one ("Limits"). It has no
subgroups: warps are of 32 threads that exchange values in workgroup memory. Of eight buffers, one
holds what is read."""
_WEBGPU_DISCRETE = replace(
    WEBGPU,
    name="webgpu-discrete",
    multiprocessors=128,
    block_shared_bytes=32 << 10,
    shared_bytes=100 << 10,
    threads=1536,
    static_bytes=32 << 10,
    tile_rows=16,
    unrolled_steps=16,
    cached_scores=1 << 16,
)
"""A graphics card of its own: work is shared out among many compute units, and a workgroup has the
memory that all such cards give it."""


def _with_features(device: GpuDevice) -> Iterator[GpuDevice]:
    """Yield a device with each combination of the features that an adapter may have."""
    kinds = {"-subgroups": Feature.SUBGROUPS, "-f16": Feature.SHADER_F16}
    for count in range(len(kinds) + 1):
        for names in combinations(kinds, count):
            features = frozenset(kinds[name] for name in names)
            yield replace(device, name="".join([device.name, *names]), features=features)


ADAPTERS = {
    each.name: each for device in (WEBGPU, _WEBGPU_DISCRETE) for each in _with_features(device)
}
"""Kinds of adapters of WebGPU; code for the first runs on every one."""
DEFAULT = "sm_90a"
"""The device that passes have in mind where they are not told one."""
DEVICES = {each.name: each for each in _TABLE}
"""The architectures that code is generated for, each as its largest part for data centres has it.

Shared memory, threads, blocks and registers: CUDA C++ Programming Guide, "Technical Specifications
per Compute Capability". Features: PTX ISA, "Target ISA Notes" of each instruction. Multiprocessors:
data sheets; other parts of an architecture have more or fewer and run the same code, which shares
out work as for the part that is named.
"""


def device_of(architecture: str) -> GpuDevice:
    """Return what is known of an architecture.

    Raises:
        ConfigError: it is none of `DEVICES`.
    """
    if architecture in ADAPTERS:
        return ADAPTERS[architecture]
    if architecture not in DEVICES:
        hint = did_you_mean(architecture, DEVICES, f"there are {', '.join(DEVICES)}")
        raise ConfigError("unknown-device", f"there is no GPU '{architecture}'", hint=hint)
    return DEVICES[architecture]
