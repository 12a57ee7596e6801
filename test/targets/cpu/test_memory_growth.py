# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls, failing calls, and executables that come and go leave no memory behind."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ALLOWED = 1 << 20
"""Bytes by which the resident set may grow: less than any leak of 11 bytes in 100,000 calls."""
ROUNDS = 4
X = np.arange(16, dtype=np.float32).reshape(4, 4)


def resident_bytes() -> int:
    gc.collect()
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def growth(work: Callable[[], object], times: int, warmup: int) -> int:
    """Bytes by which the resident set grows each time that `work` is repeated.

    A leak grows in every round. What happens once does not: an allocator that opens another arena
    for a thread, or a page of code that is read for the first time.
    """
    for _ in range(warmup):
        work()
    least = ALLOWED
    for _ in range(ROUNDS):
        before = resident_bytes()
        for _ in range(times):
            work()
        least = min(least, resident_bytes() - before)
        if least < ALLOWED:
            break
    return least


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def exe(request: pytest.FixtureRequest, settings: dict[str, object]) -> Executable:
    nodes = [("Exp", ["x"], ["e"]), ("Softmax", ["e"], ["y"]), ("MatMul", ["y", "e"], ["z"])]
    model = make_model(nodes, {"x": [4, 4]}, ["y", "z"])
    return xyntra.compile(model, config={**settings, "threads": request.param})


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keep Python from finding cycles: what is freed is freed when its last reference goes."""
    gc.disable()
    yield
    gc.enable()


def test_a_hundred_thousand_calls(exe: Executable) -> None:
    out = [np.empty((4, 4), np.float32) for _ in range(2)]

    def four_calls() -> None:
        exe(X)
        exe(X, out=out)
        exe.run({"x": X})
        exe(X, out=out)

    assert growth(four_calls, times=25_000, warmup=2_000) < ALLOWED


def test_calls_that_fail(exe: Executable) -> None:
    wrong = np.zeros((4, 5), np.float32)

    def fail() -> None:
        for arguments in ((wrong,), (X, X)):
            with pytest.raises(InputError):
                exe(*arguments)
        with pytest.raises(InputError):
            exe(X, out=[wrong, wrong])
        exe(X)

    assert growth(fail, times=3_000, warmup=500) < ALLOWED


def test_results_that_are_dropped(settings: dict[str, object]) -> None:
    model = make_model([("Exp", ["x"], ["y"])], {"x": [64, 1024]}, ["y"])
    exe = xyntra.compile(model, config={**settings, "threads": 2})
    x = np.zeros((64, 1024), np.float32)
    assert growth(lambda: exe(x), times=2_000, warmup=200) < ALLOWED


def test_threads_that_come_and_go(exe: Executable) -> None:
    def call() -> None:
        thread = threading.Thread(target=exe, args=(X,))
        thread.start()
        thread.join()

    assert growth(call, times=1_000, warmup=200) < ALLOWED


def test_an_executable_is_freed_with_its_last_reference(
    exe: Executable, tmp_path: Path, no_collection: None
) -> None:
    exe.save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    loaded(X)
    program = weakref.ref(loaded._program)
    del loaded
    assert program() is None


def test_executables_that_come_and_go(exe: Executable, tmp_path: Path, no_collection: None) -> None:
    path = tmp_path / "m.xyn"
    exe.save(path)
    expected = exe(X)[1]

    def load_and_free() -> None:
        loaded = xyntra.load(path)
        np.testing.assert_array_equal(loaded(X)[1], expected)

    assert growth(load_and_free, times=200, warmup=30) < ALLOWED
