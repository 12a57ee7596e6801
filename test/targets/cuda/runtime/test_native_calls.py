# SPDX-License-Identifier: MIT OR Apache-2.0
"""Native code that starts calls: what it takes, what it refuses, and what it tells the driver.

The driver is a handful of functions that write down what they are called with, and tensors lie in
the memory of the host, so that no GPU is needed.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from xyntra.errors import DeviceError
from xyntra.plan.plan import Port
from xyntra.targets.cuda.arrays.device_array import DeviceArray
from xyntra.targets.cuda.calls import native_arrays
from xyntra.targets.cuda.calls.native_arrays import NativeArrayCalls
from xyntra.targets.cuda.driver.memory import Address
from xyntra.targets.cuda.graphs.sets import GraphSets
from xyntra.targets.cuda.native.call_code import compile_call_code, loaded_code
from xyntra.targets.cuda.native.host_code import HostCode, this_machine

pytestmark = pytest.mark.skipif(not this_machine(), reason="no native code for this machine")

CONTEXT, STREAM, GRAPH, FENCE = 0x51, 0, 0x77, 0x66
HOST_DEVICE = (1, 0)  # DLPack's kDLCPU
_POINTER = ctypes.c_void_p


class Driver:
    """Functions as the driver's, which note their arguments."""

    def __init__(self):
        self.current, self.status, self.order_status, self.calls = CONTEXT, 0, 0, []
        self._functions = {
            "get_context": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER)(self._get),
            "push_context": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER)(self._push),
            "pop_context": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER)(self._pop),
            "launch": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)(self._launch),
            "record": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)(self._record),
            "wait": ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER, ctypes.c_uint)(self._wait),
        }

    def addresses(self):
        return {
            name: ctypes.cast(function, _POINTER).value
            for name, function in self._functions.items()
        }

    def _get(self, place):
        ctypes.c_uint64.from_address(place).value = self.current
        return 0

    def _push(self, context):
        self.calls.append(("push", context))
        return 0

    def _pop(self, place):
        self.calls.append(("pop",))
        return 0

    def _record(self, event, stream):
        self.calls.append(("record", event, stream or 0))
        return self.order_status

    def _wait(self, stream, event, flags):
        assert flags == 0
        self.calls.append(("wait", stream or 0, event))
        return 0

    def _launch(self, graph, stream):
        self.calls.append(("launch", graph, stream or 0))
        return self.status


@pytest.fixture(scope="module")
def code():
    return loaded_code(compile_call_code())


@pytest.fixture
def gpu():
    return SimpleNamespace(ordinal=0, context=CONTEXT, direct=Driver())


@pytest.fixture
def order():
    return SimpleNamespace(word=ctypes.c_uint64(STREAM), own=STREAM, fence=FENCE)


def _failure(status, what, place):
    return DeviceError("gpu-error", f"{what} {status}")


def _ports(*shapes, dtype="float32"):
    return [Port(f"p{n}", dtype, shape, n) for n, shape in enumerate(shapes)]


class TestTensors:
    SHAPES = ((2, 3), (3,), ())

    @pytest.fixture(autouse=True)
    def _set_up(self, code, gpu, order, monkeypatch):
        self.torch = torch = pytest.importorskip("torch")
        from xyntra.targets.cuda.native.tensor_calls import NativeTensorCalls, exchange_functions

        monkeypatch.setattr("xyntra.targets.cuda.native.tensor_calls.failure", _failure)
        functions = exchange_functions(torch.Tensor)
        if functions is None:
            pytest.skip("this PyTorch has no exchange API of DLPack")
        self.inputs = [torch.zeros(shape) for shape in self.SHAPES]
        self.outputs = [torch.zeros(5), torch.zeros(2, 2)]
        ports = _ports(*self.SHAPES, (5,), (2, 2))
        plan = SimpleNamespace(inputs=ports[:3], results=ports[3:])
        self.sets, self.gpu, self.order = GraphSets(5), gpu, order
        self._add(self.inputs, self.outputs)
        self.native = NativeTensorCalls(
            torch, functions, plan, gpu, self.sets, order, code, device=HOST_DEVICE
        )

    def _add(self, inputs, outputs, graph=GRAPH):
        addresses = tuple(each.data_ptr() for each in (*inputs, *outputs))
        self.sets.add(addresses, SimpleNamespace(handle=graph))

    def start(self, inputs=None, outputs=None):
        given = self.inputs if inputs is None else inputs
        out = self.outputs if outputs is None else outputs
        return self.native.start(given, out, threading.Lock())

    def test_what_fits_is_launched(self):
        assert self.start() is self.outputs
        assert self.gpu.direct.calls == [("launch", GRAPH, STREAM)]

    def test_new_outputs_are_allocated_in_the_context(self):
        entered, memory = [], []

        class Entry:
            def __enter__(self):
                entered.append(True)

            def __exit__(self, *error):
                entered.append(False)

        class Blocks:
            def take_free(self, nbytes, stream):
                return memory.pop() if memory else None

            def take(self, nbytes, stream):
                assert entered[-1]
                return SimpleNamespace(nbytes=nbytes, address=Address(outputs.pop(0).data_ptr()))

            def give_back(self, block, stream):
                memory.insert(0, block)

        self.gpu.entered, self.gpu.blocks = Entry, Blocks()
        outputs = list(self.outputs)
        assert [each.shape for each in self.native.start(self.inputs, None, threading.Lock())] == [
            (5,),
            (2, 2),
        ]
        assert entered == [True, False] * 2
        assert self.native.start(self.inputs, None, threading.Lock()) is not None
        assert entered == [True, False] * 2
        assert self.gpu.direct.calls == [("launch", GRAPH, STREAM)] * 2

    def _result(self, number=0, **changes):
        """The memory of an input as the result of another call."""
        tensor = self.inputs[number]
        fields = {"shape": tuple(tensor.shape), "dtype": np.dtype(np.float32), "stream": STREAM}
        blocks = SimpleNamespace(give_back=lambda *_: None)
        gpu = SimpleNamespace(ordinal=changes.pop("ordinal", 0), blocks=blocks)
        memory = SimpleNamespace(address=Address(tensor.data_ptr()))
        return DeviceArray(gpu, memory, **{**fields, **changes})

    def test_results_of_other_calls_are_taken(self):
        given = [self._result(0), self.inputs[1], self._result(2)]
        assert self.start(given) is self.outputs
        assert self.gpu.direct.calls == [("launch", GRAPH, STREAM)]
        assert self.start([*given, given[0]]) is None
        assert self.start(given[:1]) is None

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": (3, 2)},
            {"dtype": np.dtype(np.int32)},
            {"stream": 9},
            {"ordinal": 1},
        ],
    )
    def test_results_of_other_calls_that_do_not_fit_are_refused(self, change):
        assert self.start([self._result(0, **change), *self.inputs[1:]]) is None
        assert self.start(None, [self._result(1), self.outputs[1]]) is None
        assert self.gpu.direct.calls == []

    def test_another_context_is_entered_and_left(self):
        self.gpu.direct.current = 0x52
        assert self.start() is self.outputs
        assert self.gpu.direct.calls == [("push", CONTEXT), ("launch", GRAPH, 0), ("pop",)]

    def test_the_status_of_the_driver_is_an_error(self):
        self.gpu.direct.status = 700
        with pytest.raises(DeviceError, match="replaying launches 700"):
            self.start()

    @pytest.mark.parametrize(
        "change",
        [
            lambda torch, x: x.double(),
            lambda torch, x: x.half(),
            lambda torch, x: x.int(),
            lambda torch, x: x.reshape(3, 2),
            lambda torch, x: x.reshape(6),
            lambda torch, x: x.reshape(1, 2, 3),
            lambda torch, x: torch.zeros(3, 2).t(),
            lambda torch, x: torch.zeros(2, 6)[:, ::2],
            lambda torch, x: torch.zeros(1, 3).expand(2, 3),
            lambda torch, x: torch.zeros(7)[1:].reshape(2, 3),
            lambda torch, x: torch._neg_view(x),
            lambda torch, x: torch.nn.Parameter(x),
            lambda torch, x: x.to_sparse(),
            lambda torch, x: torch.zeros(2, 3, device="meta"),
            lambda torch, x: torch.zeros(2, 3),
            lambda torch, x: x.numpy(),
            lambda torch, x: x.tolist(),
            lambda torch, x: x.data_ptr(),
            lambda torch, x: None,
        ],
    )
    def test_what_does_not_fit_is_refused(self, change):
        other = change(self.torch, self.inputs[0])
        assert self.start([other, *self.inputs[1:]]) is None
        assert self.gpu.direct.calls == []

    def test_counts_are_compared(self):
        assert self.start(self.inputs[:2]) is None
        assert self.start(None, self.outputs[:1]) is None
        assert self.start([*self.inputs, self.inputs[0]]) is None
        assert self.start([]) is None
        assert self.gpu.direct.calls == []

    def test_strides_of_single_elements_do_not_matter(self):
        one = self.torch.zeros(4, 2, 3)[::4]
        ones = [one[0], *self.inputs[1:]]
        self._add(ones, self.outputs, 0x99)
        assert self.start(ones) is self.outputs
        assert self.gpu.direct.calls == [("launch", 0x99, STREAM)]

    def test_outputs_that_share_memory_are_refused(self):
        whole = self.torch.zeros(32)
        shared = [whole[:5], whole[4:8].reshape(2, 2)]
        self._add(self.inputs, shared)
        assert self.start(None, shared) is None
        twice = [whole[:6].reshape(2, 3), *self.inputs[1:]]
        onto = [whole[4:9], self.outputs[1]]
        self._add(twice, onto)
        assert self.start(twice, onto) is None
        apart = [whole[:5], whole[8:12].reshape(2, 2)]
        self._add(self.inputs, apart)
        assert self.start(None, apart) is apart

    def test_a_stream_that_may_be_gone_is_left_to_python(self):
        self.order.word.value = 2**64 - 1
        assert self.start() is None
        assert self.gpu.direct.calls == []

    def test_another_stream_is_waited_for(self):
        self.order.word.value = 0x33
        assert self.start() is self.outputs
        assert self.gpu.direct.calls == [
            ("record", FENCE, 0x33), ("wait", STREAM, FENCE), ("launch", GRAPH, STREAM)
        ]  # fmt: skip
        assert self.order.word.value == STREAM

    def test_nothing_is_launched_out_of_order(self):
        self.order.word.value, self.gpu.direct.order_status = 0x33, 719
        with pytest.raises(DeviceError, match="replaying"):
            self.start()
        assert self.gpu.direct.calls == [("record", FENCE, 0x33)]
        assert self.order.word.value == 0x33

    def test_graphs_used_last_are_kept(self):
        sets = [[self.torch.zeros(5), self.torch.zeros(2, 2)] for _ in range(9)]
        for number, outputs in enumerate(sets[:7]):
            self._add(self.inputs, outputs, number + 1)
        assert self.start() is self.outputs  # the oldest is the newest now
        self._add(self.inputs, sets[7], 8)
        assert self.start(None, sets[0]) is None
        assert self.start() is self.outputs
        assert self.start(None, sets[7]) is sets[7]
        assert len(self.sets) == 8

    def test_nothing_holds_on_to_tensors(self):
        import sys

        before = [sys.getrefcount(each) for each in self.inputs]
        for _ in range(50):
            self.start()
            self.start([self.inputs[0].double(), *self.inputs[1:]])
        assert [sys.getrefcount(each) for each in self.inputs] == before


class TestArrays:
    @pytest.fixture(autouse=True)
    def _set_up(self, code, gpu, order):
        self.slot = SimpleNamespace(
            inputs=[np.zeros((2, 3), np.float32), np.zeros((), np.int64)],
            outputs=[np.arange(6, dtype=np.float16).reshape(3, 2), np.ones(1, np.bool_)],
            words=np.ones(2, np.uint32),
            graph=SimpleNamespace(handle=GRAPH),
        )
        self.gpu, self.order = gpu, order
        self.native = NativeArrayCalls(self.slot, gpu, order, code)
        self.given = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7)]

    def test_arrays_are_copied_and_the_graph_launched(self):
        assert self.native.start(*self.given) == 0
        for staged, array in zip(self.slot.inputs, self.given, strict=True):
            assert np.array_equal(staged, array)
        assert not self.slot.words.any()
        assert self.gpu.direct.calls == [("launch", GRAPH, STREAM)]

    def test_results_are_copied_once_every_word_is_set(self):
        results = [np.zeros_like(each) for each in self.slot.outputs]
        self.slot.words[:] = 1, 0
        assert self.native.finish(*results) == 1
        assert not results[0].any()
        self.slot.words[:] = 1
        assert self.native.finish(*results) == 0
        for result, staged in zip(results, self.slot.outputs, strict=True):
            assert np.array_equal(result, staged)

    @pytest.mark.parametrize(
        "change",
        [
            lambda x: x.astype(np.float64),
            lambda x: x.astype(">f4"),
            lambda x: x.reshape(3, 2),
            lambda x: x.reshape(6),
            lambda x: np.asfortranarray(x),
            lambda x: np.zeros((2, 6), np.float32)[:, ::2],
            lambda x: x.view(np.ma.MaskedArray),
            lambda x: np.frombuffer(b"\0" * 25, np.uint8)[1:].view(np.float32).reshape(2, 3),
            lambda x: x.tolist(),
            lambda x: 1.0,
        ],
    )
    def test_what_does_not_fit_is_refused(self, change):
        assert self.native.start(change(self.given[0]), self.given[1]) is None
        assert self.native.start(*self.given[:1]) is None
        assert self.native.start(*self.given, self.given[0]) is None
        assert self.slot.words.all()
        assert self.gpu.direct.calls == []

    def test_another_stream_is_waited_for(self):
        self.order.word.value = 5
        assert self.native.start(*self.given) == 0
        assert self.gpu.direct.calls == [
            ("record", FENCE, 5), ("wait", STREAM, FENCE), ("launch", GRAPH, STREAM)
        ]  # fmt: skip
        self.order.word.value = 2**64 - 1
        assert self.native.start(*self.given) is None

    def test_the_status_of_the_driver_is_returned(self):
        self.gpu.direct.status, self.gpu.direct.current = 719, 0
        assert self.native.start(*self.given) == 719
        assert self.gpu.direct.calls == [("push", CONTEXT), ("launch", GRAPH, 0), ("pop",)]


def test_damaged_code_and_that_of_other_machines_is_not_used():
    made = HostCode.from_bytes(compile_call_code())
    assert made is not None
    assert loaded_code(b"") is None
    assert loaded_code(b"nothing") is None
    assert loaded_code(b'{"machine": 1}\n') is None
    assert loaded_code(replace(made, machine="pdp11-unix").to_bytes()) is None
    assert loaded_code(replace(made, interface="another").to_bytes()) is None


def test_code_is_the_same_each_time():
    assert compile_call_code() == compile_call_code()


def test_the_layout_of_arrays_is_looked_at(monkeypatch):
    assert native_arrays.arrays_are_known()
    monkeypatch.setattr(native_arrays, "RANK", native_arrays.SHAPE)
    assert not native_arrays.arrays_are_known.__wrapped__()
