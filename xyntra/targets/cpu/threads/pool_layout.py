# SPDX-License-Identifier: MIT OR Apache-2.0
"""Byte offsets in the memory of the thread pool, which Python and native code share.

What different threads write lies in cache lines of its own.
"""

from __future__ import annotations

__all__ = [
    "ACTIVE",
    "ALLOWED",
    "ASLEEP",
    "CHUNK",
    "CORES",
    "COUNT",
    "DONE",
    "ENDED",
    "ENVIRONMENT",
    "FUNCTION",
    "HOME",
    "JOB",
    "KNOWN_CPUS",
    "MAX_WORKERS",
    "NEXT",
    "NUMBER",
    "OWNER",
    "PIN_AGAIN",
    "POOL_BYTES",
    "RESCUES",
    "ROAMING",
    "SLEEPERS",
    "SLOTS",
    "SLOT_BYTES",
    "WORKERS",
    "WORKER_CLOCK",
    "WORKER_CORE",
    "WORKER_INSIDE",
    "WORKER_MOVED",
    "WORKER_NUMBER",
    "WORKER_POOL",
    "WORKER_ROAMS",
    "WORKER_SEEN",
    "WORKER_SPIN",
    "WORKER_THREAD",
]

KNOWN_CPUS = 1024

NEXT, DONE = 0, 64
"""Number of the job and its next chunk, 32 bits each; chunks that are done: i64."""
NUMBER, JOB, FUNCTION, ENVIRONMENT, COUNT, CHUNK, ENDED = 128, 136, 144, 152, 160, 168, 176
"""Number of the job: i32; the job itself: number, members and chunks in one i64, then the rest."""
SLEEPERS, OWNER, ASLEEP, ACTIVE = 192, 256, 260, 320
"""Workers that sleep; whether a job is under way, whether its caller sleeps; calls: i32."""
HOME, WORKERS, ROAMING, PIN_AGAIN, RESCUES = 384, 388, 392, 396, 400
"""Core of the last caller, which has no worker; number of workers; whether some of them roam, and
the number of the job before which they are pinned again; workers that were rescued: i32."""
ALLOWED = 448
"""A bit for every CPU that workers may use."""
CORES = ALLOWED + KNOWN_CPUS // 8
"""Core of every CPU: i32."""
SLOTS = CORES + 4 * KNOWN_CPUS
SLOT_BYTES = 64
WORKER_POOL, WORKER_NUMBER, WORKER_THREAD = 0, 8, 16
"""Address of the pool; number from 1: i64; pthread_t."""
WORKER_CORE, WORKER_SPIN, WORKER_CLOCK = 24, 28, 32
"""Its own core, or -1; turns of waiting before it sleeps; clock of its processor time: i32."""
WORKER_INSIDE, WORKER_SEEN = 36, 40
"""Whether it may hold chunks: i32; what its clock showed when the caller last looked: i64."""
WORKER_ROAMS, WORKER_MOVED = 48, 52
"""Whether it is not pinned to its core, and whether it is on the caller's: i32."""
MAX_WORKERS = 1023
POOL_BYTES = SLOTS + SLOT_BYTES * MAX_WORKERS
