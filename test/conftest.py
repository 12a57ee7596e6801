# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shared fixtures: no test reads or writes the settings or the cache of the person running it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from xyntra.compiler.kernels import kept_servers, parallel
from xyntra.compiler.worker.fork_server import can_fork

ROOT = Path(__file__).resolve().parent.parent
FORKING = (parallel,)
"""The modules that fork if they can."""
NUMBERS = ("frontends", "passes", "targets")
"""Folders of tests about numbers and code, not about processes."""
sys.path.insert(0, str(ROOT / "test" / "support"))  # for the helper modules, in every import mode


def pytest_configure() -> None:
    """Let SIGINT be heard: a shell lets what it runs in the background ignore it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def root() -> Path:
    """Return the repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return a configuration for quick compiling: in this process, with a cache for all tests."""
    folder = tmp_path_factory.getbasetemp() / "xyntra-cache"
    return {"isolate": False, "jobs": 1, "strict": True, "cache_dir": str(folder)}


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels in child processes, or skip a test of processes where there would be none.

    Beside other threads kernels are compiled in the process itself, which would die instead; a test
    that has run before may have left a thread.
    """
    if not can_fork():
        pytest.skip("other threads are alive: this process does not fork")
    for module in FORKING:
        monkeypatch.setattr(module, "can_fork", can_fork)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile without worker processes, which take longer to start than small models to compile."""
    monkeypatch.setenv("XYNTRA_ISOLATE", "false")
    monkeypatch.setenv("XYNTRA_JOBS", "1")


@pytest.fixture(autouse=True)
def _without_children(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels in this process where processes are not what is tested: thrice as fast.

    A child touches most of the memory that it shares with a process of many tests, and copies it.
    """
    if request.path.relative_to(ROOT / "test").parts[0] in NUMBERS:
        for module in FORKING:
            monkeypatch.setattr(module, "can_fork", lambda: False)


@pytest.fixture(autouse=True)
def _own_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for variable in [name for name in os.environ if name.startswith("XYNTRA_")]:
        monkeypatch.delenv(variable)
    # A process that was forked before a test does not see what the test replaces.
    monkeypatch.setattr(kept_servers, "_FRESH", 0.0)
    monkeypatch.setenv("XYNTRA_STRICT", "true")  # a failure of ours is never worked around
    base = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("XYNTRA_CACHE_DIR", str(base / "xyntra-cache"))
    monkeypatch.setenv("XYNTRA_TUNING_DATABASE", str(base / "tuned.sqlite3"))
