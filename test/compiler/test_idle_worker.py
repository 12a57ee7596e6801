# SPDX-License-Identifier: MIT OR Apache-2.0
"""A worker that has answered is kept for the next model, and what becomes of it is no error."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx_models import chain, make_model

import xyntra
from xyntra.compiler.worker import idle_worker
from xyntra.compiler.worker.fork_server import forked
from xyntra.compiler.worker.worker_process import WorkerProcess
from xyntra.errors import ModelError, WorkerError

X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
BAD = make_model([("Add", ["x", "ghost"], ["y"])], {"x": [2]}, ["y"])
PREPARED = """
sys.path[:] = sys.argv[4:]
import xyntra.frontends.onnx.importer as importer
from xyntra.compiler.worker import idle_worker
{body}
from xyntra.worker import main
main()
"""


@pytest.fixture(autouse=True)
def _own_worker() -> Iterator[None]:
    idle_worker.end_all()
    yield
    idle_worker.end_all()


def compiled(**settings: object) -> int:
    """Compile and check a model; returns the number of the worker that is kept then, or 0."""
    exe = xyntra.compile(chain(), config={"cache": False, **settings})
    np.testing.assert_array_equal(exe(X, X), np.maximum(X + X, 0) * 2)
    return kept()


def kept() -> int:
    return idle_worker._idle[0].worker.pid if idle_worker._idle else 0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def worker_with(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers do `body` before they begin."""
    script = folder / "python"
    script.write_text(f"#!{sys.executable}\nimport os, sys\n{PREPARED.format(body=body)}")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def test_models_share_a_worker() -> None:
    first = compiled()
    assert first
    assert compiled() == compiled(opt_level=1) == first
    with pytest.raises(ModelError, match="ghost"):
        xyntra.compile(BAD, config={"cache": False})
    assert compiled() == first
    assert b"linalg" in xyntra.compile(chain(), config={"cache": False}).artifact.ir.encode()


def test_other_surroundings_need_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = compiled()
    monkeypatch.setenv("SOMETHING", "else")
    second = compiled()
    assert second not in (0, first)
    monkeypatch.chdir(tmp_path)
    third = compiled()
    assert third not in (0, first, second)
    until(lambda: not os.path.exists(f"/proc/{first}"))


def test_one_that_was_killed_is_replaced() -> None:
    first = compiled()
    os.kill(first, signal.SIGKILL)
    assert compiled() not in (0, first)


def test_one_that_dies_when_it_is_asked_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled()
    monkeypatch.setattr(WorkerProcess, "is_alive", lambda self: True)
    os.kill(first, signal.SIGKILL)
    assert compiled() not in (0, first)


def test_a_crash_is_one_also_in_a_kept_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
real = importer.import_model
def crash(skeleton, *rest, **options):
    if b"Frob" in skeleton:
        os.abort()
    return real(skeleton, *rest, **options)
importer.import_model = crash
"""
    worker_with(body, tmp_path, monkeypatch)
    assert compiled() == compiled() != 0
    bad = make_model([("Frob", ["x"], ["y"])], {"x": [2]}, ["y"])
    with pytest.raises(WorkerError) as caught:
        xyntra.compile(bad, config={"cache": False})
    assert caught.value.code == "worker-crashed"
    assert "SIGABRT" in str(caught.value.cause)
    assert kept() == 0
    assert compiled()


def test_a_late_answer_ends_it() -> None:
    first = compiled()
    with pytest.raises(WorkerError) as caught:
        xyntra.compile(chain(), config={"cache": False, "compile_timeout": 1e-4})
    assert caught.value.code == "worker-timeout"
    assert kept() == 0
    until(lambda: not os.path.exists(f"/proc/{first}"))
    assert compiled()


def test_it_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_with("idle_worker.IDLE = 0.01", tmp_path, monkeypatch)
    compiled()
    until(lambda: not idle_worker._idle[0].worker.is_alive())
    compiled()


def test_one_with_a_limit_is_not_kept() -> None:
    assert compiled(memory_limit="16GiB") == 0
    first = compiled()
    assert compiled(memory_limit="16GiB") == first  # it was not asked


def test_none_is_kept_where_one_model_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_worker, "_keeps", True)
    first = compiled()
    idle_worker.keep_none()
    assert compiled() == 0
    until(lambda: not os.path.exists(f"/proc/{first}"))


def test_one_with_much_memory_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_with("import xyntra.worker; xyntra.worker._MOST_KEPT = 1", tmp_path, monkeypatch)
    compiled()
    until(lambda: not idle_worker._idle[0].worker.is_alive())


def test_a_forked_process_starts_its_own() -> None:
    first = compiled()

    def work() -> None:
        os._exit(0 if kept() == 0 and compiled() not in (0, first) else 1)

    child = forked(work)
    child.join(120)
    assert child.exitcode == 0
    assert compiled() == first


def test_threads_compile_at_once_and_end() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            compiled()
        except BaseException as error:
            failed.append(error)

    for _ in range(2):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert compiled()


def test_large_requests_and_answers_pass() -> None:
    rng = np.random.default_rng(0)
    weights = {f"w{n}": rng.standard_normal(200).astype(np.float32) for n in range(400)}
    nodes = [("Add", ["x" if not n else f"t{n}", f"w{n}"], [f"t{n + 1}"]) for n in range(400)]
    model = make_model(nodes, {"x": [200]}, ["t400"], weights)
    assert len(model.SerializeToString()) > 4 << 16
    for _ in range(2):
        exe = xyntra.compile(model, config={"cache": False, "egraph": False})
        wanted = sum(each.astype(float) for each in weights.values())
        np.testing.assert_allclose(exe(np.zeros(200, np.float32)), wanted, atol=1e-3)
