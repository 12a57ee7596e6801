# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times first calls in processes of their own, with an empty cache of pipelines and a full one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import xyntra
from bench.webgpu.inputs import inputs_of, weights_of
from bench.webgpu.rows import artifact

__all__ = ["first_calls", "print_first_call"]

_CACHES = ("XDG_CACHE_HOME", "MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH")
"""Where drivers keep compiled shaders: any, Mesa's and NVIDIA's."""
_PATIENCE = 300.0  # seconds


def first_calls(folder: Path, name: str, target: str) -> dict[str, dict[str, float]]:
    """Return what `print_first_call` prints, by "cold" and "cached"."""
    with tempfile.TemporaryDirectory() as caches:
        environment = {**os.environ, **dict.fromkeys(_CACHES, caches)}
        environment["__GL_SHADER_DISK_CACHE"] = "1"
        command = [sys.executable, "-m", "bench.webgpu", "first", str(folder), name]
        command += ["--target", target]
        found = {}
        for kind in ("cold", "cached"):
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=True,
            )
            found[kind] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_first_call(folder: Path, name: str, target: str) -> None:
    """Print the seconds of loading, of the first call, which makes pipelines, and of a second."""
    weights, inputs = weights_of(folder, name), inputs_of(name)
    start = time.perf_counter()
    executable = xyntra.load(artifact(folder, name, "webgpu"), weights=weights, target=target)
    times = {"load": time.perf_counter() - start}
    for which in ("first", "second"):
        start = time.perf_counter()
        executable.run(inputs)
        times[which] = time.perf_counter() - start
    print(json.dumps(times))
