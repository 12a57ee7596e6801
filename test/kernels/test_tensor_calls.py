# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the short way of calling kernels on tensors on a GPU, with tensors that only say they are.

The executable stands in for one on a GPU: it computes on the memory of the host, by addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.lang as xl
from xyntra.kernels import tensor_calls
from xyntra.kernels.specialization import Specialization

torch = pytest.importorskip("torch")


@xyntra.kernel
def scaled(x: Any, y: Any, factor: float) -> Any:
    return xl.tanh(x) * factor + y


@xyntra.kernel
def added(x: Any, y: Any) -> Any:
    return xl.tanh(x) + y


class _OnGpu:
    """The executable of the CPU, called as one on a GPU is."""

    def __init__(self, executable: Any) -> None:
        self.plan = executable.plan
        self.calls: list[str] = []
        self.known = False
        self._run = executable.bare_call()

    def stream_call(self) -> Any:
        def launch(addresses: Sequence[int], stream: int, *, recorded: bool) -> None:
            self.calls.append(f"stream {stream} {recorded}")
            self._run(addresses)

        return launch

    def replay_call(self) -> Any:
        def replay(arrays: Sequence[Any], out: Sequence[Any]) -> bool:
            self.calls.append("replay")
            known = all(
                (each.dtype, each.shape) == (torch.float32, port.shape) and each.is_contiguous()
                for each, port in zip(arrays, self.plan.inputs, strict=True)
            )
            if self.known and known:
                self._run([each.data_ptr() for each in (*arrays, *out)])
            return self.known and known

        return replay

    def __call__(self, *given: Any, out: Sequence[Any]) -> None:
        self.calls.append("call")
        self._run([each.data_ptr() for each in (*given, *out)])


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Any:
    x, y = torch.randn(3, 5), torch.randn(5)
    special: Specialization = scaled._specialized([x.numpy(), y.numpy(), 2.0])
    device = _OnGpu(special.executable)
    state = SimpleNamespace(recording=False, device=device)
    monkeypatch.setattr(Specialization, "executable", property(lambda _: device))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: state.recording)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 7, raising=False)
    state.run = tensor_calls._caller(torch, special, [torch.Tensor, torch.Tensor, float], [x, y])
    return state


def test_results_are_pytorchs_and_numbers_may_change(call: Any) -> None:
    x, y = torch.randn(3, 5), torch.randn(5)
    for factor in (2.0, 0.5):
        found = call.run((x, y, factor))
        np.testing.assert_allclose(found, torch.tanh(x) * factor + y, rtol=1e-5, atol=1e-6)
    assert call.device.calls == ["call", "call"]


def test_tensors_alone_are_left_to_native_code_where_they_were_met_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = torch.randn(3, 5), torch.randn(5)
    special: Specialization = added._specialized([x.numpy(), y.numpy()])
    device = _OnGpu(special.executable)
    monkeypatch.setattr(Specialization, "executable", property(lambda _: device))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 7, raising=False)
    run: Any = tensor_calls._caller(torch, special, [torch.Tensor, torch.Tensor], [x, y])
    np.testing.assert_allclose(run((x, y)), torch.tanh(x) + y, rtol=1e-5, atol=1e-6)
    assert device.calls == ["replay", "call"]
    device.known = True
    np.testing.assert_allclose(run((x, y)), torch.tanh(x) + y, rtol=1e-5, atol=1e-6)
    assert device.calls[2:] == ["replay"]
    assert run((x[:2], y)) is None
    assert run((x.clone().requires_grad_(), y)) is None
    assert run((x.numpy(), y)) is None
    assert device.calls[3:] == ["replay"]


def test_a_graph_that_is_recorded_gets_the_launches(call: Any) -> None:
    call.recording = True
    x, y = torch.randn(3, 5), torch.randn(5)
    np.testing.assert_allclose(call.run((x, y, 3.0)), torch.tanh(x) * 3 + y, rtol=1e-5, atol=1e-6)
    assert call.device.calls == ["stream 7 True"]
    assert call.device in tensor_calls._recorded


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: (x.double(), y, 1.0),
        lambda x, y: (x[:2], y, 1.0),
        lambda x, y: (x.T.contiguous().T, y, 1.0),
        lambda x, y: (x.requires_grad_(), y, 1.0),
        lambda x, y: (torch.randn(16)[1:].reshape(3, 5), y, 1.0),
        lambda x, y: (x.numpy(), y, 1.0),
        lambda x, y: (x, y, 1),
        lambda x, y: (x, y),
    ],
)
def test_what_does_not_fit_is_left_to_the_usual_way(call: Any, change: Any) -> None:
    assert call.run(change(torch.randn(3, 5), torch.randn(5))) is None
    assert not call.device.calls
