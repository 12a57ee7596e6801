# SPDX-License-Identifier: MIT OR Apache-2.0
"""Native tasks that count what is done of them, and what gives them to a team of threads."""

from __future__ import annotations

import ctypes

import numpy as np

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.pool import WorkerTeam

# environment: the team, the largest worker's number, and a counter for every iteration. `nest`
# starts a job of the same team for its own range; `slow` counts `TURNS` times for an iteration.
TURNS = 500
_TASKS = """
define void @count(ptr %e, i64 %begin, i64 %end, i64 %worker) {
entry:
  %cells = getelementptr i64, ptr %e, i64 2
  %largest = getelementptr i64, ptr %e, i64 1
  %old = atomicrmw umax ptr %largest, i64 %worker seq_cst
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %cells, i64 %i
  %v = load i64, ptr %p
  %s = add i64 %v, 1
  store i64 %s, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @nest(ptr %e, i64 %begin, i64 %end, i64 %worker) {
entry:
  %team = load ptr, ptr %e
  %for = load ptr, ptr %team
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %row = mul i64 %i, 800
  %start = getelementptr i8, ptr %e, i64 %row
  call void %for(ptr %team, ptr @row, ptr %start, i64 100, i64 1)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define internal void @row(ptr %e, i64 %begin, i64 %end, i64 %worker) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = add i64 %i, 2
  %p = getelementptr i64, ptr %e, i64 %at
  %v = load i64, ptr %p
  %s = add i64 %v, 1
  store i64 %s, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @slow(ptr %e, i64 %begin, i64 %end, i64 %worker) {
entry:
  %largest = getelementptr i64, ptr %e, i64 1
  %old = atomicrmw umax ptr %largest, i64 %worker seq_cst
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %end.it ]
  %at = add i64 %i, 2
  %p = getelementptr i64, ptr %e, i64 %at
  br label %turn
turn:
  %k = phi i64 [ 0, %loop ], [ %k.next, %turn ]
  %v = load volatile i64, ptr %p
  %s = add i64 %v, 1
  store volatile i64 %s, ptr %p
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, TURNS
  br i1 %again, label %turn, label %end.it
end.it:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @start(ptr %team, ptr %task, ptr %e, i64 %count, i64 %grain, ptr %active) {
  %before = atomicrmw add ptr %active, i32 1 seq_cst
  %for = load ptr, ptr %team
  call void %for(ptr %team, ptr %task, ptr %e, i64 %count, i64 %grain)
  %after = atomicrmw sub ptr %active, i32 1 seq_cst
  ret void
}
"""


def load_tasks() -> ObjectLibrary:
    """The tasks `count`, `nest` and `slow`, and `start`, which does a job as a kernel does."""
    return ObjectLibrary(
        {"start": compile_object(_TASKS.replace("TURNS", str(TURNS)), opt_level=1)},
        ["count", "nest", "slow"],
    )


def run(
    tasks: ObjectLibrary,
    crew: WorkerTeam,
    name: str,
    count: int,
    grain: int = 1,
    cells: int = 0,
    assemble: bool = True,
) -> tuple[np.ndarray, int]:
    """Do a job; returns how often each iteration was done, and the largest worker's number.

    Args:
        tasks: of `load_tasks`.
        crew: who does it.
        name: of the task.
        count, grain: iterations, and how many are done at least in a row.
        cells: counters, where there are more of them than iterations.
        assemble: whether workers that the team lacks are started before.
    """
    if assemble:
        crew.assemble()
    memory = np.zeros((cells or count) + 2, np.int64)
    memory[0] = crew.address
    words = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2 + [ctypes.c_void_p]
    start = ctypes.CFUNCTYPE(None, *words)(tasks.address("start"))
    idle = np.zeros(1, np.int32)
    active = crew.active or idle.ctypes.data
    start(crew.address, tasks.address(name), memory.ctypes.data, count, grain, active)
    return memory[2:], int(memory[1])
