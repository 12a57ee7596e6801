# SPDX-License-Identifier: MIT OR Apache-2.0
"""TorchScript compiled, and compared with itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError

torch = pytest.importorskip("torch")
nn = torch.nn
modules = pytest.importorskip("script_modules")

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch.jit itself
Settings = dict[str, object]


def compiled(script: Any, settings: Settings, *inputs: Any) -> Any:
    """Return the executable of a ScriptModule, once its outputs are those of the module."""
    exe = xyntra.compile(script, inputs=inputs, config=settings)
    check(exe, script, *inputs)
    return exe


def check(exe: Any, script: Any, *inputs: Any) -> None:
    with torch.no_grad():
        wanted = script(*copy.deepcopy(inputs))
    torch.testing.assert_close(exe(*inputs), wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


def refused(script: Any, settings: Settings, *inputs: Any) -> XyntraError:
    with pytest.raises(XyntraError) as caught:
        xyntra.compile(script, inputs=inputs, config=settings)
    return caught.value


def scripts(module: Any, *inputs: Any) -> list[Any]:
    """Return a module scripted and traced."""
    module.eval()
    with torch.no_grad():
        return [torch.jit.script(module), torch.jit.trace(module, inputs, check_trace=False)]


@pytest.mark.parametrize("kind", [0, 1], ids=["scripted", "traced"])
def test_an_image_network(kind: int, settings: Settings) -> None:
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    x = torch.randn(2, 3, 9, 7)
    compiled(scripts(module, x)[kind], settings, x)


@pytest.mark.parametrize("kind", [0, 1], ids=["scripted", "traced"])
def test_an_encoder(kind: int, settings: Settings) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    x = torch.randn(2, 5, 16)
    compiled(scripts(layer, x)[kind], settings, x)


@pytest.mark.parametrize("kind", [0, 1], ids=["scripted", "traced"])
def test_a_tagger(kind: int, settings: Settings) -> None:
    ids = torch.randint(0, 30, (2, 4))
    compiled(scripts(modules.Tagger(), ids)[kind], settings, ids)


def test_parts_have_their_names(settings: Settings) -> None:
    exe = compiled(torch.jit.script(modules.Layers()), settings, torch.randn(2, 4))
    names = [name for kernel in exe.kernels for name in kernel.fused]
    assert any(name.startswith("layers.1/") for name in names)


def test_values_that_decide(settings: Settings) -> None:
    script = torch.jit.script(modules.Choices())
    exe = compiled(script, settings, torch.rand(3, 4))
    check(exe, script, torch.rand(3, 4) + 9)
    check(exe, script, torch.tensor([[60.0, 0, 0, 0], [0, 0, 60, 0], [0, 1, 0, 2]]))


def test_containers(settings: Settings) -> None:
    named = {"a": torch.randn(2), "b": torch.randn(3)}
    rows = [torch.randn(3), torch.randn(3)]
    compiled(torch.jit.script(modules.Containers()), settings, named, rows)


@pytest.mark.parametrize("sign", [1, -1])
def test_assignments_reach_what_is_the_same(sign: int, settings: Settings) -> None:
    x, z = torch.rand(3, 2) * sign, torch.rand(3, 2)
    compiled(torch.jit.script(modules.Shared()), settings, x, z)


def test_rows_at_places_that_values_decide(settings: Settings) -> None:
    script, x = torch.jit.script(modules.Rows()), torch.rand(4, 3)
    exe = compiled(script, settings, x, torch.tensor(3))
    for scale, count in ((1, 4), (1, 0), (9, 4), (0, 2)):
        check(exe, script, x * scale, torch.tensor(count))
    with pytest.raises(InputError) as caught:
        exe(x, torch.tensor(5))
    assert "IndexError" in str(caught.value.cause)


def test_a_loop_that_goes_on_is_an_error(settings: Settings) -> None:
    script = torch.jit.script(modules.Endless())
    exe = compiled(script, settings, torch.full((2,), 1e5))
    with pytest.raises(InputError) as caught:
        exe(torch.full((2,), 1e2))
    assert caught.value.code == "torch-loop"
    assert "script_modules.py" in str(caught.value.place)


def test_an_exception_is_one(settings: Settings) -> None:
    exe = compiled(torch.jit.script(modules.Raises()), settings, torch.rand(3))
    with pytest.raises(InputError) as caught:
        exe(torch.tensor([1.0, -1.0, 2.0]))
    assert (caught.value.code, caught.value.cause) == ("torch-raises", "negative")


REFUSED = {
    "an index": (modules.Places, "torch-data-dependent", "found[position]"),
    "two shapes": (modules.Widths, "torch-data-dependent", "return x"),
    "state": (modules.State, "torch-mutation", ""),
}


@pytest.mark.parametrize(("kind", "code", "line"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(kind: Any, code: str, line: str, settings: Settings) -> None:
    error = refused(torch.jit.script(kind()), settings, torch.rand(2, 2))
    assert isinstance(error, UnsupportedError)
    assert error.code == code
    assert "script_modules.py" in str(error.place)
    assert line in str(error.place)


def test_inputs_that_do_not_fit(settings: Settings) -> None:
    script = torch.jit.script(nn.Linear(4, 3))
    error = refused(script, settings, torch.rand(2, 5))
    assert isinstance(error, ModelError)
    assert error.code == "torch-failed"
    with pytest.raises(InputError) as caught:
        xyntra.compile(script, config=settings)
    assert "input" in str(caught.value.place)


def test_a_trace_knows_its_inputs(settings: Settings) -> None:
    x = torch.randn(2, 4)
    script = torch.jit.trace(nn.Linear(4, 3), x)
    check(xyntra.compile(script, config=settings), script, x)
