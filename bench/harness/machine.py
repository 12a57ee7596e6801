# SPDX-License-Identifier: MIT OR Apache-2.0
"""The machine and the library versions that a measurement was made with."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

__all__ = ["describe", "slug"]

LIBRARIES = ("xyntra", "numpy", "torch-mlir", "llvmlite", "onnx", "onnxruntime", "torch")
# What decides the width of vectors and the speed of contractions, in the names of Linux.
FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "asimd", "sve")


def describe() -> dict[str, object]:
    """Return what a reader needs to judge a number; every value is JSON-ready.

    Call it before measuring: `load_average` is how many processes wanted to run in the last
    minute. Memory is in bytes and the date is UTC in ISO 8601; what cannot be found out, or is
    not installed, is None.
    """
    return {
        "cpu": _cpu(),
        "cpu_features": _features(),
        "cores_allowed": _cores_allowed(),
        "memory_bytes": _memory(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: _version(name) for name in LIBRARIES},
        "load_average": _load(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def slug(machine: dict[str, object]) -> str:
    """Return a name for result files: CPU and number of cores, in lower case with hyphens."""
    cpu = re.sub(r"\([a-z]+\)|\b(cpu|processor)\b|@.*", " ", str(machine["cpu"]).lower())
    words = re.findall(r"[a-z0-9]+", cpu)
    return "-".join([*words, f"{machine['cores_allowed']}c"])


def _cpu() -> str:
    fields = _cpu_fields()
    # Some virtual machines give a family ("AMD EPYC") and nothing finer: the numbers tell it.
    name = fields.get("model name") or _macos_cpu() or platform.processor() or platform.machine()
    if "cpu family" not in fields:
        return name
    return f"{name} (family {fields['cpu family']}, model {fields.get('model', '?')})"


def _cpu_fields() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _macos_cpu() -> str | None:
    if platform.system() != "Darwin":
        return None
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def _features() -> list[str]:
    fields = _cpu_fields()
    present = set((fields.get("flags") or fields.get("Features") or "").split())
    return [name for name in FEATURES if name in present]


def _cores_allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
