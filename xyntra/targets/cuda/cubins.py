# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code of a GPU from PTX, by the driver's compiler, kept in the cache on disk."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from xyntra.cache import DiskCache, cache_key
from xyntra.config import load_config
from xyntra.errors import DeviceError
from xyntra.targets.cuda.driver import checked, driver

_THREADS = 8


def machine_codes(
    ptx: Mapping[str, str], architecture: str, in_context: Callable[[Callable[[], None]], None]
) -> dict[str, bytes]:
    """Return what the driver loads for every kernel: machine code where it can be had, else PTX.

    The driver keeps a cache of its own, too, but looks at all of the PTX again, and forgets it with
    its next version.

    Args:
        ptx: code of every kernel by name.
        architecture: of the current GPU.
        in_context: calls a function of another thread with the current context.
    """
    keys = {name: _key(code, architecture) for name, code in ptx.items()}
    cache = _cache()
    found = {name: cache.get(key) for name, key in keys.items()} if cache else {}
    codes = {name: code for name, code in found.items() if code is not None}
    missing = [name for name in ptx if name not in codes]
    if not missing:
        return codes

    def assemble(name: str) -> None:
        def work() -> None:
            codes[name] = _assembled(ptx[name])

        in_context(work)

    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "xyntra-assemble") as threads:
        list(threads.map(assemble, missing))
    for name in missing:
        if cache and codes[name].startswith(b"\x7fELF"):
            cache.put(keys[name], codes[name])
    return codes


def _assembled(ptx: str) -> bytes:
    """Return machine code for the current GPU; the PTX itself where the linker refuses it.

    Loading the PTX then says why.
    """
    text = ptx.encode() + b"\0"
    try:
        return _linked(text)
    except DeviceError as error:
        if error.code == "gpu-memory":
            raise
        return text


def _linked(text: bytes) -> bytes:
    cuda = driver()
    kind = cuda.CUjitInputType.CU_JIT_INPUT_PTX
    state = checked(cuda.cuLinkCreate(0, [], []), "assembling a kernel")
    try:
        added = cuda.cuLinkAddData(state, kind, text, len(text), b"kernel.ptx", 0, [], [])
        checked(added, "assembling a kernel")
        address, nbytes = checked(cuda.cuLinkComplete(state), "assembling a kernel")
        return ctypes.string_at(int(address), int(nbytes))
    finally:
        cuda.cuLinkDestroy(state)


def _key(ptx: str, architecture: str) -> str:
    return cache_key("cubin", ptx, architecture, _driver_version())


@lru_cache(maxsize=1)
def _driver_version() -> str:
    """Return what tells one driver's compiler from another's."""
    version = str(checked(driver().cuDriverGetVersion(), "asking the driver's version"))
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return version + file.readline()
    except OSError:
        return version


@lru_cache(maxsize=1)
def _cache() -> DiskCache | None:
    settings = load_config()
    return DiskCache(settings.cache_dir, settings.cache_size) if settings.cache else None
