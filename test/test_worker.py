# SPDX-License-Identifier: MIT OR Apache-2.0
"""A worker process answers, or its end is a typed error."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bad_models import edited
from onnx_models import chain

import xyntra
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.driver import make_request
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.worker.answers import unexpected
from xyntra.compiler.worker.fork_server import forked
from xyntra.compiler.worker.request import Level, Request
from xyntra.config import load_config
from xyntra.errors import ModelError, WorkerError
from xyntra.plan.artifact import Artifact
from xyntra.worker import compile_isolated


def request(level: Level = "linalg", model: bytes | None = None) -> Request:
    source = open_source(model or chain().SerializeToString())
    return make_request(source, Sizes(), load_config({"cache": False}), level, CodeTarget())


def fake_worker(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Let the interpreter that runs the worker do `body` instead."""
    script = folder / "python"
    script.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def failure(timeout: float = 60, level: Level = "linalg") -> WorkerError:
    with pytest.raises(WorkerError) as caught:
        compile_isolated(request(level), timeout=timeout, memory_limit=None)
    assert type(caught.value) is WorkerError
    return caught.value


def test_the_answer_comes_back() -> None:
    text = compile_isolated(request(), timeout=60, memory_limit=None)
    assert b"linalg.generic" in text


def test_requests_survive_the_journey() -> None:
    one = request()
    assert Request.from_bytes(one.to_bytes()) == one
    odd = Request(
        "mlir", b"\n\x00{}\n", "p\n", {"x": (1, 2), "#0": ()}, {"n": 3}, {"c": [4]},
        "artifact", "sm_90a", fuse=False, egraph=True, fast_math=False, fold_norms=False,
        strict=True, precision="f16", narrow_io=True, opt_level=0,
        jobs=None, timeout=0.5, max_tensor_bytes=1, cache_dir=None, cache_size=1,
        without=(("cse", "it crashed"),),
    )  # fmt: skip
    assert Request.from_bytes(odd.to_bytes()) == odd


def test_errors_come_back_as_themselves(tmp_path: Path) -> None:
    path = edited(lambda model: model.graph.node[0].input.__setitem__(0, "ghost"))(tmp_path)
    with pytest.raises(ModelError, match="ghost") as caught:
        xyntra.compile(path, config={"cache": False})
    assert caught.value.code == "undefined-value"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL"),
        ("os.abort()", "signal SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGRTMIN + 3)", "signal 37"),
        ("print('LLVM ERROR', file=sys.stderr); sys.exit(3)", "exit status 3\nLLVM ERROR"),
        ("pass", "exit status 0"),
        ("sys.stdout.write('hello'); sys.exit(0)", "exit status 0"),
        ("os.write(1, b'\\x00half'); os.abort()", "signal SIGABRT"),
        ("raise ValueError('odd')", "ValueError: odd"),
    ],
    ids=["killed", "aborted", "odd signal", "exit", "silent", "noise", "answer cut", "raised"],
)  # fmt: skip
def test_a_crash_is_typed(
    body: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_worker(tmp_path, monkeypatch, body)
    error = failure()
    assert error.code == "worker-crashed"
    assert says in str(error.cause)


def test_a_crash_does_not_stop_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fake_worker(tmp_path, patch, "os.abort()")
        failure()
    assert compile_isolated(request(), timeout=60, memory_limit=None)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "worker-crashed", "signal SIGSEGV"),
        ("print('LLVM ERROR: gone', file=sys.stderr); os.abort()", "worker-crashed", "gone"),
        ("print('std::bad_alloc', file=sys.stderr); os.abort()", "worker-memory", "bad_alloc"),
        ("os._exit(3)", "worker-crashed", "exit status 3"),
        ("os._exit(0)", "worker-crashed", "exit status 0"),
    ],
    ids=["killed", "aborted", "memory", "exit", "silent"],
)
def test_a_crash_of_a_worker_is_typed(
    body: str, code: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = f"""
sys.path[:] = sys.argv[4:]
import xyntra.frontends.onnx.importer as importer
def crash(*_, **__):
    {body.replace("; ", "; sys.stderr.flush(); ")}
importer.import_model = crash
from xyntra.worker import main
main()"""
    fake_worker(tmp_path, monkeypatch, start)
    error = failure(level="artifact")
    assert error.code == code
    assert says in str(error.cause)


@pytest.mark.parametrize(
    "message",
    [
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "LLVM ERROR: out of memory",
    ],
)
def test_a_crash_without_memory_says_so(
    message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_worker(
        tmp_path, monkeypatch, f"print({message!r}, file=sys.stderr, flush=True); os.abort()"
    )
    assert failure().code == "worker-memory"


def test_a_worker_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    body = f"""
child = os.fork()
if child:
    open({str(note)!r}, "w").write(str(child))
time.sleep(60)"""
    fake_worker(tmp_path, monkeypatch, body)
    start = time.monotonic()
    error = failure(timeout=1.5)
    assert error.code == "worker-timeout"
    assert "1.5 seconds" in error.message
    assert time.monotonic() - start < 20
    child = int(note.read_text())
    _wait_until(lambda: not _is_running(child))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children")
def test_processes_end_with_a_caller_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pids"
    fake_worker(
        tmp_path,
        monkeypatch,
        f"""
sys.path[:] = sys.argv[4:]
import xyntra.frontends.onnx.importer as importer
def hang(*_, **__):
    open({str(note)!r}, "w").write(f"{{os.getppid()}} {{os.getpid()}} .")
    time.sleep(60)
importer.import_model = hang
from xyntra.worker import main
main()""",
    )
    asked = request("artifact")
    caller = forked(lambda: compile_isolated(asked, timeout=60, memory_limit=None))
    _wait_until(lambda: note.exists() and note.read_text().endswith("."))
    worker, importer, _ = note.read_text().split()
    caller.kill()
    caller.join()
    _wait_until(lambda: not _is_running(int(worker)) and not _is_running(int(importer)))


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupt_ends_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "pid"
    parent = os.getpid()
    fake_worker(
        tmp_path,
        monkeypatch,
        f"open({str(note)!r}, 'w').write(str(os.getpid())); "
        f"os.kill({parent}, signal.SIGINT); time.sleep(60)",
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        compile_isolated(request(), timeout=60, memory_limit=None)
    assert not _is_running(int(note.read_text()))


def test_libraries_may_print(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever goes to standard output in the worker must not mix with the answer.
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    data = compile_isolated(request("artifact"), timeout=120, memory_limit=None)
    assert Artifact.from_bytes(data, "worker").plan.outputs[0].name == "z"


def test_what_nobody_foresaw_names_its_place() -> None:
    try:
        _fail()
    except LookupError as error:
        found = unexpected(error)
    assert found.code == "internal-error"
    assert found.place is not None
    assert "test_worker.py" in found.place
    assert found.place.endswith("_fail")
    assert found.cause == "KeyError: 'key'"


def _fail() -> None:
    raise KeyError("key")


def _compiled_in_pool(isolate: bool) -> bytes:
    settings = {"cache": False, "isolate": isolate}
    x = np.ones((2, 3), np.float32)
    return bytes(xyntra.compile(chain(), config=settings)(x, x).tobytes())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("isolate", [True, False])
def test_workers_of_a_pool_compile(isolate: bool) -> None:
    """They are daemonic: Python does not let them start processes of multiprocessing."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(_compiled_in_pool, [isolate]).get(120)
    assert found == np.full((2, 3), 4, np.float32).tobytes()
