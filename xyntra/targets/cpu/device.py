# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes the processor of this process: vector registers, instructions, cores and caches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from xyntra.targets.host import allowed_processors
from xyntra.targets.llvm_backend import llvm

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# With these, LLVM's selection of instructions for bfloat and half fails an assertion.
_UNSAFE = frozenset({"avx512bf16", "avx512fp16", "avxneconvert"})
_DEFAULT_CACHE = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}  # bytes, where the system tells nothing


@dataclass(frozen=True)
class CpuDevice:
    """A processor.

    Attributes:
        name: LLVM's name of the microarchitecture, such as `znver3`.
        triple: LLVM's target triple of this process.
        features: LLVM's feature string, `+avx2,-avx512f,…`.
        vector_bits: width of the widest vector register that LLVM may use.
        vector_registers: how many of them there are.
        dot_products: instructions for products of narrow integers: `none`, `pmaddwd` or `vnni`.
        cores: processors that this process may run on.
        l1_bytes, l2_bytes, l3_bytes: data cache sizes; l1 and l2 are those of one core.
    """

    name: str
    triple: str
    features: str
    vector_bits: int
    vector_registers: int
    dot_products: str
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int

    def __repr__(self) -> str:
        return f"<cpu: {self.summary}>"

    @property
    def summary(self) -> str:
        """Return what it is, on one line without the list of features."""
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        caches = [_size(size) for size in (self.l1_bytes, self.l2_bytes, self.l3_bytes)]
        vectors = f"{self.vector_bits}-bit vectors"
        return f"{self.name}, {cores}, {vectors}, L1 {caches[0]}, L2 {caches[1]}, L3 {caches[2]}"


@lru_cache(maxsize=1)
def host_device() -> CpuDevice:
    """Return the processor of this process."""
    binding = llvm()
    features = binding.get_host_cpu_features()
    features.update(dict.fromkeys(features.keys() & _UNSAFE, False))
    bits, registers = _vector_unit(features)
    caches = _cache_sizes()
    return CpuDevice(
        name=binding.get_host_cpu_name(),
        triple=binding.get_process_triple(),
        features=features.flatten(),
        vector_bits=bits,
        vector_registers=registers,
        dot_products=_dot_products(features),
        cores=allowed_processors(),
        l1_bytes=caches[1],
        l2_bytes=caches[2],
        l3_bytes=caches[3],
    )


def _vector_unit(features: dict[str, bool]) -> tuple[int, int]:
    if features.get("avx512f") and features.get("avx512vl"):
        return 512, 32
    if features.get("avx"):
        return 256, 16
    return 128, 32 if features.get("neon") else 16


def _dot_products(features: dict[str, bool]) -> str:
    if features.get("avx512f") and features.get("avx512vl"):
        if features.get("avx512vnni"):
            return "vnni"
        return "pmaddwd" if features.get("avx512bw") else "none"
    if features.get("avxvnni"):
        return "vnni"
    # With AVX alone, vectors of integers have half the width of those of floats.
    return "pmaddwd" if features.get("avx2" if features.get("avx") else "sse2") else "none"


def _cache_sizes() -> dict[int, int]:
    sizes = dict(_DEFAULT_CACHE)
    for folder in _CACHES.glob("index*"):
        try:
            if (folder / "type").read_text().strip() == "Instruction":
                continue
            level = int((folder / "level").read_text())
            sizes[level] = _parse_size((folder / "size").read_text().strip())
        except (OSError, ValueError):
            continue
    return sizes


def _size(count: int) -> str:
    unit = "MiB" if count >= 1 << 20 else "KiB"
    return f"{count / (1 << (20 if unit == 'MiB' else 10)):g} {unit}"


def _parse_size(text: str) -> int:
    if text and text[-1] in _UNITS:
        return int(text[:-1]) * _UNITS[text[-1]]
    return int(text)
