# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a sequence of kernels with one call into native code.

The loop over the steps is machine code of our own, so that between two kernels there are a few
instructions and no Python; the interpreter lock is released for the whole run. It also counts the
calls under way, by which the thread pool knows how long to stay awake.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from functools import lru_cache

from xyntra.targets.cpu.loader import ObjectLibrary

_COUNT_CALLS = """
define internal void @add_call(ptr %active, i32 %change) nounwind {
  %none = icmp eq ptr %active, null
  br i1 %none, label %out, label %add
add:
  %before = atomicrmw add ptr %active, i32 %change seq_cst, align 4
  br label %out
out:
  ret void
}
"""
_REPLAY = """
%step = type { ptr, ptr }

define void @xyntra.replay(ptr %steps, i64 %count, ptr %active, ptr %ended) nounwind {
entry:
  call void @add_call(ptr %active, i32 1)
  %end = getelementptr %step, ptr %steps, i64 %count
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %loop
loop:
  %at = phi ptr [ %steps, %entry ], [ %next, %loop ]
  %function = load ptr, ptr %at
  %slot = getelementptr %step, ptr %at, i64 0, i32 1
  %arguments = load ptr, ptr %slot
  call void %function(ptr %arguments)
  %next = getelementptr %step, ptr %at, i64 1
  %last = icmp eq ptr %next, %end
  %flag = load atomic i32, ptr %ended monotonic, align 4
  %is.ended = icmp ne i32 %flag, 0
  %out = or i1 %last, %is.ended
  br i1 %out, label %done, label %loop
done:
  call void @add_call(ptr %active, i32 -1)
  ret void
}
"""
_TIMED_REPLAY = """
%step = type { ptr, ptr }

declare i32 @clock_gettime(i32, ptr)

define void @xyntra.replay_timed(ptr %steps, i64 %count, ptr %times, i32 %clock, ptr %active)
    nounwind {
entry:
  call void @add_call(ptr %active, i32 1)
  %now = alloca [2 x i64]
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr %step, ptr %steps, i64 %i
  %function = load ptr, ptr %at
  %slot = getelementptr %step, ptr %at, i64 0, i32 1
  %arguments = load ptr, ptr %slot
  %start = call i64 @nanoseconds(i32 %clock, ptr %now)
  call void %function(ptr %arguments)
  %stop = call i64 @nanoseconds(i32 %clock, ptr %now)
  %elapsed = sub i64 %stop, %start
  %time = getelementptr i64, ptr %times, i64 %i
  store i64 %elapsed, ptr %time
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, %count
  br i1 %last, label %done, label %loop
done:
  call void @add_call(ptr %active, i32 -1)
  ret void
}

define internal i64 @nanoseconds(i32 %clock, ptr %now) nounwind {
  call i32 @clock_gettime(i32 %clock, ptr %now)
  %seconds = load i64, ptr %now
  %slot = getelementptr [2 x i64], ptr %now, i64 0, i64 1
  %rest = load i64, ptr %slot
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %rest
  ret i64 %sum
}
"""
_SOURCES = {
    "xyntra.replay": _REPLAY + _COUNT_CALLS,
    "xyntra.replay_timed": _TIMED_REPLAY + _COUNT_CALLS,
}
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_RUN_TIMED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p
)
_NEVER = ctypes.c_int32(0)
_NEVER_ADDRESS = ctypes.addressof(_NEVER)


class StepTable:
    """Kernel calls in order, with their arguments, as native code reads them.

    A table is not thread-safe: one thread at a time may set arguments and run.

    Args:
        calls: for each step the address of a function `void (void**)` and its arguments, pointers
            as integers. What they point to, and the code, must outlive the table.
        active: address of a counter of calls under way (i32), or 0.
        library: holds the objects of `replay_objects`; one is made for the process without it.
    """

    def __init__(
        self,
        calls: Sequence[tuple[int, Sequence[int]]],
        library: ObjectLibrary | None = None,
        active: int = 0,
    ) -> None:
        self._library = library or own_library()
        self._replay = _RUN(self._library.address("xyntra.replay"))
        self._count = len(calls)
        self._active = active
        arguments = sum(len(values) for _, values in calls)
        self._table = (ctypes.c_void_p * (2 * len(calls) + arguments))()
        self._address = ctypes.addressof(self._table)
        self._starts: list[int] = []
        position = 2 * len(calls)
        for step, (function, values) in enumerate(calls):
            self._starts.append(position)
            self._table[2 * step] = function
            self._table[2 * step + 1] = self._address + position * ctypes.sizeof(ctypes.c_void_p)
            self._table[position : position + len(values)] = list(values)
            position += len(values)

    def set(self, step: int, argument: int, address: int) -> None:
        """Let `argument` of `step` point to `address` from the next run on."""
        self._table[self._starts[step] + argument] = address

    def word(self, step: int, argument: int) -> ctypes.c_void_p:
        """Where `argument` of `step` lies: what `value` is set to counts from the next run on."""
        place = self._address + (self._starts[step] + argument) * ctypes.sizeof(ctypes.c_void_p)
        return ctypes.c_void_p.from_address(place)

    def run(self, ended: int = _NEVER_ADDRESS) -> None:
        """Call every step in order.

        Args:
            ended: address of a flag (i32): no step is begun when it is set.
        """
        self._replay(self._address, self._count, self._active, ended)

    def run_timed(self) -> list[int]:
        """Call every step in order and return the nanoseconds that each took."""
        if not hasattr(time, "clock_gettime"):
            return [self._time_step(step) for step in range(self._count)]
        times = (ctypes.c_int64 * max(self._count, 1))()
        replay = _RUN_TIMED(self._library.address("xyntra.replay_timed"))
        clock = time.CLOCK_MONOTONIC
        replay(self._address, self._count, ctypes.addressof(times), clock, self._active)
        return list(times)[: self._count]

    def _time_step(self, step: int) -> int:
        address = self._address + 2 * step * ctypes.sizeof(ctypes.c_void_p)
        start = time.perf_counter_ns()
        self._replay(address, 1, self._active, _NEVER_ADDRESS)
        return time.perf_counter_ns() - start


def replay_objects() -> dict[str, bytes]:
    """Compile the native loops: object code by symbol name, for a `ObjectLibrary` to hold.

    Kept with a model's kernels, it spares the process that runs them all of code generation.
    """
    from xyntra.targets.cpu.codegen import compile_object

    return {name: compile_object(source, opt_level=1) for name, source in _SOURCES.items()}


@lru_cache(maxsize=1)
def own_library() -> ObjectLibrary:
    """Return the native loops of this process, compiled in it."""
    return ObjectLibrary(replay_objects())
