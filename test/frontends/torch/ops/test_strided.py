# SPDX-License-Identifier: MIT OR Apache-2.0
"""Views by strides beside PyTorch's own, which reads memory."""

from __future__ import annotations

from typing import Any

import pytest

import xyntra
from xyntra.errors import UnsupportedError

torch = pytest.importorskip("torch")
Settings = dict[str, object]


class Strided(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A view of the doubled input, and the view written back, doubled."""

    def __init__(self, *view: Any) -> None:
        super().__init__()
        self.view = view

    def forward(self, x: Any) -> Any:
        y = x * 2
        found = y.as_strided(*self.view)
        if found.numel() == x.numel() and 0 not in found.stride():
            return found, torch.as_strided_scatter(y, found * 2, *self.view)
        return found


VIEWS = [
    ((24,), (1,)),
    ((4, 6), (1, 4)),
    ((2, 3, 1, 4), (12, 4, 7, 1)),
    ((5, 3), (2, 1), 3),
    ((4, 3), (3, 1), 12),
    ((5, 3, 2), (1, 0, 12)),
    ((0, 3), (3, 1)),
    ((), (), 5),
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_views_of_all_of_the_memory(view: Any, order: Any, settings: Settings) -> None:
    x = torch.randn(2, 3, 4).permute(order)
    module = Strided(*view).eval()
    exe = xyntra.compile(module, inputs=(x,), config=settings)
    torch.testing.assert_close(exe(x), module(x), check_stride=False)


def test_a_view_of_a_part_of_the_memory_is_refused(settings: Settings) -> None:
    class Part(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return (x * 2)[1].as_strided((3,), (1,), 0)

    with pytest.raises(UnsupportedError, match="not all of its memory"):
        xyntra.compile(Part(), inputs=(torch.randn(2, 3),), config=settings)
