# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that work of other processes is seen, and that of the timed one is not counted."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from bench.harness.disturbance import Observer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
BUSY = "while True: pass"


def test_another_process_is_seen_and_the_own_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as busy:
        mine, its = Observer(os.getpid()), Observer(busy.pid)
        time.sleep(1.0)
        other_than_mine, other_than_its = mine.processors(), its.processors()
        busy.kill()
    # The machine may be busy with more, in both views alike.
    assert other_than_mine > 0.05
    assert other_than_its < other_than_mine


def test_a_process_that_is_unknown_counts_as_quiet() -> None:
    assert Observer(None).processors() == 0
