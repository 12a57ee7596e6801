# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recurrent layers under torch.compile, and the decompositions of PyTorch's fused cells of GPUs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")
backend = pytest.importorskip("xyntra.integrations.torch_compile").backend
rules = pytest.importorskip("xyntra.integrations.torch_compile.decompositions")
nn = torch.nn

Settings = dict[str, object]
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_layers_are_one_graph_with_gradients(kind: str, settings: Settings) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layers = getattr(nn, kind)(3, 5, batch_first=True, bidirectional=kind == "GRU")
    other = copy.deepcopy(layers)
    options = {"fallback": False, **settings}
    call = torch.compile(other, backend=backend, options=options, fullgraph=True)
    x = torch.randn(2, 2, 3)
    results = []
    for each, owner in ((layers, layers), (call, other)):
        y, _ = each(x)
        y.sin().sum().backward()
        results.append([y, *(p.grad for p in owner.parameters())])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_the_fused_lstm_cell() -> None:
    cell = nn.LSTMCell(3, 4).double()
    x, hx, cx = (torch.randn(5, n, dtype=torch.float64, requires_grad=True) for n in (3, 4, 4))
    gates = [
        (x @ cell.weight_ih.t()).detach().requires_grad_(),
        (hx @ cell.weight_hh.t()).detach().requires_grad_(),
    ]
    hy, cy, workspace = rules._lstm_cell(*gates, cx, cell.bias_ih, cell.bias_hh)
    torch.testing.assert_close((hy, cy), cell(x, (hx, cx)))
    for by_hy, by_cy in ((1.0, 0.5), (1.0, None), (None, 0.5)):
        total = sum(v.sum() * by for v, by in ((hy, by_hy), (cy, by_cy)) if by is not None)
        wanted = torch.autograd.grad(total, [gates[0], cx, cell.bias_ih], retain_graph=True)
        given = [None if by is None else torch.full_like(hy, by) for by in (by_hy, by_cy)]
        found = rules._lstm_cell_gradient(*given, cx, cy, workspace, True)
        torch.testing.assert_close(found, tuple(wanted))


def test_the_fused_gru_cell() -> None:
    cell = nn.GRUCell(3, 4).double()
    x, hx = (torch.randn(5, n, dtype=torch.float64, requires_grad=True) for n in (3, 4))
    gates = [
        (x @ cell.weight_ih.t()).detach().requires_grad_(),
        (hx @ cell.weight_hh.t()).detach().requires_grad_(),
    ]
    hy, workspace = rules._gru_cell(*gates, hx, cell.bias_ih, cell.bias_hh)
    torch.testing.assert_close(hy, cell(x, hx))
    inputs = [*gates, hx, cell.bias_ih, cell.bias_hh]
    wanted = torch.autograd.grad(hy.sin().sum(), inputs)
    found: Any = rules._gru_cell_gradient(hy.detach().cos(), workspace, True)
    torch.testing.assert_close(found, tuple(wanted))
