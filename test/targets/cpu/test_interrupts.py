# SPDX-License-Identifier: MIT OR Apache-2.0
"""SIGINT ends a long call, and one that a program handles itself changes nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")

# Products: one kernel that takes seconds, or many that take as long together.
_MODEL = """
import os, signal, sys, threading, time
import numpy as np
from onnx import helper, numpy_helper
import xyntra

def make(size, count):
    weights = numpy_helper.from_array(np.eye(size, dtype=np.float32), "w")
    names = ["x", *(f"t{i}" for i in range(count - 1)), "y"]
    nodes = []
    for left, right in zip(names, names[1:]):
        nodes.append(helper.make_node("MatMul", [left, "w"], [right]))
    value = lambda name: helper.make_tensor_value_info(name, 1, [size, size])
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

settings = {"isolate": False, "cache": False, "jobs": 1, "threads": THREADS}
exe = xyntra.compile(make(SIZE, COUNT), config=settings)
x = np.ones((SIZE, SIZE), np.float32)

def make_small():
    return xyntra.compile(make(8, 2), config=settings)

def interrupt(after):
    def send():
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()
"""
_RAISES = """
before = signal.getsignal(signal.SIGINT)
out = np.full((SIZE, SIZE), np.nan, np.float32)
interrupt(0.2)
try:
    exe(x, out=[out])
except KeyboardInterrupt:
    print("ended" if np.isnan(out).any() else "went on")
assert signal.getsignal(signal.SIGINT) is before
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("ended")
np.testing.assert_array_equal(make_small()(x[:8, :8]), x[:8, :8])
"""
_HANDLED = """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
interrupt(0.02)
y = exe(x)
while not seen:
    time.sleep(0.01)
np.testing.assert_array_equal(y, x)
print("handled", flush=True)
"""


def run(script: str, *, size: int, count: int, threads: int) -> str:
    head = f"SIZE, COUNT, THREADS = {size}, {count}, {threads}\n"
    done = subprocess.run(
        [sys.executable, "-c", head + _MODEL + script],
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_many_kernels_are_ended(threads: int) -> None:
    found = run(_RAISES, size=1024, count=300, threads=threads)
    assert found == "ended\nended\n"


@pytest.mark.parametrize("threads", [1, 2])
def test_one_kernel_is_ended_between_its_chunks(threads: int) -> None:
    found = run(_RAISES, size=4096, count=1, threads=threads)
    assert found == "ended\nended\n"


def test_a_handler_that_goes_on_changes_nothing() -> None:
    assert run(_HANDLED, size=1024, count=20, threads=1) == "handled\n"
