# SPDX-License-Identifier: MIT OR Apache-2.0
"""Native code that decides where workers of the thread pool run, as LLVM IR.

Every worker is pinned to a core, so that no two share one, and none has that of the caller. A pin
gives way where somebody else keeps the core busy: a caller that has nothing left to do but wait
looks at the processor time of the workers that hold chunks. One whose clock stands still does not
run; the caller takes it to its own CPU, and sleeps until the chunks are done. That worker then
roams: the system may put it on any core but the caller's, until there were many jobs without need
of such a rescue.

`xyntra.short_slice` asks the scheduler for short turns of a worker instead of long ones (Linux 6.12
and newer): one that wakes then comes before threads that merely spin. Its share of the processor
stays what it was.
"""

from __future__ import annotations

from string import Template

from xyntra.targets.cpu.threads import pool_layout as at

__all__ = ["CALLS", "places_source"]

_CALM = 2048  # jobs without a rescue, after which workers are pinned again
_FIRST_LOOK = 500  # turns of waiting; each next look comes after twice as many
_LAST_LOOK = 10000  # turns between two looks, from which on the caller sleeps as well
_SLICE = 100_000  # ns: the least that Linux admits
_WAIT = 0 | 128  # FUTEX_WAIT, private, with a relative time-out

CALLS = {
    "x86_64": {"getattr": 315, "setattr": 314},
    "aarch64": {"getattr": 275, "setattr": 274},
}
"""Numbers of the system calls that read and write how a thread is scheduled."""

_SOURCE = Template("""
@patience = internal constant [2 x i64] [i64 0, i64 1000000]

declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
declare i32 @clock_gettime(i32, ptr)

define internal ptr @slot_of(ptr %pool, i64 %worker) nounwind {
  %start = mul i64 %worker, $slot_bytes
  %offset = add i64 %start, $slots
  %slot = getelementptr i8, ptr %pool, i64 %offset
  ret ptr %slot
}

define internal void @bind_to(ptr %slot, i32 %cpu) nounwind {
entry:
  %mask = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %is.known = icmp ult i32 %cpu, $known_cpus
  br i1 %is.known, label %set, label %out
set:
  %wide = zext i32 %cpu to i64
  %word.number = lshr i64 %wide, 6
  %word = getelementptr i64, ptr %mask, i64 %word.number
  %place = and i64 %wide, 63
  %bit = shl i64 1, %place
  store i64 %bit, ptr %word
  call void @bind(ptr %slot, ptr %mask)
  br label %out
out:
  ret void
}

define internal void @bind(ptr %slot, ptr %mask) nounwind {
  %thread.slot = getelementptr i8, ptr %slot, i64 $thread
  %thread = load i64, ptr %thread.slot
  %failed = call i32 @pthread_setaffinity_np(i64 %thread, i64 128, ptr %mask)
  ret void
}

define internal void @let_roam(ptr %pool, ptr %slot) nounwind {
entry:
  %mask = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %home.slot = getelementptr i8, ptr %pool, i64 $home
  %home = load i32, ptr %home.slot
  %cores = getelementptr i8, ptr %pool, i64 $cores
  %allowed = getelementptr i8, ptr %pool, i64 $allowed
  br label %loop
loop:
  %cpu = phi i64 [ 0, %entry ], [ %next, %loop ]
  %any = phi i64 [ 0, %entry ], [ %any.now, %loop ]
  %word.number = lshr i64 %cpu, 6
  %from = getelementptr i64, ptr %allowed, i64 %word.number
  %may = load i64, ptr %from
  %place = and i64 %cpu, 63
  %bit = shl i64 1, %place
  %core.slot = getelementptr i32, ptr %cores, i64 %cpu
  %core = load i32, ptr %core.slot
  %is.other = icmp ne i32 %core, %home
  %wanted = select i1 %is.other, i64 %bit, i64 0
  %taken = and i64 %wanted, %may
  %to = getelementptr i64, ptr %mask, i64 %word.number
  %before = load i64, ptr %to
  %after = or i64 %before, %taken
  store i64 %after, ptr %to
  %any.now = or i64 %any, %taken
  %next = add i64 %cpu, 1
  %more = icmp ult i64 %next, $known_cpus
  br i1 %more, label %loop, label %set
set:
  %nowhere = icmp eq i64 %any.now, 0
  %chosen = select i1 %nowhere, ptr %allowed, ptr %mask
  call void @bind(ptr %slot, ptr %chosen)
  ret void
}

define internal void @place(ptr %pool, ptr %slot) nounwind {
entry:
  %core.slot = getelementptr i8, ptr %slot, i64 $core
  %core = load i32, ptr %core.slot
  %roams.slot = getelementptr i8, ptr %slot, i64 $roams
  %roams = load i32, ptr %roams.slot
  %has.none = icmp slt i32 %core, 0
  br i1 %has.none, label %anywhere, label %compare
anywhere:
  %allowed = getelementptr i8, ptr %pool, i64 $allowed
  call void @bind(ptr %slot, ptr %allowed)
  ret void
compare:
  %is.pinned = icmp eq i32 %roams, 0
  br i1 %is.pinned, label %pinned, label %roaming
pinned:
  call void @bind_to(ptr %slot, i32 %core)
  ret void
roaming:
  call void @let_roam(ptr %pool, ptr %slot)
  ret void
}

define internal void @settle(ptr %pool) nounwind {
entry:
  %cpu = call i32 @sched_getcpu()
  %is.known = icmp ult i32 %cpu, $known_cpus
  br i1 %is.known, label %known, label %out
known:
  %cores = getelementptr i8, ptr %pool, i64 $cores
  %cpu.wide = zext i32 %cpu to i64
  %core.slot = getelementptr i32, ptr %cores, i64 %cpu.wide
  %core = load i32, ptr %core.slot
  %home.slot = getelementptr i8, ptr %pool, i64 $home
  %home = load i32, ptr %home.slot
  %has.moved = icmp ne i32 %core, %home
  %roaming.slot = getelementptr i8, ptr %pool, i64 $roaming
  %roaming = load i32, ptr %roaming.slot
  %some.roam = icmp ne i32 %roaming, 0
  %again.slot = getelementptr i8, ptr %pool, i64 $pin_again
  %again = load i32, ptr %again.slot
  %number.slot = getelementptr i8, ptr %pool, i64 $number
  %number = load atomic i32, ptr %number.slot monotonic, align 4
  %passed = sub i32 %number, %again
  %is.time = icmp sge i32 %passed, 0
  %is.calm = and i1 %some.roam, %is.time
  %changes = or i1 %has.moved, %is.calm
  br i1 %changes, label %change, label %out
change:
  %left = select i1 %is.calm, i32 0, i32 %roaming
  store i32 %left, ptr %roaming.slot
  store i32 %core, ptr %home.slot
  %workers.slot = getelementptr i8, ptr %pool, i64 $workers
  %workers = load i32, ptr %workers.slot
  %workers.wide = zext i32 %workers to i64
  br label %look
look:
  %i = phi i64 [ 0, %change ], [ %following, %other ]
  %is.worker = icmp ult i64 %i, %workers.wide
  br i1 %is.worker, label %compare, label %out
compare:
  %slot = call ptr @slot_of(ptr %pool, i64 %i)
  %its.slot = getelementptr i8, ptr %slot, i64 $core
  %its = load i32, ptr %its.slot
  %is.here = icmp eq i32 %its, %core
  %meets = and i1 %is.here, %has.moved
  %its.next = select i1 %meets, i32 %home, i32 %its
  store i32 %its.next, ptr %its.slot
  %roams.slot = getelementptr i8, ptr %slot, i64 $roams
  %roamed = load i32, ptr %roams.slot
  %roams = select i1 %is.calm, i32 0, i32 %roamed
  store i32 %roams, ptr %roams.slot
  %did.roam = icmp ne i32 %roamed, 0
  %moves = or i1 %meets, %did.roam
  br i1 %moves, label %move, label %other
move:
  call void @place(ptr %pool, ptr %slot)
  br label %other
other:
  %following = add i64 %i, 1
  br label %look
out:
  ret void
}

define internal void @finish(ptr %pool, i64 %chunks, i64 %usable) nounwind {
entry:
  %done = getelementptr i8, ptr %pool, i64 $done
  %asleep = getelementptr i8, ptr %pool, i64 $asleep
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %turns, %spin ], [ 0, %check ], [ 0, %doze ]
  %limit = phi i64 [ $first_look, %entry ], [ %limit, %spin ], [ %longer, %check ],
                   [ %longer, %doze ]
  %moved = phi i64 [ 0, %entry ], [ %moved, %spin ], [ %moved, %check ], [ %moved.all, %doze ]
  %turns = add i64 %turn, 1
  %now = load atomic i64, ptr %done acquire, align 8
  %all = icmp eq i64 %now, %chunks
  br i1 %all, label %over, label %more
more:
  %is.short = icmp ult i64 %turn, %limit
  br i1 %is.short, label %spin, label %check
spin:
  call void @$pause
  br label %look
check:
  %twice = mul i64 %limit, 2
  %longer = call i64 @llvm.smin.i64(i64 %twice, i64 $last_look)
  %moved.now = call i64 @rescue(ptr %pool, i64 %chunks, i64 %usable)
  %moved.all = or i64 %moved, %moved.now
  %has.moved = icmp ne i64 %moved.now, 0
  %is.long = icmp eq i64 %limit, $last_look
  %may.sleep = or i1 %has.moved, %is.long
  br i1 %may.sleep, label %lie.down, label %look
lie.down:
  store atomic i32 1, ptr %asleep seq_cst, align 4
  %then = load atomic i64, ptr %done seq_cst, align 8
  %too.late = icmp eq i64 %then, %chunks
  br i1 %too.late, label %over, label %doze
doze:
  %slept = call i64 @syscall(i64 $futex, ptr %asleep, i64 $wait_a_while, i64 1, ptr @patience,
                             ptr null, i64 0)
  br label %look
over:
  %were.moved = phi i64 [ %moved, %look ], [ %moved.all, %lie.down ]
  store atomic i32 0, ptr %asleep monotonic, align 4
  %none = icmp eq i64 %were.moved, 0
  br i1 %none, label %out, label %return
return:
  call void @send_back(ptr %pool, i64 %usable)
  br label %out
out:
  ret void
}

define internal i64 @rescue(ptr %pool, i64 %chunks, i64 %usable) nounwind {
entry:
  %done = getelementptr i8, ptr %pool, i64 $done
  %cpu = call i32 @sched_getcpu()
  %workers = sub i64 %usable, 1
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %skip ]
  %count = phi i64 [ 0, %entry ], [ %counted, %skip ]
  %is.worker = icmp slt i64 %i, %workers
  %now = load atomic i64, ptr %done acquire, align 8
  %is.left = icmp ne i64 %now, %chunks
  %goes.on = and i1 %is.worker, %is.left
  br i1 %goes.on, label %see, label %out
see:
  %slot = call ptr @slot_of(ptr %pool, i64 %i)
  %inside.slot = getelementptr i8, ptr %slot, i64 $inside
  %inside = load atomic i32, ptr %inside.slot monotonic, align 4
  %is.outside = icmp eq i32 %inside, 0
  br i1 %is.outside, label %skip, label %clock
clock:
  %stands = call i1 @stands_still(ptr %slot)
  br i1 %stands, label %move, label %skip
move:
  %moved.slot = getelementptr i8, ptr %slot, i64 $moved
  store atomic i32 1, ptr %moved.slot monotonic, align 4
  call void @bind_to(ptr %slot, i32 %cpu)
  %rescues.slot = getelementptr i8, ptr %pool, i64 $rescues
  %rescues = load i32, ptr %rescues.slot
  %rescues.more = add i32 %rescues, 1
  store i32 %rescues.more, ptr %rescues.slot
  br label %skip
skip:
  %plus = phi i64 [ 0, %see ], [ 0, %clock ], [ 1, %move ]
  %counted = add i64 %count, %plus
  %next = add i64 %i, 1
  br label %loop
out:
  ret i64 %count
}

define internal i1 @stands_still(ptr %slot) nounwind {
entry:
  %now = alloca [2 x i64], align 8
  %clock.slot = getelementptr i8, ptr %slot, i64 $clock
  %clock = load i32, ptr %clock.slot
  %failed = call i32 @clock_gettime(i32 %clock, ptr %now)
  %is.known = icmp eq i32 %failed, 0
  br i1 %is.known, label %compare, label %unknown
compare:
  %seconds = load i64, ptr %now
  %rest.slot = getelementptr i64, ptr %now, i64 1
  %rest = load i64, ptr %rest.slot
  %scaled = mul i64 %seconds, 1000000000
  %time = add i64 %scaled, %rest
  %seen.slot = getelementptr i8, ptr %slot, i64 $seen
  %seen = load i64, ptr %seen.slot
  store i64 %time, ptr %seen.slot
  %same = icmp eq i64 %time, %seen
  ret i1 %same
unknown:
  ret i1 0
}

define internal void @send_back(ptr %pool, i64 %usable) nounwind {
entry:
  %workers = sub i64 %usable, 1
  %number.slot = getelementptr i8, ptr %pool, i64 $number
  %number = load atomic i32, ptr %number.slot monotonic, align 4
  %again = add i32 %number, $calm
  %again.slot = getelementptr i8, ptr %pool, i64 $pin_again
  store i32 %again, ptr %again.slot
  %roaming.slot = getelementptr i8, ptr %pool, i64 $roaming
  store i32 1, ptr %roaming.slot
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %skip ]
  %is.worker = icmp slt i64 %i, %workers
  br i1 %is.worker, label %see, label %out
see:
  %slot = call ptr @slot_of(ptr %pool, i64 %i)
  %moved.slot = getelementptr i8, ptr %slot, i64 $moved
  %moved = load atomic i32, ptr %moved.slot monotonic, align 4
  %is.away = icmp eq i32 %moved, 0
  br i1 %is.away, label %skip, label %back
back:
  %roams.slot = getelementptr i8, ptr %slot, i64 $roams
  store i32 1, ptr %roams.slot
  call void @place(ptr %pool, ptr %slot)
  store atomic i32 0, ptr %moved.slot monotonic, align 4
  br label %skip
skip:
  %next = add i64 %i, 1
  br label %loop
out:
  ret void
}

define internal void @short_slice() nounwind {
entry:
  %attributes = alloca [8 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %attributes, i8 0, i64 64, i1 false)
  %address = ptrtoint ptr %attributes to i64
  %failed = call i64 @syscall(i64 $getattr, ptr null, i64 %address, i64 48, ptr null, ptr null,
                              i64 0)
  %policy.slot = getelementptr i8, ptr %attributes, i64 4
  %policy = load i32, ptr %policy.slot
  %policy.wide = zext i32 %policy to i64
  %wrong = or i64 %failed, %policy.wide
  %is.usual = icmp eq i64 %wrong, 0
  br i1 %is.usual, label %set, label %out
set:
  %runtime.slot = getelementptr i8, ptr %attributes, i64 24
  store i64 $slice, ptr %runtime.slot
  %status = call i64 @syscall(i64 $setattr, ptr null, i64 %address, i64 0, ptr null, ptr null,
                              i64 0)
  br label %out
out:
  ret void
}
""")


def places_source(machine: str, *, futex: int, pause: str) -> str:
    """The functions `settle`, `finish` and `short_slice`, for `machine` as Python names it.

    Args:
        futex, pause: the number of that system call, and what to call while spinning.
    """
    return _SOURCE.substitute(
        CALLS[machine], futex=futex, pause=pause,
        known_cpus=at.KNOWN_CPUS, slots=at.SLOTS, slot_bytes=at.SLOT_BYTES,
        done=at.DONE, number=at.NUMBER, asleep=at.ASLEEP, home=at.HOME, workers=at.WORKERS,
        roaming=at.ROAMING, pin_again=at.PIN_AGAIN, rescues=at.RESCUES, allowed=at.ALLOWED,
        cores=at.CORES, thread=at.WORKER_THREAD, core=at.WORKER_CORE, clock=at.WORKER_CLOCK,
        inside=at.WORKER_INSIDE, seen=at.WORKER_SEEN, roams=at.WORKER_ROAMS,
        moved=at.WORKER_MOVED, calm=_CALM, first_look=_FIRST_LOOK, last_look=_LAST_LOOK,
        slice=_SLICE, wait_a_while=_WAIT,
    )  # fmt: skip
