# SPDX-License-Identifier: MIT OR Apache-2.0
"""A call with tensors, as LLVM IR: what they are, whether they fit, which graph, its launch.

`call(*inputs, *outputs)` returns the driver's status, or None, with nothing done, where anything is
not as usual: then the same call in Python goes on, or says what is wrong. Arguments may be given as
addresses that were checked. Tensors are read through DLPack's exchange API (dlpack.h 1.3), a table
of C functions that a library's type of arrays has; the memory is the tensors' own, and nothing is
made.
"""

from __future__ import annotations

from xyntra.targets.cuda.native.builtins import BYTES_OFFSET, TYPE_OFFSET
from xyntra.targets.cuda.native.context_code import LAUNCH_IN_ORDER
from xyntra.targets.cuda.native.ir_text import fields, loaded
from xyntra.targets.cuda.native.tensor_table import Expected, TensorTable

__all__ = ["TENSOR_CODE"]

# Offsets in DLPack's DLTensor.
_DEVICE, _RANK, _SHAPE, _STRIDES, _BYTE_OFFSET = 8, 16, 24, 32, 40
_LOW_BITS = 15  # of addresses, zero where kernels may read whole vectors
# PY_VECTORCALL_ARGUMENTS_OFFSET with one argument: the place before it may be written.
_ONE_ARGUMENT = -(2**63) + 1

_READ = f"""
define internal i64 @address(ptr %table, ptr %tensor, ptr %expected) nounwind {{
entry:
  %found = alloca [6 x i64], align 8
{fields(TensorTable, "read", "clear_error", "device")}
  %status = call i32 %read(ptr %tensor, ptr %found)
  %is.read = icmp eq i32 %status, 0
  br i1 %is.read, label %check, label %failed
failed:
  call void %clear_error()
  br label %no
no:
  ret i64 0
check:
{loaded("given.device", "found", _DEVICE)}
{loaded("given.kind", "found", _RANK)}
{loaded("given.offset", "found", _BYTE_OFFSET)}
{loaded("kind", "expected", Expected.kind.offset)}
  %data = load i64, ptr %found
  %low = and i64 %data, {_LOW_BITS}
  %same.device = icmp eq i64 %given.device, %device
  %same.kind = icmp eq i64 %given.kind, %kind
  %no.offset = icmp eq i64 %given.offset, 0
  %aligned = icmp eq i64 %low, 0
  %both = and i1 %same.device, %same.kind
  %placed = and i1 %no.offset, %aligned
  %fits = and i1 %both, %placed
  br i1 %fits, label %dimensions, label %no
dimensions:
  %rank = and i64 %kind, 4294967295
{loaded("shape", "expected", Expected.shape.offset, "ptr")}
{loaded("strides", "expected", Expected.strides.offset, "ptr")}
{loaded("given.shape", "found", _SHAPE, "ptr")}
{loaded("given.strides", "found", _STRIDES, "ptr")}
  %compact = icmp eq ptr %given.strides, null
  br label %loop
loop:
  %i = phi i64 [ 0, %dimensions ], [ %next, %same ]
  %all = icmp eq i64 %i, %rank
  br i1 %all, label %yes, label %size
size:
  %want.at = getelementptr i64, ptr %shape, i64 %i
  %want = load i64, ptr %want.at
  %have.at = getelementptr i64, ptr %given.shape, i64 %i
  %have = load i64, ptr %have.at
  %same.size = icmp eq i64 %want, %have
  %single = icmp eq i64 %want, 1
  %any.stride = or i1 %single, %compact
  br i1 %same.size, label %size.fits, label %no
size.fits:
  br i1 %any.stride, label %same, label %stride
stride:
  %step.at = getelementptr i64, ptr %strides, i64 %i
  %step = load i64, ptr %step.at
  %given.step.at = getelementptr i64, ptr %given.strides, i64 %i
  %given.step = load i64, ptr %given.step.at
  %same.step = icmp eq i64 %step, %given.step
  br i1 %same.step, label %same, label %no
same:
  %next = add i64 %i, 1
  br label %loop
yes:
  %is.plain = call i1 @plain(ptr %table, ptr %tensor)
  %address = select i1 %is.plain, i64 %data, i64 0
  ret i64 %address
}}

define internal i1 @plain(ptr %table, ptr %tensor) nounwind {{
  %arguments = alloca [2 x ptr], align 8
{fields(TensorTable, "call_function", "release", "clear_error", "is_negated", "no")}
  %first = getelementptr ptr, ptr %arguments, i64 1
  store ptr %tensor, ptr %first
  %answer = call ptr %call_function(ptr %is_negated, ptr %first, i64 {_ONE_ARGUMENT}, ptr null)
  %none = icmp eq ptr %answer, null
  br i1 %none, label %failed, label %answered
failed:
  call void %clear_error()
  ret i1 false
answered:
  call void %release(ptr %answer)
  %is.no = icmp eq ptr %answer, %no
  ret i1 %is.no
}}
"""

_APART = f"""
define internal i1 @apart(ptr %table) nounwind {{
entry:
{fields(TensorTable, "expected", "addresses", "inputs", "arguments")}
  br label %outputs
outputs:
  %i = phi i64 [ %inputs, %entry ], [ %i.next, %next ]
  %all = icmp uge i64 %i, %arguments
  br i1 %all, label %yes, label %output
output:
  %start.at = getelementptr i64, ptr %addresses, i64 %i
  %start = load i64, ptr %start.at
  %nbytes.at = getelementptr %Expected, ptr %expected, i64 %i, i32 3
  %nbytes = load i64, ptr %nbytes.at
  %end = add i64 %start, %nbytes
  br label %others
others:
  %j = phi i64 [ 0, %output ], [ %j.next, %clear ]
  %last = icmp eq i64 %j, %i
  br i1 %last, label %next, label %other
other:
  %other.start.at = getelementptr i64, ptr %addresses, i64 %j
  %other.start = load i64, ptr %other.start.at
  %other.nbytes.at = getelementptr %Expected, ptr %expected, i64 %j, i32 3
  %other.nbytes = load i64, ptr %other.nbytes.at
  %other.end = add i64 %other.start, %other.nbytes
  %before = icmp ult i64 %start, %other.end
  %behind = icmp ult i64 %other.start, %end
  %meet = and i1 %before, %behind
  br i1 %meet, label %no, label %clear
clear:
  %j.next = add i64 %j, 1
  br label %others
next:
  %i.next = add i64 %i, 1
  br label %outputs
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_FIND = f"""
define internal ptr @graph_set(ptr %table) nounwind {{
entry:
{fields(TensorTable, "sets", "addresses", "arguments", "capacity")}
  %words = add i64 %arguments, 2
  %first = getelementptr i64, ptr %sets, i64 1
  br label %loop
loop:
  %number = phi i64 [ 0, %entry ], [ %number.next, %next ]
  %all = icmp eq i64 %number, %capacity
  br i1 %all, label %none, label %one
one:
  %start = mul i64 %number, %words
  %place = getelementptr i64, ptr %first, i64 %start
  %graph = load i64, ptr %place
  %empty = icmp eq i64 %graph, 0
  %held = getelementptr i64, ptr %place, i64 2
  br i1 %empty, label %next, label %compare
compare:
  %i = phi i64 [ 0, %one ], [ %i.next, %same ]
  %found = icmp eq i64 %i, %arguments
  br i1 %found, label %yes, label %word
word:
  %held.at = getelementptr i64, ptr %held, i64 %i
  %kept = load i64, ptr %held.at
  %given.at = getelementptr i64, ptr %addresses, i64 %i
  %given = load i64, ptr %given.at
  %equal = icmp eq i64 %kept, %given
  br i1 %equal, label %same, label %next
same:
  %i.next = add i64 %i, 1
  br label %compare
next:
  %number.next = add i64 %number, 1
  br label %loop
yes:
  %uses = load i64, ptr %sets
  %used = add i64 %uses, 1
  store i64 %used, ptr %sets
  %used.at = getelementptr i64, ptr %place, i64 1
  store i64 %used, ptr %used.at
  ret ptr %place
none:
  ret ptr null
}}
"""

_CALL = f"""
define ptr @call_tensors(ptr %self, ptr %given, i64 %count) nounwind {{
entry:
  %stream.at = alloca ptr, align 8
  %pushed = alloca i1, align 1
{loaded("table", "self", BYTES_OFFSET, "ptr")}
{fields(TensorTable, "none", "arguments", "tensor", "checked", "expected")}
{fields(TensorTable, "addresses", "as_address", "device", "stream_of", "last_stream")}
{fields(TensorTable, "clear_error", "retain")}
  %fits = icmp eq i64 %count, %arguments
  br i1 %fits, label %ask, label %no
no:
  call void %retain(ptr %none)
  ret ptr %none
ask:
  %kind = trunc i64 %device to i32
  %high = lshr i64 %device, 32
  %ordinal = trunc i64 %high to i32
  %asked = call i32 %stream_of(i32 %kind, i32 %ordinal, ptr %stream.at)
  %answered = icmp eq i32 %asked, 0
  br i1 %answered, label %ordered, label %failed
failed:
  call void %clear_error()
  br label %no
ordered:
  %stream = load ptr, ptr %stream.at
  %last = load ptr, ptr %last_stream
  %nobody = inttoptr i64 -1 to ptr
  %is.unknown = icmp eq ptr %last, %nobody
  br i1 %is.unknown, label %no, label %loop
loop:
  %i = phi i64 [ 0, %ordered ], [ %next, %keep ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %check, label %one
one:
  %object.at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %object.at
{loaded("type", "object", TYPE_OFFSET, "ptr")}
  %is.tensor = icmp eq ptr %type, %tensor
  br i1 %is.tensor, label %read, label %number
number:
  %is.address = icmp eq ptr %type, %checked
  br i1 %is.address, label %convert, label %no
convert:
  %converted = call i64 %as_address(ptr %object)
  br label %keep
read:
  %wanted = getelementptr %Expected, ptr %expected, i64 %i
  %found = call i64 @address(ptr %table, ptr %object, ptr %wanted)
  %usable = icmp ne i64 %found, 0
  br i1 %usable, label %keep, label %no
keep:
  %address = phi i64 [ %converted, %convert ], [ %found, %read ]
  %place = getelementptr i64, ptr %addresses, i64 %i
  store i64 %address, ptr %place
  %next = add i64 %i, 1
  br label %loop
check:
  %is.apart = call i1 @apart(ptr %table)
  br i1 %is.apart, label %find, label %no
find:
  %set = call ptr @graph_set(ptr %table)
  %is.known = icmp ne ptr %set, null
  br i1 %is.known, label %enter, label %no
enter:
{fields(TensorTable, "context", "get_context", "push_context", "pop_context", "launch")}
{fields(TensorTable, "save_thread", "restore_thread", "from_long", "record", "wait", "fence")}
  %inside = call i1 @enter(ptr %context, ptr %get_context, ptr %push_context, ptr %pushed)
  br i1 %inside, label %launched, label %no
launched:
  %graph = load ptr, ptr %set
  %thread = call ptr %save_thread()
{LAUNCH_IN_ORDER}}}
"""

TENSOR_CODE = "%Expected = type { i64, ptr, ptr, i64 }\n" + _READ + _APART + _FIND + _CALL
"""Functions of the table's code; `call_tensors` is the builtin."""
