# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR that makes a context current for one call, and lets a stream wait for another."""

from __future__ import annotations

__all__ = ["CONTEXT_CODE", "LAUNCH_IN_ORDER"]

CONTEXT_CODE = """
define internal i1 @enter(ptr %context, ptr %get, ptr %push, ptr %pushed) nounwind {
  %current = alloca ptr, align 8
  store i1 false, ptr %pushed
  %got = call i32 %get(ptr %current)
  %found = load ptr, ptr %current
  %same = icmp eq ptr %found, %context
  %fine = icmp eq i32 %got, 0
  %there = and i1 %same, %fine
  br i1 %there, label %done, label %change
change:
  %status = call i32 %push(ptr %context)
  %entered = icmp eq i32 %status, 0
  store i1 %entered, ptr %pushed
  ret i1 %entered
done:
  ret i1 true
}

define internal void @leave(ptr %pop, ptr %pushed) nounwind {
  %popped = alloca ptr, align 8
  %was = load i1, ptr %pushed
  br i1 %was, label %undo, label %done
undo:
  %status = call i32 %pop(ptr %popped)
  br label %done
done:
  ret void
}

define internal i32 @follow(ptr %stream, ptr %word, ptr %fence, ptr %record, ptr %wait) nounwind {
  %last = load ptr, ptr %word
  %same = icmp eq ptr %last, %stream
  br i1 %same, label %done, label %other
other:
  %recorded = call i32 %record(ptr %fence, ptr %last)
  %is.recorded = icmp eq i32 %recorded, 0
  br i1 %is.recorded, label %order, label %failed
order:
  %ordered = call i32 %wait(ptr %stream, ptr %fence, i32 0)
  %is.ordered = icmp eq i32 %ordered, 0
  br i1 %is.ordered, label %note, label %failed
note:
  store ptr %stream, ptr %word
  br label %done
failed:
  %status = phi i32 [ %recorded, %other ], [ %ordered, %order ]
  ret i32 %status
done:
  ret i32 0
}
"""
"""`enter` tells whether the context is current now; `leave` undoes what it did. `follow` lets a
stream wait for the one in a word, if that is another one, and puts it there; a status."""

LAUNCH_IN_ORDER = """\
  %follow.status = call i32 @follow(ptr %stream, ptr %last_stream, ptr %fence, ptr %record,
                                    ptr %wait)
  %follows = icmp eq i32 %follow.status, 0
  br i1 %follows, label %go, label %over
go:
  %launch.status = call i32 %launch(ptr %graph, ptr %stream)
  br label %over
over:
  %status = phi i32 [ %follow.status, %launched ], [ %launch.status, %go ]
  call void @leave(ptr %pop_context, ptr %pushed)
  call void %restore_thread(ptr %thread)
  %wide = sext i32 %status to i64
  %result = call ptr %from_long(i64 %wide)
  ret ptr %result
"""
"""The end of a function, behind its label `launched`: launches the graph, leaves the context and
returns the status as an object."""
