# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table from which native code knows a model whose arrays are tensors."""

from __future__ import annotations

import ctypes

__all__ = ["Expected", "TensorTable"]


class Expected(ctypes.Structure):
    """The tensor that an argument has to be.

    Attributes:
        kind: of DLPack: the rank in the low half, then code, bits and lanes of the type.
        shape: address of the dimensions, 64 bits each.
        strides: address of the distances between neighbours, in elements.
        nbytes: of the array.
    """

    _fields_ = (
        ("kind", ctypes.c_int64),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("nbytes", ctypes.c_int64),
    )


class TensorTable(ctypes.Structure):
    """The table that the code reads: addresses, but for numbers.

    Attributes:
        read: of the exchange API: describes a tensor.
        stream_of: of the exchange API: the stream that is used now.
        get_context: cuCtxGetCurrent; likewise push_context, pop_context and launch of the driver.
        record: cuEventRecord.
        wait: cuStreamWaitEvent.
        fence: an event for one stream to wait for another.
        context: of the GPU.
        tensor: the type of tensors.
        checked: the type of addresses that need no check.
        none: Python's None.
        no: Python's False.
        is_negated: a function that returns it for tensors whose memory holds what they are.
        device: DLPack's kind of device in the low half, its number in the high one.
        last_stream: a word, the stream of the call before this one; -1 where Python has to see to
            the order.
        inputs: number of inputs.
        arguments: number of inputs and outputs.
        expected: an `Expected` for each argument.
        sets: a `GraphSets`: a count of uses; then for each graph its handle, the count when it was
            used last, and an address for each argument.
        capacity: number of graphs that there is room for.
        addresses: room for one for each argument.
    """

    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("read", "stream_of", "get_context", "push_context", "pop_context", "launch"),
                *("record", "wait", "fence"),
                *("save_thread", "restore_thread", "clear_error", "call_function"),
                *(
                    "retain",
                    "release",
                    "from_long",
                    "as_address",
                    "context",
                    "tensor",
                    "checked",
                    "none",
                    "no",
                ),
                *("is_negated", "last_stream", "expected", "sets", "addresses"),
            )
        ),
        *((name, ctypes.c_int64) for name in ("device", "inputs", "arguments", "capacity")),
    )
