# SPDX-License-Identifier: MIT OR Apache-2.0
"""Step tables run native steps in order, with the arguments that they were given last."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import Library
from xyntra.targets.cpu.replay import StepTable

# args: a, b, out; out = 2 a + b, so that the order of two steps shows.
_STEP = """
define void @step(ptr %args) {
  %a = load ptr, ptr %args
  %pb = getelementptr ptr, ptr %args, i64 1
  %b = load ptr, ptr %pb
  %pc = getelementptr ptr, ptr %args, i64 2
  %c = load ptr, ptr %pc
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %d = mul i64 %x, 2
  %s = add i64 %d, %y
  store i64 %s, ptr %c
  ret void
}
"""


@pytest.fixture(scope="module")
def step():
    library = Library({"step": compile_object(_STEP, opt_level=1)})
    yield library.address("step")
    del library


def test_steps_run_in_order(step):
    cells = np.array([3, 5, 0, 0], np.int64)
    at = [cells.ctypes.data + 8 * i for i in range(4)]
    StepTable([(step, [at[0], at[1], at[2]]), (step, [at[2], at[0], at[3]])]).run()
    assert cells.tolist() == [3, 5, 11, 25]


def test_a_changed_argument_counts_from_the_next_run(step):
    cells = np.array([3, 5, 0, 0], np.int64)
    at = [cells.ctypes.data + 8 * i for i in range(4)]
    table = StepTable([(step, [at[0], at[1], at[2]]), (step, [at[0], at[0], at[0]])])
    table.set(0, 2, at[3])
    table.set(1, 2, at[1])
    table.run()
    assert cells.tolist() == [3, 9, 0, 11]


@pytest.mark.parametrize("count", [0, 1, 7])
def test_timed_runs_do_the_same_work(step, count):
    cell = np.array([1], np.int64)
    address = cell.ctypes.data
    times = StepTable([(step, [address, address, address])] * count).run_timed()
    assert cell[0] == 3**count
    assert len(times) == count
    assert all(0 <= time < 10**9 for time in times)


def test_an_empty_table_runs():
    StepTable([]).run()


def test_other_threads_run_meanwhile():
    """A step that waits for Python can only finish if the interpreter lock is free."""
    started = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: order.append("inside"))
    order: list[str] = []
    StepTable([(ctypes.cast(started, ctypes.c_void_p).value, [])]).run()
    assert order == ["inside"]
