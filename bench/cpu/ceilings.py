# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures the peaks of this machine: FMAs, and copies of a given size, with so many threads.

Both are measured with machine code of our own: a loop of independent fused multiply-adds on the
widest vectors; and copies, by the C library's `memcpy` and by a loop whose stores go past the
caches, of which the faster counts. Every thread copies a part of its own; a copy of B bytes reads
B/2 and writes B/2.
"""

from __future__ import annotations

import ctypes
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.device import host_device
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.memory import address_of, allocate

__all__ = ["BEYOND_CACHES", "copy_bandwidth", "fma_peak"]

BEYOND_CACHES = 1 << 29
_REPEATS = 5
_ACCUMULATORS = 12
"""Enough to cover the latency of an FMA on every processor that we know, within 16 registers."""
_BLOCK = 64
_FMA_SECONDS = 0.02
_COPIED = 1 << 28
"""Bytes that one measurement of a copy moves at least."""


def fma_peak(threads: int) -> float:
    """Floating-point operations a second of `threads` threads that do FMAs on f32, best of a few.

    An FMA counts as two.
    """
    per_iteration = 2 * _ACCUMULATORS * (host_device().vector_bits // 32)
    iterations = 1 << 16
    while _fma_seconds(threads, iterations) < _FMA_SECONDS:
        iterations *= 2
    best = min(_fma_seconds(threads, iterations) for _ in range(_REPEATS))
    return threads * iterations * per_iteration / best


def _fma_seconds(threads: int, iterations: int) -> float:
    function = _function("fma")
    return _together(threads, lambda _: function(iterations))


def copy_bandwidth(threads: int, nbytes: int) -> float:
    """Bytes a second, read and written, of a copy that touches `nbytes` in all; median of a few."""
    part = -(-nbytes // (2 * threads * _BLOCK)) * _BLOCK
    arrays = [(allocate(part), allocate(part)) for _ in range(threads)]
    for target, source in arrays:
        # Memory that was never written is one page of zeros, however large.
        target.fill(1)
        source.fill(2)
    places = [(address_of(target), address_of(source)) for target, source in arrays]
    times = max(_COPIED // (2 * part * threads), 1)
    loops = ("memcpy_loop", "stream_loop")
    fastest = min(_copy_seconds(name, places, part, times) for name in loops)
    return 2 * part * threads * times / fastest


def _copy_seconds(name: str, places: Sequence[tuple[int, int]], part: int, times: int) -> float:
    function = _function(name)

    def copy(thread: int) -> None:
        function(*places[thread], part, times)

    _together(len(places), copy)
    return statistics.median(_together(len(places), copy) for _ in range(_REPEATS))


def _together(threads: int, work: Callable[[int], object]) -> float:
    """Seconds until `work(0)`, `work(1)` … are done, each in a thread of its own."""
    barrier = threading.Barrier(threads + 1)

    def run(index: int) -> None:
        barrier.wait()
        work(index)
        barrier.wait()

    started = [threading.Thread(target=run, args=(index,)) for index in range(threads)]
    for thread in started:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - start
    for thread in started:
        thread.join()
    return seconds


_COPIES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_KINDS = {
    "fma": ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64),
    "memcpy_loop": _COPIES,
    "stream_loop": _COPIES,
}


def _function(name: str) -> Callable[..., object]:
    return _KINDS[name](_library().address(name))


@lru_cache(maxsize=1)
def _library() -> ObjectLibrary:
    sources = {"fma": _fma_source(), "memcpy_loop": _MEMCPY, "stream_loop": _stream_source()}
    return ObjectLibrary({name: compile_object(source) for name, source in sources.items()})


def _fma_source() -> str:
    """A function of a number of iterations, in which every accumulator gets one FMA."""
    lanes = host_device().vector_bits // 32
    kind = f"<{lanes} x float>"
    every = range(_ACCUMULATORS)
    # Equal accumulators would be computed once.
    starts = [f"<{', '.join([f'float {i + 1}.0'] * lanes)}>" for i in every]
    phis = [f"%a{i} = phi {kind} [ {starts[i]}, %entry ], [ %b{i}, %loop ]" for i in every]
    steps = [
        f"%b{i} = call {kind} @llvm.fma({kind} %a{i}, {kind} %factor, {kind} %factor)"
        for i in every
    ]
    sums = [f"%s{i} = fadd {kind} %b{i}, {f'%s{i - 1}' if i else '%factor'}" for i in every]
    lines = "\n  ".join
    return f"""
declare {kind} @llvm.fma({kind}, {kind}, {kind})
define float @fma(i64 %iterations) {{
entry:
  %number = sitofp i64 %iterations to float
  %small = fdiv float 1.0, %number
  %one = insertelement {kind} poison, float %small, i32 0
  %factor = shufflevector {kind} %one, {kind} poison, <{lanes} x i32> zeroinitializer
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {lines(phis)}
  {lines(steps)}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %iterations
  br i1 %more, label %loop, label %end
end:
  {lines(sums)}
  %result = extractelement {kind} %s{_ACCUMULATORS - 1}, i32 0
  ret float %result
}}
"""


_MEMCPY = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @memcpy_loop(ptr %to, ptr %from, i64 %bytes, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void asm sideeffect "", "~{memory}"()
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def _stream_source() -> str:
    """Copies blocks with stores past the caches; both pointers are multiples of a block."""
    kind = f"<{_BLOCK // 4} x float>"
    return f"""
define void @stream_loop(ptr %to, ptr %from, i64 %bytes, i64 %times) {{
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %done ]
  br label %block
block:
  %at = phi i64 [ 0, %again ], [ %after, %block ]
  %source = getelementptr i8, ptr %from, i64 %at
  %target = getelementptr i8, ptr %to, i64 %at
  %value = load {kind}, ptr %source
  store {kind} %value, ptr %target, !nontemporal !0
  %after = add i64 %at, {_BLOCK}
  %rest = icmp slt i64 %after, %bytes
  br i1 %rest, label %block, label %done
done:
  call void asm sideeffect "", "~{{memory}}"()
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %again, label %end
end:
  ret void
}}
!0 = !{{i32 1}}
"""
