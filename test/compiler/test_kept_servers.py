# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process that compiles kernels is kept for the next model, and is nobody's burden."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import pytest
from onnx_models import chain, make_model

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.usefixtures("forks"),
]

import xyntra  # noqa: E402
from xyntra.compiler.kernels import kept_servers, parallel  # noqa: E402
from xyntra.compiler.kernels.parallel import compiler_server  # noqa: E402
from xyntra.compiler.worker.fork_server import ForkServer  # noqa: E402

X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)


@pytest.fixture(autouse=True)
def _none_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests see no server of others, and start ones that load nothing."""
    monkeypatch.setattr(kept_servers, "_kept", {})
    monkeypatch.setattr(kept_servers, "_FRESH", 15.0)
    monkeypatch.setattr(parallel, "load_compiler", lambda architecture: None)
    yield
    for kept in kept_servers._kept.values():
        kept.server.stop()


def kept() -> ForkServer:
    """The server that a model got and gave back."""
    with compiler_server(keep=True) as server:
        assert server is not None
    return server


def child_of(server: ForkServer) -> int:
    with tempfile.TemporaryFile() as err:
        pid, pipe = server.fork(err.fileno())
        pipe.close()
        assert server.exit_status(pid) == 0
    return pid


def has_ended(server: ForkServer) -> bool:
    return not server._process.is_alive()


def test_the_next_model_gets_the_same() -> None:
    server = kept()
    child_of(server)
    assert kept() is server
    child_of(server)
    with compiler_server(keep=False) as other:
        assert other is not server
    with compiler_server("sm_90a", keep=True) as other:
        assert other is not server


def test_two_models_at_once_get_two() -> None:
    with compiler_server(keep=True) as first, compiler_server(keep=True) as second:
        assert first is not None
        assert second is not None
        assert first is not second
    assert has_ended(second)
    assert kept() is first


def test_one_that_died_is_replaced() -> None:
    server = kept()
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.join()
    other = kept()
    assert other is not server
    child_of(other)


def test_one_that_is_old_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    server = kept()
    monkeypatch.setattr(kept_servers, "_FRESH", 0.0)
    assert kept() is not server
    assert has_ended(server)


def test_it_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_servers, "_MARGIN", 0.05)
    monkeypatch.setattr(kept_servers, "_FRESH", 0.0)
    server = kept()
    server._process.join(60)
    assert has_ended(server)


@pytest.mark.parametrize("kept_before", [False, True])
def test_it_does_not_end_while_it_is_used(
    kept_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes until kernels are there to be compiled, and until they are compiled."""
    monkeypatch.setattr(kept_servers, "_MARGIN", 0.05 - kept_servers._FRESH)
    if kept_before:
        kept()
    with compiler_server(keep=True) as server, tempfile.TemporaryFile() as err:
        assert server is not None
        time.sleep(0.3)  # as long as it would take to end
        pid, pipe = server.fork(err.fileno())
        time.sleep(0.3)  # as long as it would take to end
        pipe.close()
        assert server.exit_status(pid) == 0


def test_one_that_has_ended_by_itself_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_servers, "_MARGIN", 0.05 - kept_servers._FRESH)
    server = kept()
    server._process.join(60)
    other = kept()
    assert other is not server


def test_a_failure_ends_it() -> None:
    with pytest.raises(ZeroDivisionError), compiler_server(keep=True) as server:
        raise ZeroDivisionError
    assert server is not None
    assert has_ended(server)
    assert kept_servers._kept == {}


def test_it_holds_no_files_of_its_owner() -> None:
    reader, writer = os.pipe()
    kept()
    os.close(writer)
    assert os.read(reader, 1) == b""  # it would wait for ever if somebody could write
    os.close(reader)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_leaves_it_alone() -> None:
    server = kept()

    child = os.fork()
    if not child:
        os._exit(0 if kept_servers._kept == {} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kept() is server
    child_of(server)


def test_ended_children_are_no_zombies() -> None:
    server = kept()
    with tempfile.TemporaryFile() as err:
        pid, pipe = server.fork(err.fileno())
        pipe.close()
        while os.path.exists(f"/proc/{pid}"):
            child_of(server)
    assert server.exit_status(pid) == 0


def test_models_compile_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(kept_servers, "_FRESH", 15.0)
    own = {**settings, "cache": False, "isolate": False}
    servers = []
    for _ in range(3):
        found = xyntra.compile(chain(), config=own)(X, X)
        np.testing.assert_array_equal(found, np.maximum(X + X, 0) * 2)
        servers.append(kept_servers._kept[""].server)
    assert servers[0] is servers[1] is servers[2]
    bad = make_model([("Neg", ["x"], ["y"]), ("Frob", ["y"], ["z"])], {"x": [2]}, ["z"])
    with pytest.raises(xyntra.XyntraError):
        xyntra.compile(bad, config=own)
    np.testing.assert_array_equal(xyntra.compile(chain(), config=own)(X, X)[0, 0], 0)
