# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that a loaded compiler is kept for the next model, and that its end is no error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx_models import chain, make_model

import xyntra
from xyntra.compiler.worker import kept_zygote
from xyntra.compiler.worker.fork_server import forked
from xyntra.compiler.worker.surroundings import Surroundings
from xyntra.errors import ModelError, UnsupportedError, WorkerError

PYTHON = sys.executable
X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
BAD = make_model([("Add", ["x", "ghost"], ["y"])], {"x": [2]}, ["y"])
PREPARED = """
sys.path[:] = sys.argv[4:]
import time
import xyntra.frontends.onnx.importer as importer
from xyntra.compiler import zygotes
real = importer.import_model
def other(skeleton, *rest, **options):
    if b"act: " in skeleton:
        exec(skeleton.partition(b"act: ")[2].partition(b" :act")[0].decode())
    return real(skeleton, *rest, **options)
importer.import_model = other
{body}
from xyntra.worker import main
main()
"""
"""A zygote whose workers do what a model says when they import it, after `body`."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes of Linux")


def python_with(body: str, folder: Path) -> str:
    """An interpreter that starts zygotes as `PREPARED` has it."""
    script = folder / f"python-{uuid.uuid4()}"
    script.write_text(f"#!{PYTHON}\nimport os, sys\n{PREPARED.format(body=body)}")
    script.chmod(0o755)
    return str(script)


@pytest.fixture(scope="module", autouse=True)
def _one_zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share a zygote among tests, except for those that ask for their `own`."""
    with pytest.MonkeyPatch.context() as patch:
        script = python_with("", tmp_path_factory.mktemp("bin"))
        patch.setattr(sys, "executable", script)
        kept_zygote.end_all()
        yield
        kept_zygote.end_all()


@pytest.fixture
def own() -> Iterator[None]:
    kept_zygote.end_all()
    yield
    kept_zygote.end_all()


def do(act: str, **settings: object) -> None:
    """Compile a model over which the worker does `act`, and then says that it has an odd node."""
    nodes = [("Frob", ["x"], ["y"])]
    model = make_model(nodes, {"x": [2]}, ["y"])
    model.graph.node[0].name = f"act: {act} :act"
    xyntra.compile(model, config={"cache": False, **settings})


def compiled(**settings: object) -> int:
    """Compile and check a model; returns the number of the zygote that is kept then."""
    exe = xyntra.compile(chain(), config={"cache": False, **settings})
    np.testing.assert_array_equal(exe(X, X), np.maximum(X + X, 0) * 2)
    return kept()


def kept() -> int:
    return kept_zygote.pid() or 0


def descendants(process: int) -> set[int]:
    """The numbers of processes below one, and of what they do not wait for any more."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    found, new = set(), {process}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in found} - found
    return found - {process}


def at_rest(zygote: int) -> bool:
    """Tell whether a zygote has no children but the other zygote, and keeps it for a moment.

    On a busy machine a worker may be all that is left of a compilation, or all that has begun.
    """
    found = set()
    for _ in range(5):
        found |= descendants(zygote)
        time.sleep(0.05)
    return len(found) == 1


def marked(mark: str) -> set[str]:
    """The processes that were started with a variable `mark` in their environment."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in file.read_bytes():
                found.add(file.parent.name)
        except OSError:
            continue
    return found


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_models_share_a_zygote() -> None:
    first = compiled()
    assert first
    assert compiled() == compiled(opt_level=1) == compiled(memory_limit="16GiB") == first
    with pytest.raises(ModelError, match="ghost"):
        xyntra.compile(BAD, config={"cache": False})
    assert kept() == first
    until(lambda: at_rest(first))


def test_a_zygote_has_one_thread_and_does_not_grow() -> None:
    """What is forked beside threads finds their locks held; what it keeps of models would grow."""
    zygote = compiled()

    def settled() -> int:
        """KiB of a zygote that has nothing to do any more."""
        seen = [-1]

        def is_same() -> bool:
            time.sleep(0.2)
            text = Path(f"/proc/{zygote}/status").read_text()
            seen.append(int(text.partition("VmRSS:")[2].split()[0]))
            return at_rest(zygote) and seen[-1] == seen[-2]

        until(is_same)
        return seen[-1]

    compiled()
    before = settled()
    for _ in range(3):
        assert compiled() == zygote
    assert settled() - before < 4 << 10
    processes = [zygote, *descendants(zygote)]
    assert [len(os.listdir(f"/proc/{each}/task")) for each in processes] == [1, 1]


def alive(process: int) -> bool:
    return os.path.exists(f"/proc/{process}")


def test_workers_take_over_what_their_caller_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    act = f"""from xyntra.compiler.worker.surroundings import Surroundings
open({str(note)!r}, "w").write(Surroundings.here().to_bytes().decode())"""
    first = compiled()
    monkeypatch.setenv("SOMETHING", "\udcff else")
    monkeypatch.chdir(tmp_path)
    processors = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(processors)})
        with pytest.raises(UnsupportedError, match="Frob"):
            do(act)
        wanted = Surroundings.here()
    finally:
        os.sched_setaffinity(0, processors)
    assert json.loads(note.read_text()) == json.loads(wanted.to_bytes())
    monkeypatch.delenv("SOMETHING")
    with pytest.raises(UnsupportedError, match="Frob"):
        do(act)
    assert "SOMETHING" not in json.loads(note.read_text())["environment"]
    assert kept() == first


@pytest.mark.usefixtures("own")
def test_what_is_taken_over_at_the_start_needs_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = compiled()
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    second = compiled()
    assert second not in (0, first)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert compiled() not in (0, first, second)
    until(lambda: not alive(first) and not alive(second))


def test_one_that_was_killed_is_replaced() -> None:
    first = compiled()
    others = descendants(first)
    assert others
    os.kill(first, signal.SIGKILL)
    assert compiled() not in (0, first)
    until(lambda: not any(map(alive, others)))


def test_the_other_zygote_is_replaced() -> None:
    first = compiled()
    until(lambda: at_rest(first))
    (other,) = descendants(first)
    os.kill(other, signal.SIGKILL)
    until(lambda: ") Z " in Path(f"/proc/{other}/stat").read_text())
    assert compiled() == first
    assert descendants(first)
    assert other not in descendants(first)


def test_one_that_ends_when_it_is_asked_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled()
    os.kill(first, signal.SIGKILL)
    monkeypatch.setattr("xyntra.compiler.worker.zygote_process.ZygoteProcess.is_alive", bool)
    assert compiled() not in (0, first)


def test_a_crash_ends_the_worker_alone() -> None:
    first = compiled()
    with pytest.raises(WorkerError) as caught:
        do("os.abort()")
    assert caught.value.code == "worker-crashed"
    assert "SIGABRT" in str(caught.value.cause)
    assert compiled() == first
    until(lambda: at_rest(first))


def test_nothing_of_a_model_is_left_for_the_next() -> None:
    first = compiled()
    act = """
import resource, xyntra.compiler.levels as levels
levels.count_operations = None
importer.import_model = None
sys.setrecursionlimit(60)
os.environ.clear()
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))"""
    with pytest.raises(xyntra.XyntraError):
        do(act)
    assert compiled() == first


def test_a_limit_of_memory_is_that_of_one_model() -> None:
    first = compiled()
    with pytest.raises(WorkerError) as caught:
        do("bytearray(3 << 30)", memory_limit="2GiB")
    assert caught.value.code == "worker-memory"
    with pytest.raises(UnsupportedError, match="Frob"):
        do("bytearray(3 << 30)")
    assert compiled() == first


def test_a_late_answer_ends_the_worker_alone() -> None:
    first = compiled()
    with pytest.raises(WorkerError) as caught:
        do("time.sleep(60)", compile_timeout=0.3)
    assert caught.value.code == "worker-timeout"
    assert compiled() == first
    until(lambda: at_rest(first))


def test_an_interrupt_ends_the_worker_alone() -> None:
    first = compiled()
    with pytest.raises(KeyboardInterrupt):
        do(f"os.kill({os.getpid()}, 2); time.sleep(60)")
    until(lambda: at_rest(first))
    assert compiled() == first


@pytest.mark.usefixtures("own")
def test_it_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", python_with("zygotes.IDLE = 0.01", tmp_path))
    first = compiled()
    others = descendants(first)
    assert kept_zygote._kept is not None
    process = kept_zygote._kept.process
    until(lambda: not process.is_alive() and not any(map(alive, others)))
    assert compiled() != first


@pytest.mark.parametrize("end", ["pass", "os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_nothing_outlives_its_caller(end: str, tmp_path: Path) -> None:
    mark = f"XYNTRA_TEST_MARK={uuid.uuid4()}"
    (tmp_path / "model.onnx").write_bytes(chain().SerializeToString())
    script = f"""
import os, xyntra
from xyntra.compiler.worker import kept_zygote
xyntra.compile("model.onnx", config={{"cache": False}})
print(kept_zygote.pid(), flush=True)
{end}"""
    name, _, text = mark.partition("=")
    environment = {**os.environ, name.removeprefix("XYNTRA_"): text}
    done = subprocess.run(
        [PYTHON, "-c", script], cwd=tmp_path, env=environment, check=False,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert int(done.stdout) > 0
    until(lambda: not marked(text))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_starts_its_own() -> None:
    first = compiled()

    def work() -> None:
        os._exit(0 if kept() == 0 and compiled() not in (0, first) else 1)

    child = forked(work)
    child.join(120)
    assert child.exitcode == 0
    assert compiled() == first


def test_threads_share_one() -> None:
    """Also where models of some of them end their workers, and after the first has ended."""
    failed: list[BaseException] = []
    seen: set[int] = set()

    def work(number: int) -> None:
        try:
            if number == 1:
                with pytest.raises(WorkerError):
                    do("os.abort()")
            else:
                seen.add(compiled())
        except BaseException as error:
            failed.append(error)

    for _ in range(2):
        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert seen == {compiled()}


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
