# SPDX-License-Identifier: MIT OR Apache-2.0
"""torch.compile with Xyntra beside eager PyTorch: results, gradients, fallbacks and refusals."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from xyntra.errors import ConfigError, UnsupportedError

torch = pytest.importorskip("torch")
backend = pytest.importorskip("xyntra.integrations.torch_compile").backend
support = pytest.importorskip("xyntra.integrations.torch_compile.support")
nn = torch.nn

Settings = dict[str, object]
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    support.forget_reports()
    torch.manual_seed(0)


def compiled(model: Any, settings: Settings, **arguments: Any) -> Any:
    """Return a model compiled by Xyntra alone: what it cannot do is an error."""
    options = {"fallback": False, **settings}
    return torch.compile(model, backend=backend, options=options, **arguments)


def check_training(model: Any, settings: Settings, *inputs: Any, **options: Any) -> None:
    """Compare outputs, gradients and buffers of a model in training with eager PyTorch's."""
    other = copy.deepcopy(model)
    step = compiled(other, {**settings, **options})
    for _ in range(2):
        results = []
        for call, owner in ((model, model), (step, other)):
            torch.manual_seed(3)
            owner.zero_grad()
            y = call(*inputs)
            (y * torch.arange(y.numel()).view(y.shape).sin()).sum().backward()
            results.append([y, *(p.grad for p in owner.parameters()), *owner.buffers()])
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_the_entry_point_is_the_backend(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["xyntra"].partition(":")
    assert getattr(pytest.importorskip(module), name) is backend


def test_inference(settings: Settings) -> None:
    model = nn.Sequential(nn.Linear(7, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 3)).eval()
    x = torch.randn(5, 7)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model, settings)(x), model(x), rtol=1e-4, atol=1e-5)
    with torch.inference_mode():
        found = compiled(model, settings)(x)
        assert found.is_inference()
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)


def test_channels_last_comes_and_goes_without_copies(settings: Settings) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()).eval()
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last)
    with torch.no_grad():
        found, wanted = compiled(model, settings)(x), model(x)
    assert found.stride() == wanted.stride()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_slice_comes_in(settings: Settings) -> None:
    x = torch.randn(6, 8)[::2, 1:5]
    found = compiled(lambda v: (v.sin() + 1).t(), settings)(x)
    torch.testing.assert_close(found, (x.sin() + 1).t())
    assert found.stride() == (x.sin() + 1).t().stride()


def test_in_place_operations_reach_the_arguments(settings: Settings) -> None:
    def function(x: Any) -> Any:
        x[:, 1].mul_(3)
        y = x.view(-1)
        y += 1
        return x[0], y.sum()

    a, b = torch.ones(3, 4), torch.ones(3, 4)
    torch.testing.assert_close(compiled(function, settings)(a), function(b))
    torch.testing.assert_close(a, b)


def test_sizes_that_change_are_compiled_for_each(settings: Settings) -> None:
    step = compiled(lambda x: x.softmax(-1) * x.shape[0], settings, dynamic=True)
    for rows in (2, 3, 5, 2):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(step(x), x.softmax(-1) * rows)


def test_training_with_dropout_draws_the_same_numbers(settings: Settings) -> None:
    model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 4))
    check_training(model, settings, torch.randn(5, 6), fallback=True)


def test_what_is_not_supported_runs_in_pytorch_and_is_reported_once(settings: Settings) -> None:
    def function(x: Any) -> Any:
        return torch.digamma(x.exp()).relu() + torch.digamma(x.cos())

    x = torch.randn(3, 3)
    with pytest.warns(UserWarning, match=r"PyTorch runs aten\.digamma") as caught:
        found = compiled(function, {**settings, "fallback": True})(x)
    assert len([each for each in caught if "PyTorch runs" in str(each.message)]) == 1
    torch.testing.assert_close(found, function(x), rtol=1e-4, atol=1e-5)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as refused:
        compiled(function, settings)(x)
    assert isinstance(refused.value.inner_exception, UnsupportedError)


def test_random_operators_keep_their_order(settings: Settings) -> None:
    def function(x: Any) -> Any:
        late = torch.bernoulli(x.sin().abs())
        return late + torch.rand_like(x) * 2 + torch.randn(3)

    x = torch.randn(4, 3)
    results = []
    for call in (function, compiled(function, {**settings, "fallback": True})):
        torch.manual_seed(5)
        results.append(call(x))
    torch.testing.assert_close(*results)


def test_gradients_can_be_asked_for_twice(settings: Settings) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    call = compiled(lambda v: v.softmax(-1).square().sum(), settings)
    call(x).backward()  # after this one, PyTorch no longer expects that a graph is kept
    once = x.grad.clone()
    y = call(x)
    y.backward(retain_graph=True)
    y.backward()
    torch.testing.assert_close(x.grad, 3 * once)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"mode": "max-autotune"}, "torch-mode"),
        ({"options": {"target": "cpu"}}, "torch-option"),
        ({"options": {"fallback": 1}}, "torch-option"),
        ({"options": {"no_such": 1}}, "config-unknown"),
    ],
)
def test_modes_and_options_that_are_not_there(arguments: Any, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        backend(torch.fx.symbolic_trace(nn.Identity()), [torch.ones(1)], **arguments)
    assert caught.value.code == code


def test_reduced_overhead_is_accepted(settings: Settings) -> None:
    x = torch.randn(3)
    graph = torch.fx.symbolic_trace(lambda v: (v.relu(),))
    (found,) = backend(graph, [x], mode="reduce-overhead", options=settings)(x)
    torch.testing.assert_close(found, x.relu())
