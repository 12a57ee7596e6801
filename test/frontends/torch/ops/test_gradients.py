# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators of gradients, and what they write to, beside PyTorch's own kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import xyntra

torch = pytest.importorskip("torch")
aten = torch.ops.aten
Settings = dict[str, object]


class Call(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A module that is a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def check(settings: Settings, function: Callable[..., Any], *inputs: Any) -> xyntra.Executable:
    """Compare a function, compiled, with itself; returns what it was compiled to."""
    wanted = function(*inputs)
    exe = xyntra.compile(Call(function), inputs=inputs, config=settings)
    found = exe(*inputs)
    kind = inputs[0].dtype
    near = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(kind, 1e-4)
    torch.testing.assert_close(found, wanted, rtol=near, atol=near, check_stride=False)
    return exe


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = [
    ((2, 3, 9, 8), (4, 3, 3, 2), ([2, 1], [1, 0], [1, 2], False, [0, 0], 1)),
    ((2, 4, 7, 7), (6, 2, 3, 3), ([3, 3], [1, 1], [1, 1], False, [0, 0], 2)),
    ((2, 3, 8, 9), (4, 3, 1, 2), ([2, 3], [0, 0], [1, 1], False, [0, 0], 1)),
    ((3, 4, 6), (4, 1, 3), ([1], [2], [1], False, [0], 4)),
    ((2, 3, 4, 5), (3, 2, 3, 2), ([2, 1], [1, 0], [1, 1], True, [1, 0], 1)),
    ((2, 4, 4, 5), (4, 1, 3, 2), ([1, 1], [1, 0], [1, 1], True, [0, 0], 2)),
    ((2, 3, 33, 26), (4, 3, 16, 12), ([16, 12], [0, 0], [1, 1], False, [0, 0], 1)),
    ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), ([2] * 3, [0] * 3, [1] * 3, False, [0] * 3, 1)),
]
"""Shapes of image and weight; stride, padding, dilation, transposed, output padding, groups."""


@pytest.mark.parametrize(("image", "weight", "rest"), CONVOLUTIONS)
def test_convolutions(settings: Settings, image: Any, weight: Any, rest: Any) -> None:
    x, w = torch.randn(image), torch.randn(weight)
    grad = torch.randn_like(aten.convolution(x, w, None, *rest))

    def backward(grad: Any, x: Any, w: Any) -> Any:
        return aten.convolution_backward(grad, x, w, [grad.shape[1]], *rest, [True] * 3)

    check(settings, backward, grad, x, w)


def test_the_gradient_of_a_large_kernel_is_one_convolution(settings: Settings) -> None:
    """Not a contraction for each of its elements, which were thousands of kernels."""
    x, grad, w = (torch.randn(s) for s in ((2, 3, 21, 21), (2, 4, 11, 11), (4, 3, 13, 13)))
    rest = ([4], [2, 2], [6, 6], [1, 1], False, [0, 0], 1, [False, True, False])
    exe = check(settings, lambda g, x: aten.convolution_backward(g, x, w, *rest)[1], grad, x)
    assert len(exe.kernels) <= 2


def test_a_convolution_of_which_one_gradient_is_wanted(settings: Settings) -> None:
    x, w, g = (torch.randn(s).half() for s in ((2, 3, 5, 5), (4, 3, 1, 1), (2, 4, 5, 5)))
    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])
    check(settings, lambda g: aten.convolution_backward(g, x, w, None, *rest)[1], g)


def pooled(x: Any, *arguments: Any) -> Any:
    return aten.max_pool2d_with_indices(x, *arguments)


def max_pool_and_back(x: Any, g: Any) -> Any:
    window = ([3, 2], [2, 2], [1, 1], [1, 1], False)
    y, places = pooled(x, *window)
    return y, places, aten.max_pool2d_with_indices_backward(g, x, *window, places)


def average_pool_back(*rest: Any) -> Callable[..., Any]:
    return lambda g, x: aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 0], False, *rest)


def average_pool_back_of_ceil(g: Any, x: Any) -> Any:
    """Windows that end behind the image, and elements that none of them reads."""
    by_two = aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 1], True, True, None)
    return by_two, aten.avg_pool2d_backward(g[..., :3, :2], x, [1, 2], [3, 3], 0, True, False, None)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (max_pool_and_back, [(2, 3, 8, 7), (2, 3, 4, 4)]),
        (average_pool_back(True, None), [(2, 3, 4, 3), (2, 3, 8, 7)]),
        (average_pool_back(False, None), [(2, 3, 4, 3), (2, 3, 8, 7)]),
        (average_pool_back(True, 5), [(3, 4, 3), (3, 8, 7)]),
        (aten._adaptive_avg_pool2d_backward, [(2, 3, 2, 1), (2, 3, 6, 5)]),
        (aten._adaptive_avg_pool2d_backward, [(2, 3, 3, 7), (2, 3, 7, 5)]),
        (lambda x: aten.adaptive_max_pool2d(x, [2, 3]), [(2, 3, 4, 6)]),
        (lambda x: aten.adaptive_max_pool2d(x, [3, 2]), [(2, 5, 7)]),
        (lambda x: aten.adaptive_max_pool3d(x, [2, 1, 3]), [(1, 2, 3, 2, 4)]),
        (lambda x: aten.avg_pool2d(x, [3, 2], [2, 3], [1, 1], True), [(2, 3, 6, 7)]),
        (lambda x: aten.avg_pool2d(x, [2, 2], [3, 3], [0, 0], True, False, 3), [(3, 6, 7)]),
        (average_pool_back_of_ceil, [(2, 3, 4, 4), (2, 3, 7, 6)]),
        (lambda x: aten.adaptive_avg_pool2d(x, [1, 2]), [(0, 3, 4, 5)]),
        (average_pool_back(True, None), [(0, 3, 4, 3), (0, 3, 8, 7)]),
    ],
)
def test_poolings(settings: Settings, function: Any, shapes: Any) -> None:
    check(settings, function, *(torch.randn(shape) for shape in shapes))


def test_maxima_are_where_nan_is(settings: Settings) -> None:
    x = torch.randn(1, 2, 4, 4)
    x[0, 1, 2, 1] = float("nan")
    function = lambda x: pooled(x, [2, 2])[1]  # noqa: E731
    found = xyntra.compile(Call(function), inputs=(x,), config=settings)(x)
    torch.testing.assert_close(found, function(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_give_their_statistics(settings: Settings, dtype: Any) -> None:
    x = (torch.randn(3, 4, 5) * 2 + 1).to(dtype)

    def function(x: Any) -> Any:
        rows = aten.native_layer_norm(x, [4, 5], None, None, 1e-5)
        return [*rows, *aten.native_group_norm(x, None, None, 3, 4, 5, 2, 1e-5)]

    check(settings, function, x)


I = torch.tensor([1, 0, 1])  # noqa: E741
M = torch.zeros(4, 5, dtype=torch.bool)
M.view(-1)[torch.tensor([0, 3, 5, 6, 11, 14, 19])] = True  # two lines begin with a place
PUTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "rows": (lambda x, v: aten.index_put(x, [I], v), ((4, 5), (5,))),
    "sums": (lambda x, v: aten.index_put(x, [I], v, True), ((4, 5), (3, 5))),
    "second": (lambda x, v: aten.index_put(x, [None, I], v, True), ((4, 5, 2), (4, 3, 2))),
    "two": (lambda x, v: aten.index_put(x, [I, -1 - I], v, True), ((4, 5), (3,))),
    "apart": (lambda x, v: aten.index_put(x, [I, None, I], v, True), ((4, 5, 2), (3, 5))),
    "grid": (lambda x, v: aten.index_put(x, [I[:, None], I], v, True), ((4, 5), (3, 3))),
    "mask": (lambda x, v: aten.index_put(x, [x > 0], v), ((4, 5), ())),
    "mask-rows": (lambda x, v: aten.index_put(x, [M], v), ((4, 5), (7,))),
    "mask-lines": (lambda x, v: aten.index_put(x, [M[:, 0]], v, True), ((4, 5), (2, 5))),
    "mask-none": (lambda x, v: aten.index_put(x, [M & ~M], v), ((4, 5), (0,))),
    "none": (lambda x, v: aten.index_put(x, [I[:0]], v), ((4, 5), (5,))),
    "row-mask": (lambda x, v: aten.index_put(x, [x[:, 0] > 0], v, True), ((4, 5), (1,))),
}


def test_writing_at_indices(settings: Settings) -> None:
    given = [tuple(torch.randn(shape) for shape in shapes) for _, shapes in PUTS.values()]

    def function(*flat: Any) -> Any:
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {name: PUTS[name][0](*pair) for name, pair in zip(PUTS, pairs, strict=True)}

    check(settings, function, *(tensor for pair in given for tensor in pair))


@pytest.mark.parametrize("include", [True, False])
def test_scattering_with_a_reduction(settings: Settings, include: bool) -> None:
    index = torch.tensor([[0, 1, 1], [2, 2, 2]])
    kinds = ("sum", "prod", "amax", "amin", "mean")

    def function(x: Any, v: Any) -> Any:
        found = [x.scatter_reduce(0, index, v, kind, include_self=include) for kind in kinds]
        whole = [(9 * each).to(torch.int64) for each in (x, v)]
        found.append(whole[0].scatter_reduce(0, index, whole[1], "mean", include_self=include))
        return [*found, *(x.scatter(0, index, 2.5, reduce=way) for way in ("add", "multiply"))]

    check(settings, function, torch.randn(3, 4), torch.randn(2, 3))


def test_indices_of_scalars_and_of_nothing(settings: Settings) -> None:
    zero, none = torch.tensor(0), torch.zeros(0, dtype=torch.int64)

    def function(x: Any, v: Any) -> Any:
        found = [v.gather(0, zero), v.scatter(0, zero, 3.0), v.index_select(0, zero)]
        found += [x.gather(0, none[:, None]), x.scatter(1, none[None, :], 2.0), x[none]]
        return [*found, v.copysign(-x), x.round(decimals=1), (900 * x).round(decimals=-2)]

    check(settings, function, torch.randn(3, 4), torch.tensor(1.5))


def test_buckets_take_nan_last(settings: Settings) -> None:
    bounds = torch.tensor([-1.0, 0.0, 0.0, 2.0])
    x = torch.tensor([-1.0, 0.0, 0.5, 2.0, float("nan"), float("-inf"), float("inf")])

    def function(x: Any) -> Any:
        return [torch.bucketize(x, bounds, right=right) for right in (True, False)]

    check(settings, function, x)


def test_searches_in_rows_of_boundaries(settings: Settings) -> None:
    bounds = torch.randn(2, 3, 5)
    order = bounds.argsort(-1)

    def function(x: Any) -> Any:
        ordered = bounds.sort(-1).values
        found = [torch.searchsorted(ordered, x), torch.searchsorted(bounds, x, sorter=order)]
        return [*found, torch.searchsorted(ordered, x[..., :0]), x.sum()]

    check(settings, function, torch.randn(2, 3, 4))


def test_norms_of_any_order(settings: Settings) -> None:
    x = torch.randn(3, 4)
    x[0, 1] = 0
    orders = (0, 1, 2, 3, 0.5, float("inf"), -float("inf"))
    check(settings, lambda x: [torch.linalg.vector_norm(x, p, dim=1) for p in orders], x)


def test_views_that_overlap_or_cross(settings: Settings) -> None:
    def function(x: Any) -> Any:
        parts = [x.unfold(1, 3, 2), x.diagonal(1), x.diagonal(-2, 1, 0), torch.hypot(x, x * 0)]
        return [*parts, *torch.var_mean(x, 1)]

    check(settings, function, torch.randn(4, 6))


@pytest.mark.parametrize(
    "window", [(3, 2, 1, 1, True), (2, 2, 0, 1, False), (3, 1, 1, 2, False), (5, 3, 2, 1, True)]
)
def test_places_of_maxima_with_infinities_and_nan(window: tuple[Any, ...]) -> None:
    x = torch.randn(2, 3, 13, 11, generator=torch.Generator().manual_seed(3)).round(decimals=1)
    x[0, 0, :6, :6] = -torch.inf
    x[1, 1, 4:6, 5] = torch.nan
    module = Call(lambda x: torch.nn.functional.max_pool2d(x, *window, return_indices=True))
    found = xyntra.compile(module, inputs=(x,), threads=1)(x)
    torch.testing.assert_close(found, module(x), rtol=0, atol=0, equal_nan=True)
