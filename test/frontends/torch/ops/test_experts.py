# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of rows with one matrix each, and histograms, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import xyntra  # noqa: E402

Settings = dict[str, object]


class _Function(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: Any) -> Any:
        return self.function(*tensors)


def _compiled(function: Any, settings: Settings, *given: Any) -> Any:
    return xyntra.compile(_Function(function), inputs=given, config=settings)


def _counts(rows: int, matrices: int) -> list[list[int]]:
    """Return some ways to spread rows: at random, all for one matrix, and some for none."""
    generator = torch.Generator().manual_seed(3)
    of_rows = torch.randint(0, matrices, (rows,), generator=generator)
    spread = torch.bincount(of_rows, minlength=matrices).tolist()
    one = [0] * matrices
    one[matrices // 2] = rows
    return [spread, one, [0] * (matrices - 1) + [rows], [max(rows - 3, 0)] + [0] * (matrices - 1)]


@pytest.mark.parametrize(("rows", "matrices"), [(3, 5), (37, 4), (130, 3), (16, 1)])
def test_each_row_meets_its_matrix(rows: int, matrices: int, settings: Settings) -> None:
    torch.manual_seed(0)
    x, weights = torch.randn(rows, 8), torch.randn(matrices, 8, 16)
    ends = torch.zeros(matrices, dtype=torch.int32)
    function = lambda x, w, ends: torch.ops.aten._grouped_mm(x, w, offs=ends)  # noqa: E731
    x16, w16 = x.bfloat16(), weights.bfloat16()
    exe = _compiled(function, settings, x16, w16, ends)
    for counts in _counts(rows, matrices):
        ends = torch.tensor(counts).cumsum(0).to(torch.int32)
        wanted = torch.zeros(rows, 16)
        start = 0
        for matrix, end in enumerate(ends.tolist()):
            wanted[start:end] = x16[start:end].float() @ w16[matrix].float()
            start = end
        found = exe(x16, w16, ends).float()
        torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histograms(dtype: Any, settings: Settings) -> None:
    torch.manual_seed(1)
    x = torch.randn(500, dtype=dtype)
    x[:6] = torch.tensor([-1.0, 2.0, 2.5, float("nan"), float("inf"), -1.0000001])
    function = lambda x: torch.histc(x, bins=12, min=-1, max=2)  # noqa: E731
    exe = _compiled(function, settings, x)
    assert torch.equal(exe(x), function(x))
    experts = torch.randint(0, 8, (5, 40)).to(dtype)
    function = lambda x: torch.histc(x, bins=8, min=0, max=7)  # noqa: E731
    assert torch.equal(_compiled(function, settings, experts)(experts), function(experts))


def test_rows_of_a_softmax_without_scores(settings: Settings) -> None:
    low = float("-inf")
    scores = torch.tensor([[1.0, low, 2.0], [low, low, low], [float("nan"), low, 0.0]])
    function = lambda x: torch.ops.aten._safe_softmax(x, -1)  # noqa: E731
    for given in (scores, scores[0, 0], scores[0, 1]):
        found = _compiled(function, settings, given)(given)
        torch.testing.assert_close(found, function(given), equal_nan=True)
