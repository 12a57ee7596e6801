# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says in words what `bench.webgpu run` measured of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LINES"]

Record = dict[str, Any]


def _row(found: Record) -> str:
    cuda = found.get("cuda")
    words = [f"{name}: {_measured(each, cuda)}" for name, each in found.items()]
    return "; ".join(words)


def _measured(found: Record, cuda: Record | None) -> str:
    words = [f"GPU {found['gpu_us']:.1f} us", f"call {found['call_us']:.0f} us"]
    if "gflops" in found:
        words.append(f"{found['gflops']:.0f} GFLOP/s")
    if "of_a_copy" in found:
        words.append(f"{found['bytes_per_s'] / 1e9:.0f} GB/s, {found['of_a_copy']:.2f} of a copy")
    if "beyond" in found:
        words.append(f"{found['beyond']} numbers beyond")
        if cuda is not None:
            words.append(f"{cuda['gpu_us'] / found['gpu_us']:.2f} of CUDA's speed")
    return ", ".join(words)


def _host(found: Record) -> str:
    return (
        f"a call of {found['kernels']} kernels from numpy to numpy takes {found['call_us']:.0f} us,"
        f" of which its thread computes {found['thread_us']:.0f} us,"
        f" and the GPU {found['gpu_us']:.1f} us"
    )


def _plugin(found: Record) -> str:
    return (
        f"onnxruntime's plugin: loaded in {found['load_s']:.2f} s, first call"
        f" {found['first_s']:.2f} s, call {found['call_us']:.0f} us, {found['beyond']} beyond"
    )


def _first(found: Record) -> str:
    times = ", ".join(
        f"{kind} {each['load']:.3f} + {each['first']:.3f} s (then {each['second']:.4f})"
        for kind, each in found.items()
    )
    return f"load and first call of a process: {times}"


LINES: dict[str, Callable[[Record], str]] = {
    "rows": _row,
    "host": _host,
    "plugin": _plugin,
    "first": _first,
}
"""The words of each part."""
