# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with small arrays of numpy's, as LLVM IR: into page-locked memory, launch, and back.

`start(*inputs)` copies arrays that fit, and launches; it returns the driver's status, or None, with
nothing done, where an array is not as expected. `finish(*outputs)` looks out for the words that the
GPU sets at the end, for some microseconds, then copies into new arrays: 0, or 1 if it is not there
yet. Both leave the interpreter to other threads meanwhile.
"""

from __future__ import annotations

import ctypes

from xyntra.targets.cuda.native.builtins import BYTES_OFFSET, TYPE_OFFSET
from xyntra.targets.cuda.native.context_code import LAUNCH_IN_ORDER
from xyntra.targets.cuda.native.ir_text import fields, loaded

__all__ = [
    "ARRAY_CODE",
    "DATA",
    "DTYPE",
    "FLAGS",
    "PLAIN",
    "RANK",
    "SHAPE",
    "ArrayTable",
    "ExpectedArray",
]


class ExpectedArray(ctypes.Structure):
    """The array that an argument has to be.

    Attributes:
        dtype: numpy's object.
        shape: address of the dimensions, 64 bits each.
        rank: number of dimensions.
        staged: where it is copied to, or from.
        nbytes: of the array.
    """

    _fields_ = (
        ("dtype", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("staged", ctypes.c_void_p),
        ("nbytes", ctypes.c_int64),
    )


class ArrayTable(ctypes.Structure):
    """The table that the code reads: addresses, but for numbers.

    Attributes:
        get_context: cuCtxGetCurrent; likewise push_context, pop_context and launch of the driver.
        record: cuEventRecord.
        wait: cuStreamWaitEvent.
        fence: an event for one stream to wait for another.
        context: of the GPU.
        array: numpy's type of arrays.
        none: Python's None.
        copy: memcpy.
        graph: what is launched.
        stream: on which.
        last_stream: a word, the stream of the call before this one; -1 where Python has to see to
            the order.
        words: that the GPU sets, 32 bits each.
        expected: an `ExpectedArray` for each input, then for each output.
        inputs: number of inputs.
        outputs: number of outputs.
        word_count: number of words.
        looks: how often they are looked at in all.
    """

    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("get_context", "push_context", "pop_context", "launch"),
                *("record", "wait", "fence"),
                *("save_thread", "restore_thread", "from_long", "copy", "retain"),
                *("context", "array", "none", "graph", "stream", "last_stream"),
                *("words", "expected"),
            )
        ),
        *((name, ctypes.c_int64) for name in ("inputs", "outputs", "word_count", "looks")),
    )


# Offsets in numpy's PyArrayObject, and its flags NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED.
DATA, RANK, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
PLAIN = 0x101
_SELF = loaded("table", "self", BYTES_OFFSET, "ptr")

_FITS = f"""
define internal i1 @fits(ptr %object, ptr %array, ptr %expected) nounwind {{
entry:
{loaded("type", "object", TYPE_OFFSET, "ptr")}
  %is.array = icmp eq ptr %type, %array
  br i1 %is.array, label %check, label %no
no:
  ret i1 false
check:
{loaded("dtype", "expected", ExpectedArray.dtype.offset, "ptr")}
{loaded("rank", "expected", ExpectedArray.rank.offset)}
{loaded("shape", "expected", ExpectedArray.shape.offset, "ptr")}
{loaded("given.dtype", "object", DTYPE, "ptr")}
{loaded("given.rank", "object", RANK, "i32")}
{loaded("given.shape", "object", SHAPE, "ptr")}
{loaded("flags", "object", FLAGS, "i32")}
  %wide = zext i32 %given.rank to i64
  %plain = and i32 %flags, {PLAIN}
  %is.plain = icmp eq i32 %plain, {PLAIN}
  %same.dtype = icmp eq ptr %dtype, %given.dtype
  %same.rank = icmp eq i64 %rank, %wide
  %both = and i1 %same.dtype, %same.rank
  %usable = and i1 %both, %is.plain
  br i1 %usable, label %loop, label %no
loop:
  %i = phi i64 [ 0, %check ], [ %next, %same ]
  %all = icmp eq i64 %i, %rank
  br i1 %all, label %yes, label %size
size:
  %want.at = getelementptr i64, ptr %shape, i64 %i
  %want = load i64, ptr %want.at
  %have.at = getelementptr i64, ptr %given.shape, i64 %i
  %have = load i64, ptr %have.at
  %equal = icmp eq i64 %want, %have
  br i1 %equal, label %same, label %no
same:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
}}

define internal void @move(ptr %copy, ptr %object, ptr %expected, i1 %in) nounwind {{
{loaded("data", "object", DATA, "ptr")}
{loaded("staged", "expected", ExpectedArray.staged.offset, "ptr")}
{loaded("nbytes", "expected", ExpectedArray.nbytes.offset)}
  %target = select i1 %in, ptr %staged, ptr %data
  %source = select i1 %in, ptr %data, ptr %staged
  call ptr %copy(ptr %target, ptr %source, i64 %nbytes)
  ret void
}}

define internal void @move_all(ptr %copy, ptr %given, i64 %count, ptr %expected, i1 %in) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %one ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %done, label %one
one:
  %object.at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object.at
  %wanted = getelementptr %ExpectedArray, ptr %expected, i64 %i
  call void @move(ptr %copy, ptr %object, ptr %wanted, i1 %in)
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}}
"""

_START = f"""
define ptr @start(ptr %self, ptr %given, i64 %count) nounwind {{
entry:
  %pushed = alloca i1, align 1
{_SELF}
{fields(ArrayTable, "none", "inputs", "array", "expected", "stream", "last_stream", "copy")}
{fields(ArrayTable, "context", "get_context", "push_context", "pop_context", "launch")}
{fields(ArrayTable, "graph", "word_count", "record", "wait", "fence")}
{fields(ArrayTable, "save_thread", "restore_thread", "from_long", "words", "retain")}
  %enough = icmp eq i64 %count, %inputs
  %last = load ptr, ptr %last_stream
  %nobody = inttoptr i64 -1 to ptr
  %is.known = icmp ne ptr %last, %nobody
  %usual = and i1 %enough, %is.known
  br i1 %usual, label %loop, label %no
no:
  call void %retain(ptr %none)
  ret ptr %none
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %fitting ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %enter, label %one
one:
  %object.at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object.at
  %wanted = getelementptr %ExpectedArray, ptr %expected, i64 %i
  %is.fitting = call i1 @fits(ptr %object, ptr %array, ptr %wanted)
  br i1 %is.fitting, label %fitting, label %no
fitting:
  %next = add i64 %i, 1
  br label %loop
enter:
  %inside = call i1 @enter(ptr %context, ptr %get_context, ptr %push_context, ptr %pushed)
  br i1 %inside, label %copying, label %no
copying:
  %thread = call ptr %save_thread()
  call void @move_all(ptr %copy, ptr %given, i64 %count, ptr %expected, i1 true)
  br label %words.loop
words.loop:
  %w = phi i64 [ 0, %copying ], [ %w.next, %word ]
  %cleared = icmp eq i64 %w, %word_count
  br i1 %cleared, label %launched, label %word
word:
  %word.at = getelementptr i32, ptr %words, i64 %w
  store atomic i32 0, ptr %word.at release, align 4
  %w.next = add i64 %w, 1
  br label %words.loop
launched:
{LAUNCH_IN_ORDER}}}
"""

_FINISH = f"""
define internal i1 @ended(ptr %words, i64 %count, i64 %looks) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %is.set ]
  %left = phi i64 [ %looks, %entry ], [ %now, %is.set ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %yes, label %first
first:
  %word.at = getelementptr i32, ptr %words, i64 %i
  br label %look
look:
  %now = phi i64 [ %left, %first ], [ %fewer, %again ]
  %word = load atomic i32, ptr %word.at acquire, align 4
  %set = icmp ne i32 %word, 0
  br i1 %set, label %is.set, label %again
again:
  %fewer = sub i64 %now, 1
  %late = icmp sle i64 %fewer, 0
  br i1 %late, label %no, label %look
is.set:
  %next = add i64 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}}

define ptr @finish(ptr %self, ptr %given, i64 %count) nounwind {{
entry:
{_SELF}
{fields(ArrayTable, "none", "inputs", "outputs", "expected", "copy", "words", "retain")}
{fields(ArrayTable, "looks", "word_count", "save_thread", "restore_thread", "from_long")}
  %enough = icmp eq i64 %count, %outputs
  br i1 %enough, label %wait, label %no
no:
  call void %retain(ptr %none)
  ret ptr %none
wait:
  %thread = call ptr %save_thread()
  %is.over = call i1 @ended(ptr %words, i64 %word_count, i64 %looks)
  br i1 %is.over, label %copying, label %done
copying:
  %first = getelementptr %ExpectedArray, ptr %expected, i64 %inputs
  call void @move_all(ptr %copy, ptr %given, i64 %count, ptr %first, i1 false)
  br label %done
done:
  call void %restore_thread(ptr %thread)
  %late = xor i1 %is.over, true
  %wide = zext i1 %late to i64
  %result = call ptr %from_long(i64 %wide)
  ret ptr %result
}}
"""

ARRAY_CODE = "%ExpectedArray = type { ptr, ptr, i64, ptr, i64 }\n" + _FITS + _START + _FINISH
"""Functions of the table's code; `start` and `finish` are builtins."""
