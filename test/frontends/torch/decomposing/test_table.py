# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decompositions beside the operators of PyTorch that they stand for, and compiled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import xyntra

torch = pytest.importorskip("torch")
table = pytest.importorskip("xyntra.frontends.torch.decomposing.table")
aten, nan, inf = torch.ops.aten, float("nan"), float("inf")


def drawn(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.float64)


def sampling() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Images of two and three dimensions, points inside and far outside of them."""
    for mode, padding, corners in product((0, 1), (0, 1, 2), (False, True)):
        plane = drawn(2, 3, 4, 5), drawn(2, 3, 5, 6), 2 * drawn(2, 4, 5, 2)
        yield aten.grid_sampler_2d_backward, (*plane, mode, padding, corners, [True, True])
    space = drawn(1, 2, 2, 3, 4), drawn(1, 2, 4, 1, 3), 2 * drawn(1, 2, 3, 4, 3)
    yield aten.grid_sampler_3d_backward, (*space, 0, 2, False, [True, True])
    yield aten.grid_sampler_3d_backward, (*space, 0, 2, True, [True, True])


def distances() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    x, y = drawn(2, 4, 3), drawn(2, 5, 3)
    x[0, 0] = y[0, 0]  # no distance
    x[0, 1, 2] = y[0, 0, 2]  # none in one dimension
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf):
        yield aten._cdist_forward, (x, y, p, None)
        apart = aten._cdist_forward(x, y, p, None)
        yield aten._cdist_backward, (drawn(2, 4, 5), x, y, p, apart)
    yield aten._cdist_forward, (x[:, :0], y, 2.0, None)
    yield aten._cdist_forward, (x[..., :0].contiguous(), y[..., :0].contiguous(), 2.0, None)


def running() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    x = torch.tensor([[1.0, 3, 3, nan, 2, nan, inf], [-inf, -inf, 0, -1, inf, 0, 5]])
    for each in (x, x[:, :0], x[0, 0], torch.tensor([[4, 1, 4], [2, 2, 7]])):
        yield aten.cummax, (each, -1)
        yield aten.cummin, (each, 0)
    yield aten.logcumsumexp, (x, 1)
    yield aten.logcumsumexp, (900 * drawn(3, 17, 2), 1)
    yield aten.logcumsumexp, (drawn(5).half(), 0)


def others() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    x, mask = drawn(3, 4), torch.rand(3, 4) > 0.4
    yield aten.masked_scatter, (x, mask, drawn(20))
    yield aten.masked_scatter, (x, mask[0], drawn(12))
    yield aten.masked_scatter, (drawn(4), mask, drawn(4, 4))
    yield aten.masked_scatter, (x, torch.zeros_like(mask), drawn(0))
    yield aten.masked_scatter_backward, (x, mask, [5, 3])
    for before, behind in ((2, 3), (-1, 2), (0, -2), (-1, -1)):
        row, pads = drawn(2, 3, 4), [before, behind]
        yield (
            aten.replication_pad1d_backward,
            (drawn(2, 3, 4 + before + behind), row, pads),
        )
    yield aten.replication_pad2d_backward, (drawn(1, 2, 6, 4), drawn(1, 2, 3, 1), [1, 2, 2, 1])
    cube = drawn(1, 2, 4, 3, 5), drawn(1, 2, 2, 3, 4), [1, 0, 0, 0, 1, 1]
    yield aten.replication_pad3d_backward, cube
    yield aten._trilinear, (drawn(6, 3), drawn(4, 3, 5), drawn(6, 5), [1, 3], [0], [1, 2], [2, 3])
    yield aten._trilinear, (drawn(2, 3), drawn(2, 3), drawn(3), [], [], [0], [0])
    yield aten.addbmm, (drawn(3, 4), drawn(5, 3, 2), drawn(5, 2, 4))


ALL = [*sampling(), *distances(), *running(), *others()]


@pytest.mark.parametrize("number", range(len(ALL)))
def test_values_are_those_of_the_operator(number: int) -> None:
    op, arguments = ALL[number]
    rule = table.own_decompositions()[op.default]
    torch.testing.assert_close(rule(*arguments), op(*arguments), equal_nan=True)


def test_factors_of_sums_of_products() -> None:
    x, left, right = torch.full((3, 4), nan), drawn(5, 3, 2), drawn(5, 2, 4)
    rule = table.own_decompositions()[aten.addbmm.default]
    for beta, alpha in ((0, 0.5), (2, 1)):
        wanted = torch.addbmm(x.double(), left, right, beta=beta, alpha=alpha)
        found = rule(x.double(), left, right, beta=beta, alpha=alpha)
        torch.testing.assert_close(found, wanted, equal_nan=True)


def test_cubic_samples_are_left_to_pytorch() -> None:
    rule = table.own_decompositions()[aten.grid_sampler_2d_backward.default]
    plane = drawn(1, 1, 2, 2), drawn(1, 1, 3, 3), drawn(1, 2, 2, 2)
    assert rule(*plane, 2, 0, False, [True, True]) is NotImplemented


class Sampled(torch.nn.Module):  # type: ignore[misc, name-defined]
    """One module that uses several of the operators."""

    def forward(self, x: Any, grid: Any) -> Any:
        sampled = torch.nn.functional.grid_sample(x, grid, align_corners=False)
        padded = torch.nn.functional.pad(sampled, (1, 2, 0, 1), mode="replicate")
        rows = padded.flatten(2)
        mixed = rows.masked_scatter(rows > 0.5, rows.flip(0).exp())
        return torch.cdist(mixed, rows), mixed.cummax(-1).values, mixed.logcumsumexp(-1)


def test_a_module_and_its_gradients(settings: dict[str, object]) -> None:
    model, x, grid = Sampled(), torch.randn(2, 3, 6, 5), torch.rand(2, 4, 4, 2) * 2.4 - 1.2
    exe = xyntra.compile(model, inputs=(x, grid), config=settings)
    torch.testing.assert_close(exe(x, grid), model(x, grid), rtol=1e-4, atol=1e-5)

    compiling = pytest.importorskip("xyntra.integrations.torch_compile")

    def strict(module: Any, inputs: Any) -> Any:
        return compiling.backend(module, inputs, options={**settings, "fallback": False})

    grads = []
    for call in (model, torch.compile(model, backend=strict)):
        given = [each.clone().requires_grad_() for each in (x, grid)]
        sum(each.square().mean() for each in call(*given)).backward()
        grads.append([each.grad for each in given])
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-3, atol=1e-4)
