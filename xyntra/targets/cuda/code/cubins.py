# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code of a GPU from PTX, by NVIDIA's ptxas where it is installed, kept in the cache.

The driver assembles PTX, too, but one kernel after the other, whatever threads ask it to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from xyntra.cache import DiskCache, cache_key
from xyntra.config import load_config
from xyntra.errors import ConfigError

_SECONDS = 120.0  # for one kernel
# Where packages keep it: nvidia-cuda-nvcc, and Triton, which comes with PyTorch.
_PLACES = (
    ("nvidia", "cu*/bin/ptxas"),
    ("nvidia", "cuda_nvcc/bin/ptxas"),
    ("triton", "backends/nvidia/bin/ptxas"),
)


def machine_codes(ptx: Mapping[str, str], architecture: str) -> dict[str, bytes]:
    """Return the machine code of those kernels for which it can be had without the driver.

    Args:
        ptx: code of every kernel by name.
        architecture: such as "sm_90a".
    """
    tool, cache = assembler(), _cache()
    if tool is None or cache is None:
        return {}
    stamp = f"{tool} {tool.stat().st_size} {tool.stat().st_mtime_ns}"
    keys = {name: cache_key("cubin", code, architecture, stamp) for name, code in ptx.items()}
    found = {name: cache.get(key) for name, key in keys.items()}
    missing = [name for name in ptx if found[name] is None]
    missing.sort(key=lambda name: -len(ptx[name]))  # no processor is left alone with a long one

    def assemble(name: str) -> None:
        code = found[name] = assembled(tool, ptx[name], architecture)
        if code is not None:
            cache.put(keys[name], code)

    if missing:
        with ThreadPoolExecutor(os.cpu_count() or 1, "xyntra-assemble") as threads:
            list(threads.map(assemble, missing))
    return {name: code for name, code in found.items() if code is not None}


def assembled(tool: Path, ptx: str, architecture: str) -> bytes | None:
    """Return machine code; None where ptxas fails, and the driver has the last word."""
    with TemporaryDirectory(prefix="xyntra-") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [str(tool), f"-arch={architecture}", str(source), "-o", str(target)]
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None


@lru_cache(maxsize=1)
def assembler() -> Path | None:
    """Return where ptxas is, None if it is not installed."""
    return next(_candidates(), None)


def _candidates() -> Iterator[Path]:
    for package, pattern in _PLACES:
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from sorted(Path(folder).glob(pattern), reverse=True)
    on_path = shutil.which("ptxas")
    if on_path:
        yield Path(on_path)


@lru_cache(maxsize=1)
def _cache() -> DiskCache | None:
    try:
        settings = load_config()
    except ConfigError:  # raised where models are compiled and loaded
        return None
    return DiskCache(settings.cache_dir, settings.cache_size) if settings.cache else None
