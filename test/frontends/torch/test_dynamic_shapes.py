# SPDX-License-Identifier: MIT OR Apache-2.0
"""Dimensions that `dynamic_shapes` of PyTorch leaves free."""

from __future__ import annotations

from typing import Any

import pytest

import xyntra
from xyntra.errors import InputError, UnsupportedError

torch = pytest.importorskip("torch")
Dim = torch.export.Dim
SETTINGS = {"cache": False, "strict": True}


class Encoder(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Attention with positions that are counted, over inputs in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x: Any, more: dict[str, Any]) -> tuple[Any, Any]:
        y = self.inner(x)
        batch, length, _ = y.shape
        y = y.view(batch, length, 4, 4).transpose(1, 2)
        y = torch.nn.functional.scaled_dot_product_attention(y, y, y)
        return y.transpose(1, 2).reshape(batch * length, 16), more["m"] + torch.arange(length)


def _compiled(module: Any, inputs: Any, shapes: Any, **given: Any) -> Any:
    settings: dict[str, Any] = {"target": "cpu", "config": SETTINGS, **given}
    return xyntra.compile(module.eval(), inputs=inputs, dynamic_shapes=shapes, **settings)


def _check(exe: Any, module: Any, batch: int, length: int) -> None:
    x, more = torch.randn(batch, length, 16), {"m": torch.randn(length)}
    for found, expected in zip(exe(x, more), module(x, more), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_dims_of_nested_inputs_are_free_in_their_ranges() -> None:
    torch.manual_seed(0)
    module = Encoder()
    batch, length = Dim("batch", min=1, max=8), Dim("length", min=1, max=100)
    inputs = torch.randn(2, 6, 16), {"m": torch.zeros(6)}
    exe = _compiled(module, inputs, {"x": {0: batch, 1: length}, "more": {"m": {0: length}}})
    for sizes in ((1, 1), (3, 7), (8, 100)):
        _check(exe, module, *sizes)
    with pytest.raises(InputError, match="batch = 9 is not in its range, 1 to 8"):
        exe(torch.zeros(9, 2, 16), {"m": torch.zeros(2)})
    with pytest.raises(InputError, match="input 'x' bound length = 2"):
        exe(torch.zeros(8, 2, 16), {"m": torch.zeros(3)})


class Halves(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Needs an even number of rows."""

    def forward(self, x: Any) -> Any:
        first, second = x.chunk(2, 0)
        return first * second


def test_multiples_and_programs_that_are_exported_already() -> None:
    module, half = Halves(), Dim("half", max=64)
    program = torch.export.export(
        module, (torch.randn(8, 5),), dynamic_shapes=({0: 2 * half},), strict=False
    )
    exe = xyntra.compile(program, target="cpu", config=SETTINGS)
    x = torch.randn(14, 5)
    torch.testing.assert_close(exe(x), module(x))
    with pytest.raises(InputError, match=r"dimension 0 is 13, which is no 2\*half"):
        exe(torch.zeros(13, 5))


def test_a_dimension_without_a_largest_size_gets_one_and_dims_changes_it() -> None:
    module = torch.nn.ReLU()
    auto = _compiled(module, (torch.randn(3, 20),), ({0: Dim.AUTO, 1: Dim.AUTO},))
    assert "x[1]: 2 to 160" in repr(auto) or "input[1]: 2 to 160" in repr(auto)
    given = _compiled(
        module,
        (torch.randn(3, 20),),
        ({0: Dim("n"), 1: Dim("m")},),
        dims={"n": 7, "m": range(2, 41)},
    )
    assert given(torch.ones(7, 40)).shape == (7, 40)
    with pytest.raises(InputError, match="m = 41 is not in its range, 2 to 40"):
        given(torch.ones(7, 41))


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ({"dims": {"m": 3}}, "unknown-dimension", "no free dimension 'm'"),
        ({"dims": {"n": range(1, 99)}}, "dimension-range", "max=9"),
        ({"inputs": [torch.ones(1, 2)]}, "free-dimension", "cannot leave these dimensions free"),
    ],
)
def test_what_cannot_be_free_is_refused(given: dict[str, Any], code: str, says: str) -> None:
    inputs = given.pop("inputs", [torch.ones(3, 2)])
    shapes = ({0: Dim("n", max=9)},) if code != "free-dimension" else ({0: Dim("n", min=2)},)
    with pytest.raises((InputError, UnsupportedError)) as caught:
        _compiled(torch.nn.ReLU(), inputs, shapes, **given)
    assert caught.value.code == code
    assert says in str(caught.value)


class Chooses(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Takes a branch by a size."""

    def forward(self, x: Any) -> Any:
        return x + 1 if x.shape[0] % 4 == 0 else x


def test_a_branch_that_a_size_decides_is_for_the_sizes_that_take_it() -> None:
    shapes = ({0: Dim.AUTO},)
    with pytest.raises(UnsupportedError, match="traced the module for sizes with"):
        _compiled(Chooses(), (torch.ones(8, 3),), shapes)
    dims = {"x[0]": range(4, 65, 4)}
    exe = _compiled(Chooses(), (torch.ones(8, 3),), shapes, dims=dims)
    assert float(exe(torch.ones(12, 3))[0, 0]) == 2


def test_models_of_other_kinds_have_no_dynamic_shapes() -> None:
    with pytest.raises(InputError, match="dynamic_shapes= is for modules"):
        xyntra.compile(b"", dynamic_shapes=({0: Dim.AUTO},))
