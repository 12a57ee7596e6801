# SPDX-License-Identifier: MIT OR Apache-2.0
"""Step tables run native steps in order, with the arguments that they were given last."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.replay import StepTable, replay_objects

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
    library = ObjectLibrary({"step": compile_object(_STEP, opt_level=1)})
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


# args: flag, result; waits for the flag, but not for ever, and tells whether it came.
_WAIT = """
define void @wait(ptr %args) {
entry:
  %flag = load ptr, ptr %args
  %slot = getelementptr ptr, ptr %args, i64 1
  %result = load ptr, ptr %slot
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %value = load volatile i64, ptr %flag
  %came = icmp ne i64 %value, 0
  %late = icmp eq i64 %next, 3000000000
  %stop = or i1 %came, %late
  br i1 %stop, label %done, label %loop
done:
  store i64 %value, ptr %result
  ret void
}
"""


def test_other_threads_run_meanwhile():
    library = ObjectLibrary({"wait": compile_object(_WAIT, opt_level=1)})
    cells = np.zeros(2, np.int64)
    arguments = [cells.ctypes.data, cells.ctypes.data + 8]
    table = StepTable([(library.address("wait"), arguments)])
    setter = threading.Timer(0.05, cells.__setitem__, (0, 1))
    setter.start()
    table.run()
    setter.join()
    assert cells[1] == 1


def test_a_library_may_bring_the_native_loops(step):
    cell = np.array([1], np.int64)
    address = cell.ctypes.data
    library = ObjectLibrary(replay_objects())
    table = StepTable([(step, [address, address, address])], library)
    table.run()
    table.run_timed()
    assert cell[0] == 9
