# SPDX-License-Identifier: MIT OR Apache-2.0
"""Threads, and processes that may not have children, compile as others do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx_models import chain, mlp

_COMPILE = """
import os, sys, threading
from pathlib import Path

def children():
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(text.split()[0])
    return found

def left():
    from xyntra.compiler.worker.kept_zygote import end_all
    end_all()  # the zygote that is kept for the next model
    return children()

def compile_one(model):
    import xyntra
    exe = xyntra.compile(model, config={"isolate": ISOLATE, "cache": False, "jobs": 2})
    import numpy as np
    inputs = [np.ones(port.shape, port.dtype) for port in exe.inputs]
    assert np.isfinite(exe(*inputs)).all()
"""
_THREADS = (
    _COMPILE
    + """
start, errors = threading.Barrier(len(MODELS)), []

def work(model):
    start.wait()
    try:
        compile_one(model)
    except BaseException as error:
        errors.append(repr(error))

threads = [threading.Thread(target=work, args=(model,)) for model in MODELS]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not errors, errors
found = left(); assert not found, found
"""
)
_DAEMON = (
    _COMPILE
    + """
import multiprocessing

def work(model):
    compile_one(model)
    found = left(); assert not found, found

process = multiprocessing.get_context("fork").Process(target=work, args=(MODELS[0],), daemon=True)
process.start()
process.join()
assert process.exitcode == 0, process.exitcode
"""
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes of Linux")


def run(script: str, folder: Path, isolate: bool, count: int) -> None:
    models = []
    for number in range(count):
        models.append(str(folder / f"{number}.onnx"))
        onnx.save(mlp() if number % 2 else chain(), models[-1])
    head = f"ISOLATE = {isolate}\nMODELS = {models!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", head + script],
        cwd=folder,
        timeout=300,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "isolated"])
def test_threads_compile_at_once(tmp_path: Path, isolate: bool) -> None:
    run(_THREADS, tmp_path, isolate, 6)


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "isolated"])
def test_a_daemonic_process_compiles(tmp_path: Path, isolate: bool) -> None:
    run(_DAEMON, tmp_path, isolate, 1)
