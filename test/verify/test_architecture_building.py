# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests what is demanded of an architecture, and what its weights become."""

from __future__ import annotations

from typing import Any

import pytest

from verify.architectures.building import DegenerateError, build
from verify.architectures.registry import Architecture, Model
from verify.architectures.weights import randomize

torch = pytest.importorskip("torch")


def architecture(module: Any, *, options: Any = None) -> Architecture:
    inputs = {"x": torch.randn(4, 3, 8, 8)}
    return Architecture("a", "f", "l", lambda: Model(module, inputs, options or {}), "key")


class Constant(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def forward(self, x: Any) -> Any:
        return torch.ones(5) + 0 * x.sum()


class Deaf(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def forward(self, x: Any) -> Any:
        return torch.arange(5.0) + 0 * x.sum()


class Restless(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def forward(self, x: Any) -> Any:
        return x + torch.rand(())


class Overflowing(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def forward(self, x: Any) -> Any:
        return x / 0 * 0


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Constant(), "constant"),
        (Deaf(), "depends"),
        (Restless(), "same inputs"),
        (Overflowing(), "finite"),
    ],
)
def test_networks_that_say_nothing_are_refused(module: Any, said: str) -> None:
    with pytest.raises(DegenerateError, match=said):
        build(architecture(module))


def test_outputs_are_the_tensors_in_order() -> None:
    class Nested(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> Any:
            return {"a": x * 2, "b": None, "c": [(x + 1, 3)]}

    found = build(architecture(Nested()))
    x = found.inputs["x"].numpy()
    first, second = found.outputs()
    assert (first == x * 2).all()
    assert (second == x + 1).all()


def test_every_vector_moves_and_statistics_are_measured() -> None:
    norm = torch.nn.BatchNorm2d(6)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3), norm, torch.nn.Flatten(), torch.nn.Linear(216, 5)
    )
    torch.nn.init.zeros_(module[3].weight)
    module.eval().requires_grad_(False)
    x = 10 + torch.randn(16, 3, 8, 8)
    randomize(module, lambda: module(x), 1)
    measured = module[0](x).mean((0, 2, 3))
    assert (norm.running_mean - measured).abs().max() < 0.3 * norm.running_var.max().sqrt()
    assert norm.running_mean.abs().max() > 0.5
    for tensor in (*module.parameters(), norm.running_var):
        assert tensor.flatten().unique().numel() == tensor.numel()
    assert not norm.training
