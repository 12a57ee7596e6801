# SPDX-License-Identifier: MIT OR Apache-2.0
"""Seeds draw sizes, and wrong results of a row are noticed."""

from __future__ import annotations

import math
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")

from bench.sweep.checking import wrong_outputs  # noqa: E402
from bench.sweep.collection import rows  # noqa: E402
from bench.sweep.modules import Function  # noqa: E402
from bench.sweep.networks import networks  # noqa: E402
from bench.sweep.summary import lines, ratio  # noqa: E402


@pytest.mark.parametrize("target", ["cuda", "cpu"])
def test_a_seed_draws_the_sizes(target: str) -> None:
    first, again, other = (rows(target, seed) for seed in (1, 1, 2))
    assert len({row.name for row in first}) == len(first) > 120

    def sizes(found: list) -> list[int]:
        return [row.draw().rng.randrange(1 << 30) for row in found]

    assert sizes(first) == sizes(again)
    assert sum(map(int.__eq__, sizes(first), sizes(other))) < 2


@pytest.mark.parametrize(
    "name", ["layer norm #0", "depthwise convolution #1", "largest elements #0"]
)
def test_rows_run(name: str) -> None:
    (row,) = rows("cpu", 3, [name])
    module, inputs, _ = row.build()
    found = module(*inputs)
    outputs = [found] if isinstance(found, torch.Tensor) else list(found)
    assert wrong_outputs(module, inputs, outputs, outputs) == []
    outputs[0] = outputs[0].clone()
    outputs[0].view(-1)[0] += 1
    assert (
        len(wrong_outputs(module, inputs, outputs, (outputs[1:] and list(found)) or [found])) == 1
    )


def test_what_is_not_finite_is_wrong() -> None:
    module = Function(lambda x: x * 2)
    x = torch.randn(3, 4)
    broken = x * 2
    broken[1, 1] = math.nan
    assert "finite" in wrong_outputs(module, [x], [broken], [x * 2])[0]


def test_what_a_module_rounds_is_not_rounded_in_the_reference() -> None:
    def angles(x: torch.Tensor) -> torch.Tensor:
        rates = torch.exp(-math.log(10000.0) * torch.arange(64, device=x.device) / 128)
        return (x.float()[:, None] * rates).cos()

    x = torch.tensor([411, 814, 999])
    rates = torch.exp(-math.log(10000.0) * torch.arange(64, dtype=torch.float64) / 128)
    exact = (x.double()[:, None] * rates).cos().float()
    theirs = angles(x)
    assert float((exact - theirs).abs().max()) > 1e-5
    assert wrong_outputs(Function(angles), [x], [exact], [theirs]) == []
    assert torch.get_default_dtype() is torch.float32


def test_places_may_differ_among_equal_elements() -> None:
    module = Function(lambda x: x.argmax(1))
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 1.0, 0.0]])
    theirs = torch.tensor([1, 0])
    assert wrong_outputs(module, [x], [torch.tensor([2, 0])], [theirs]) == []
    assert wrong_outputs(module, [x], [torch.tensor([0, 0])], [theirs])
    assert wrong_outputs(module, [x], [torch.tensor([7, 0])], [theirs])


def test_places_may_differ_among_what_rounding_makes_equal() -> None:
    module = Function(lambda x: (x * 0.1).topk(2).indices)
    x = torch.tensor([[1.0, 3.0, 2.998, 0.0], [4.0, 1.0, 0.0, 2.0]], dtype=torch.float16)
    theirs = torch.tensor([[1, 2], [0, 3]])
    assert wrong_outputs(module, [x], [torch.tensor([[2, 1], [0, 3]])], [theirs]) == []
    assert wrong_outputs(module, [x], [torch.tensor([[1, 1], [0, 3]])], [theirs])
    assert wrong_outputs(module, [x], [torch.tensor([[1, 2], [3, 0]])], [theirs])


def test_ratios_are_those_to_the_best_peer() -> None:
    common = {"shapes": [[2, 3]], "wrong": [], "kernels": 1, "dtype": "float16"}
    found = [
        {
            "name": "a",
            "microseconds": {"xyntra": 2.0, "torch": 4.0, "torch.compile": 1.0},
            **common,
        },
        {"name": "b", "microseconds": {"xyntra": 1.0, "torch": 2.0}, **common},
        {"name": "c", "failure": "it crashed"},
    ]
    assert [ratio(row) for row in found[:2]] == [2.0, 0.5]
    text = list(lines(found))
    assert text[0] == "FAILED c: it crashed"
    assert text[-1].startswith("2 rows: geometric mean 1.000, 1 above 1.05 (50.0%), 1 above 1.25")


@pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed")
def test_networks_of_timm_are_built_at_any_batch() -> None:
    (network,) = networks("cpu", [3], ["resnet18"])
    module, (image,), _ = network.build()
    assert image.shape[0] == 6
    assert torch.isfinite(module(image)[0]).all()
