# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts what steps allocate and copy: nothing, where caches are appended to in place."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["counted"]

_STEPS = 32
Step = Callable[[], Any]


def counted(step: Step, device: str) -> dict[str, int]:
    """Return what `_STEPS` steps, after a few others, take of memory and copy.

    On a GPU: how much less of its memory is free, PyTorch's allocations, and by its profiler the
    copies and the kernels of a step, where it can see them. On a processor: pages that are new to
    the process, as each byte of an array that is allocated for a cache would be.
    """
    for _ in range(3):
        step()
    return _on_gpu(step) if device == "cuda" else _on_host(step)


def _on_host(step: Step) -> dict[str, int]:
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(_STEPS):
        step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {"new pages": after.ru_minflt - before.ru_minflt}


def _on_gpu(step: Step) -> dict[str, int]:
    torch.cuda.synchronize()
    free, allocations = torch.cuda.mem_get_info()[0], _allocations()
    for _ in range(_STEPS):
        step()
    torch.cuda.synchronize()
    found = {
        "bytes taken": free - torch.cuda.mem_get_info()[0],
        "allocations": _allocations() - allocations,
    }
    return found | _events(step)


def _allocations() -> int:
    return int(torch.cuda.memory_stats().get("allocation.all.allocated", 0))


def _events(step: Step) -> dict[str, int]:
    """Return the kernels and copies of one step; nothing where the profiler sees none."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as record:
            step()
            torch.cuda.synchronize()
    except RuntimeError:
        return {}
    names = [each.name for each in record.events() if str(each.device_type).endswith("CUDA")]
    kinds = Counter(name.split()[0] if name.startswith("Mem") else "kernels" for name in names)
    if not names:
        return {}
    return {"kernels seen": kinds["kernels"], "copies": kinds["Memcpy"], "fills": kinds["Memset"]}
