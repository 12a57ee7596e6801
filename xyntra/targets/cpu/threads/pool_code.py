# SPDX-License-Identifier: MIT OR Apache-2.0
"""Native code of the thread pool, as LLVM IR.

A job is a function over a range, cut into chunks. Whoever is free takes some: fewer as fewer are
left, so that a thread gets long runs of neighbours first, and all end at about the same time
(Polychronopoulos and Kuck, "Guided Self-Scheduling", 1987). One 64-bit word holds the number of the
job and that of its next chunk, and chunks are taken by exchanging the word: a worker that comes
late finds another job's number there and touches nothing. The caller works too, and waits for
chunks that were taken, not for workers: one that is still asleep delays nobody.

Workers that have nothing to do look at the number of the job for a while, longer while a call is
under way, then sleep in a futex. Whoever starts a job reads how many sleep after it has stored the
number; a worker counts itself before the kernel compares the number again: one sees the other.
"""

from __future__ import annotations

import platform
import sys
from string import Template

from xyntra.targets.cpu.interrupts import FLAG
from xyntra.targets.cpu.threads import pool_layout as at
from xyntra.targets.cpu.threads.pool_places import places_source

__all__ = ["is_supported", "pool_source", "serial_source"]

_CHUNKS_A_THREAD = 64  # at most; the end of a job is shared as finely as this
_RUNS_A_THREAD = 2  # that would take what is left, if all of them were as long as the next one
_WAIT, _WAKE = 9 | 128, 10 | 128  # FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET, both private

_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {"x86_64": "llvm.x86.sse2.pause()", "aarch64": "llvm.aarch64.hint(i32 1)"}
_DECLARED = {"x86_64": "llvm.x86.sse2.pause()", "aarch64": "llvm.aarch64.hint(i32)"}

_SERIAL_ANYWHERE = """
define void @xyntra.serial_for(ptr %team, ptr %function, ptr %environment, i64 %count, i64 %grain)
    nounwind {
  call void %function(ptr %environment, i64 0, i64 %count, i64 0)
  ret void
}
"""

# Where the call may be ended by a signal, the flag to look at; elsewhere one that is never set.
_ENDED_FLAG = """
@never = internal constant i32 0

declare i64 @pthread_self()

define internal ptr @ended_flag(ptr %team) nounwind {
entry:
  %state.slot = getelementptr i8, ptr %team, i64 24
  %state = load ptr, ptr %state.slot
  %armed = load atomic i64, ptr %state monotonic, align 8
  %is.armed = icmp ne i64 %armed, 0
  br i1 %is.armed, label %compare, label %nobody
compare:
  %self = call i64 @pthread_self()
  %is.ours = icmp eq i64 %self, %armed
  br i1 %is.ours, label %ours, label %nobody
ours:
  %flag = getelementptr i8, ptr %state, i64 $flag
  ret ptr %flag
nobody:
  ret ptr @never
}

define internal void @run_alone(ptr %ended, ptr %function, ptr %environment, i64 %count,
                                i64 %grain) nounwind {
entry:
  %may.end = icmp ne ptr %ended, @never
  %grain.less = sub i64 %grain, 1
  %padded = add i64 %count, %grain.less
  %pieces = udiv i64 %padded, %grain
  %share = udiv i64 %pieces, $chunks_a_thread
  %share.more = add i64 %share, 1
  %part = mul i64 %share.more, %grain
  %chunk = select i1 %may.end, i64 %part, i64 %count
  br label %look
look:
  %begin = phi i64 [ 0, %entry ], [ %end, %run ]
  %is.left = icmp slt i64 %begin, %count
  %flag = load atomic i32, ptr %ended monotonic, align 4
  %goes.on = icmp eq i32 %flag, 0
  %more = and i1 %is.left, %goes.on
  br i1 %more, label %run, label %out
run:
  %reach = add i64 %begin, %chunk
  %is.last = icmp sgt i64 %reach, %count
  %end = select i1 %is.last, i64 %count, i64 %reach
  call void %function(ptr %environment, i64 %begin, i64 %end, i64 0)
  br label %look
out:
  ret void
}
"""

_SERIAL = Template(
    _ENDED_FLAG
    + """
define void @xyntra.serial_for(ptr %team, ptr %function, ptr %environment, i64 %count, i64 %grain)
    nounwind {
  %ended = call ptr @ended_flag(ptr %team)
  call void @run_alone(ptr %ended, ptr %function, ptr %environment, i64 %count, i64 %grain)
  ret void
}
"""
)

_SOURCE = Template(
    _ENDED_FLAG
    + """
declare i64 @syscall(i64, ptr, i64, i64, ptr, ptr, i64)
declare void @$declared
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @xyntra.parallel_for(ptr %team, ptr %function, ptr %environment, i64 %count, i64 %grain)
    nounwind {
entry:
  %ended = call ptr @ended_flag(ptr %team)
  %pool.slot = getelementptr i8, ptr %team, i64 8
  %pool = load ptr, ptr %pool.slot
  %threads.slot = getelementptr i8, ptr %team, i64 16
  %threads = load i64, ptr %threads.slot
  %active.slot = getelementptr i8, ptr %pool, i64 $active
  %active = load atomic i32, ptr %active.slot monotonic, align 4
  %calls = zext i32 %active to i64
  %all.others = sub i64 %calls, 1
  %others = call i64 @llvm.smax.i64(i64 %all.others, i64 0)
  %free = sub i64 %threads, %others
  %grain.less = sub i64 %grain, 1
  %padded = add i64 %count, %grain.less
  %pieces = udiv i64 %padded, %grain
  %usable = call i64 @llvm.smin.i64(i64 %free, i64 %pieces)
  %several = icmp sgt i64 %usable, 1
  br i1 %several, label %lock, label %alone
lock:
  %owner = getelementptr i8, ptr %pool, i64 $owner
  %tried = cmpxchg ptr %owner, i32 0, i32 1 acquire monotonic, align 4
  %locked = extractvalue { i32, i1 } %tried, 1
  br i1 %locked, label %start, label %alone
start:
  call void @settle(ptr %pool)
  %chunks = call i64 @publish(ptr %pool, ptr %function, ptr %environment, i64 %count, i64 %grain,
                              i64 %pieces, i64 %usable, ptr %ended)
  %own = call i64 @work(ptr %pool, i64 0)
  call void @finish(ptr %pool, i64 %chunks, i64 %usable)
  store atomic i32 0, ptr %owner release, align 4
  ret void
alone:
  call void @run_alone(ptr %ended, ptr %function, ptr %environment, i64 %count, i64 %grain)
  ret void
}

define internal i64 @publish(ptr %pool, ptr %function, ptr %environment, i64 %count, i64 %grain,
                             i64 %pieces, i64 %usable, ptr %ended) nounwind {
entry:
  %wanted = mul i64 %usable, $chunks_a_thread
  %wanted.less = sub i64 %wanted, 1
  %pieces.padded = add i64 %pieces, %wanted.less
  %pieces.each = udiv i64 %pieces.padded, %wanted
  %chunk = mul i64 %pieces.each, %grain
  %chunk.less = sub i64 %chunk, 1
  %count.padded = add i64 %count, %chunk.less
  %chunks = udiv i64 %count.padded, %chunk
  %function.slot = getelementptr i8, ptr %pool, i64 $function
  store ptr %function, ptr %function.slot
  %environment.slot = getelementptr i8, ptr %pool, i64 $environment
  store ptr %environment, ptr %environment.slot
  %count.slot = getelementptr i8, ptr %pool, i64 $count
  store i64 %count, ptr %count.slot
  %chunk.slot = getelementptr i8, ptr %pool, i64 $chunk
  store i64 %chunk, ptr %chunk.slot
  %ended.slot = getelementptr i8, ptr %pool, i64 $ended
  store ptr %ended, ptr %ended.slot
  %done = getelementptr i8, ptr %pool, i64 $done
  store atomic i64 0, ptr %done monotonic, align 8
  %number.slot = getelementptr i8, ptr %pool, i64 $number
  %before = load atomic i32, ptr %number.slot monotonic, align 4
  %number = add i32 %before, 1
  %wide = zext i32 %number to i64
  %high = shl i64 %wide, 32
  %usable.high = shl i64 %usable, 20
  %sizes = or i64 %usable.high, %chunks
  %job = or i64 %high, %sizes
  %job.slot = getelementptr i8, ptr %pool, i64 $job
  store atomic i64 %job, ptr %job.slot release, align 8
  %next = getelementptr i8, ptr %pool, i64 $next
  store atomic i64 %high, ptr %next release, align 8
  store atomic i32 %number, ptr %number.slot seq_cst, align 4
  %sleepers.slot = getelementptr i8, ptr %pool, i64 $sleepers
  %sleepers = load atomic i32, ptr %sleepers.slot seq_cst, align 4
  %none = icmp eq i32 %sleepers, 0
  br i1 %none, label %out, label %wake
wake:
  %many = icmp ugt i64 %usable, 31
  %shift = select i1 %many, i64 0, i64 %usable
  %bit = shl i64 1, %shift
  %below = sub i64 %bit, 1
  %mask = select i1 %many, i64 4294967295, i64 %below
  %woken = call i64 @syscall(i64 $futex, ptr %number.slot, i64 $wake, i64 2147483647, ptr null,
                             ptr null, i64 %mask)
  br label %out
out:
  ret i64 %chunks
}

define internal i64 @work(ptr %pool, i64 %id) nounwind {
entry:
  %next = getelementptr i8, ptr %pool, i64 $next
  %job.slot = getelementptr i8, ptr %pool, i64 $job
  %done = getelementptr i8, ptr %pool, i64 $done
  br label %look
look:
  %did = phi i64 [ 0, %entry ], [ %did, %take ], [ %more, %count.it ], [ %more, %last ],
                  [ %more, %rouse ]
  %at = load atomic i64, ptr %next acquire, align 8
  %job = load atomic i64, ptr %job.slot acquire, align 8
  %differ = xor i64 %at, %job
  %differ.high = lshr i64 %differ, 32
  %same = icmp eq i64 %differ.high, 0
  %index = and i64 %at, 4294967295
  %chunks = and i64 %job, 1048575
  %is.left = icmp ult i64 %index, %chunks
  %sizes = lshr i64 %job, 20
  %usable = and i64 %sizes, 4095
  %is.member = icmp ult i64 %id, %usable
  %open = and i1 %same, %is.left
  %may = and i1 %open, %is.member
  br i1 %may, label %take, label %out
take:
  %left = sub i64 %chunks, %index
  %runs = mul i64 %usable, $runs_a_thread
  %share = udiv i64 %left, %runs
  %size = call i64 @llvm.smax.i64(i64 %share, i64 1)
  %after = add i64 %at, %size
  %pair = cmpxchg ptr %next, i64 %at, i64 %after acq_rel acquire, align 8
  %taken = extractvalue { i64, i1 } %pair, 1
  br i1 %taken, label %run, label %look
run:
  %function.slot = getelementptr i8, ptr %pool, i64 $function
  %function = load ptr, ptr %function.slot
  %environment.slot = getelementptr i8, ptr %pool, i64 $environment
  %environment = load ptr, ptr %environment.slot
  %count.slot = getelementptr i8, ptr %pool, i64 $count
  %count = load i64, ptr %count.slot
  %chunk.slot = getelementptr i8, ptr %pool, i64 $chunk
  %chunk = load i64, ptr %chunk.slot
  %begin = mul i64 %index, %chunk
  %length = mul i64 %size, %chunk
  %reach = add i64 %begin, %length
  %end = call i64 @llvm.smin.i64(i64 %reach, i64 %count)
  %ended.slot = getelementptr i8, ptr %pool, i64 $ended
  %ended = load ptr, ptr %ended.slot
  %flag = load atomic i32, ptr %ended monotonic, align 4
  %goes.on = icmp eq i32 %flag, 0
  br i1 %goes.on, label %do, label %count.it
do:
  call void %function(ptr %environment, i64 %begin, i64 %end, i64 %id)
  br label %count.it
count.it:
  %before = atomicrmw add ptr %done, i64 %size seq_cst, align 8
  %after.it = add i64 %before, %size
  %more = add i64 %did, 1
  %was.last = icmp eq i64 %after.it, %chunks
  br i1 %was.last, label %last, label %look
last:
  %asleep = getelementptr i8, ptr %pool, i64 $asleep
  %sleeps = load atomic i32, ptr %asleep seq_cst, align 4
  %is.awake = icmp eq i32 %sleeps, 0
  br i1 %is.awake, label %look, label %rouse
rouse:
  store atomic i32 0, ptr %asleep seq_cst, align 4
  %roused = call i64 @syscall(i64 $futex, ptr %asleep, i64 $wake, i64 1, ptr null, ptr null,
                              i64 4294967295)
  br label %look
out:
  ret i64 %did
}

define ptr @xyntra.worker(ptr %slot) nounwind {
entry:
  %pool = load ptr, ptr %slot
  %id.slot = getelementptr i8, ptr %slot, i64 $worker_number
  %id = load i64, ptr %id.slot
  %spin.slot = getelementptr i8, ptr %slot, i64 $worker_spin
  %number.slot = getelementptr i8, ptr %pool, i64 $number
  %active.slot = getelementptr i8, ptr %pool, i64 $active
  %sleepers.slot = getelementptr i8, ptr %pool, i64 $sleepers
  %place = and i64 %id, 31
  %mask = shl i64 1, %place
  %spin = load i32, ptr %spin.slot
  %longest = mul i32 %spin, 10
  %inside.slot = getelementptr i8, ptr %slot, i64 $inside
  %moved.slot = getelementptr i8, ptr %slot, i64 $moved
  call void @short_slice()
  br label %look
look:
  %seen = phi i32 [ 0, %entry ], [ %seen, %wait ], [ %seen, %sleep ], [ %number, %go ]
  %idle = phi i32 [ 0, %entry ], [ %idle.more, %wait ], [ 0, %sleep ], [ %idle.kept, %go ]
  %total = phi i32 [ 0, %entry ], [ %total.more, %wait ], [ 0, %sleep ], [ %total.kept, %go ]
  %number = load atomic i32, ptr %number.slot acquire, align 4
  %is.new = icmp ne i32 %number, %seen
  br i1 %is.new, label %go, label %wait
go:
  store atomic i32 1, ptr %inside.slot monotonic, align 4
  %did = call i64 @work(ptr %pool, i64 %id)
  store atomic i32 0, ptr %inside.slot monotonic, align 4
  %nothing = icmp eq i64 %did, 0
  %idle.kept = select i1 %nothing, i32 %idle, i32 0
  %total.kept = select i1 %nothing, i32 %total, i32 0
  br label %look
wait:
  call void @$pause
  %active = load atomic i32, ptr %active.slot monotonic, align 4
  %is.alone = icmp eq i32 %active, 1
  %idle.next = add i32 %idle, 1
  %idle.more = select i1 %is.alone, i32 0, i32 %idle.next
  %total.more = add i32 %total, 1
  %is.cold = icmp ugt i32 %idle.more, %spin
  %is.long = icmp ugt i32 %total.more, %longest
  %is.tired = or i1 %is.cold, %is.long
  %moved = load atomic i32, ptr %moved.slot monotonic, align 4
  %is.guest = icmp ne i32 %moved, 0
  %tired = or i1 %is.tired, %is.guest
  br i1 %tired, label %sleep, label %look
sleep:
  %up = atomicrmw add ptr %sleepers.slot, i32 1 seq_cst, align 4
  %expected = zext i32 %seen to i64
  %slept = call i64 @syscall(i64 $futex, ptr %number.slot, i64 $wait, i64 %expected, ptr null,
                             ptr null, i64 %mask)
  %down = atomicrmw sub ptr %sleepers.slot, i32 1 seq_cst, align 4
  br label %look
}
"""
)


def is_supported() -> bool:
    """Tell whether threads can be had here: on Linux, on x86-64 and AArch64."""
    return sys.platform == "linux" and platform.machine() in _FUTEX


def pool_source() -> str:
    """The functions `xyntra.parallel_for` and `xyntra.worker`."""
    machine = platform.machine()
    code = _SOURCE.substitute(
        futex=_FUTEX[machine],
        pause=_PAUSE[machine],
        declared=_DECLARED[machine],
        next=at.NEXT, done=at.DONE, number=at.NUMBER, sleepers=at.SLEEPERS, owner=at.OWNER,
        asleep=at.ASLEEP, job=at.JOB, function=at.FUNCTION, environment=at.ENVIRONMENT,
        count=at.COUNT, chunk=at.CHUNK, ended=at.ENDED, active=at.ACTIVE,
        worker_number=at.WORKER_NUMBER, worker_spin=at.WORKER_SPIN, inside=at.WORKER_INSIDE,
        moved=at.WORKER_MOVED, chunks_a_thread=_CHUNKS_A_THREAD, runs_a_thread=_RUNS_A_THREAD,
        wait=_WAIT, wake=_WAKE, flag=FLAG,
    )  # fmt: skip
    return code + places_source(machine, futex=_FUTEX[machine], pause=_PAUSE[machine])


def serial_source() -> str:
    """`xyntra.serial_for`: the same as `xyntra.parallel_for` with one thread, for every system."""
    if not is_supported():
        return _SERIAL_ANYWHERE
    return _SERIAL.substitute(flag=FLAG, chunks_a_thread=_CHUNKS_A_THREAD)
