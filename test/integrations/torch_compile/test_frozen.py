# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parameters that are prepared once in inference: whatever changes them is seen."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
backend = pytest.importorskip("xyntra.integrations.torch_compile").backend
parts = pytest.importorskip("xyntra.integrations.torch_compile.parts")
nn = torch.nn

Settings = dict[str, object]
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


class Net(nn.Module):
    """A convolution with statistics, and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.out = nn.Linear(16 * 36, 40)

    def forward(self, x: Any) -> Any:
        return self.out(self.norm(self.conv(x)).relu().flatten(1))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows whenever weights are prepared."""
    found: list[None] = []
    original = parts.compile_apart

    def counted(*arguments: Any) -> Any:
        load = original(*arguments)

        def counting(weights: Any) -> Any:
            found.append(None)
            return load(weights)

        return counting

    monkeypatch.setattr(parts, "compile_apart", counted)
    return found


@pytest.fixture
def net(settings: Settings) -> tuple[Any, Any]:
    """Return a network and its compiled twin with parameters of its own."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Net().eval()
    options = {"fallback": False, **settings}
    return model, torch.compile(copy.deepcopy(model), backend=backend, options=options)


def check(net: tuple[Any, Any]) -> None:
    """Compare both on new pictures."""
    x = torch.randn(2, 3, 6, 6)
    with torch.no_grad():
        found, wanted = net[1](x), net[0](x)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * float(wanted.abs().max()))


def through_data(model: Any) -> None:
    model.out.weight.data.mul_(1.5)


def one_row(model: Any) -> None:
    model.out.weight.data[7] = 2.0


def one_column(model: Any) -> None:
    model.out.weight.data[:, 33] = 2.0


def in_place(model: Any) -> None:
    with torch.no_grad():
        model.conv.weight.mul_(2)


def one_element(model: Any) -> None:
    with torch.no_grad():
        model.out.weight[3, 5] += 4


def other_memory(model: Any) -> None:
    model.out.weight.data = model.out.weight.data * 2


def other_memory_twice(model: Any) -> None:
    """The memory of the first may come back for the third."""
    for _ in range(2):
        other_memory(model)


def replaced(model: Any) -> None:
    model.out.weight = nn.Parameter(model.out.weight.detach() * 3)


def loaded(model: Any) -> None:
    model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()})


def statistics(model: Any) -> None:
    model.norm.running_mean.add_(1)


def other_order(model: Any) -> None:
    model.to(memory_format=torch.channels_last)


def optimised(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for each in model.parameters():
        each.grad = torch.ones_like(each)
    optimizer.step()


CHANGES = [
    through_data,
    one_row,
    one_column,
    in_place,
    one_element,
    other_memory,
    other_memory_twice,
    replaced,
    loaded,
    statistics,
    other_order,
    optimised,
]


def test_every_change_is_seen_at_the_next_call(net: tuple[Any, Any]) -> None:
    check(net)
    for change in CHANGES:
        for model in net:
            change(model)
        for _ in range(5):
            check(net)


def test_parameters_that_stay_are_prepared_once(net: tuple[Any, Any], loads: list[None]) -> None:
    for _ in range(5):
        check(net)
    assert len(loads) == 1


def test_parameters_that_always_change_become_inputs(
    net: tuple[Any, Any], loads: list[None]
) -> None:
    for _ in range(8):
        check(net)
        for model in net:
            in_place(model)
            model.conv.weight.data.mul_(0.5)
    assert 1 < len(loads) <= 4


@pytest.mark.parametrize("change", [lambda m: m.double(), lambda m: m.to(torch.bfloat16)])
def test_another_dtype_is_compiled_anew(net: tuple[Any, Any], change: Callable[..., Any]) -> None:
    check(net)
    x = torch.randn(2, 3, 6, 6)
    for model in net:
        change(model)
    x = x.to(next(net[0].parameters()).dtype)
    with torch.no_grad():
        torch.testing.assert_close(net[1](x), net[0](x), rtol=2e-2, atol=2e-2)


def test_parameters_of_inference_mode_are_inputs(
    net: tuple[Any, Any], loads: list[None], settings: Settings
) -> None:
    with torch.inference_mode():
        model = Net().eval()
        call = torch.compile(copy.deepcopy(model), backend=backend, options=settings)
        for _ in range(3):
            check((model, call))
            for each in (model, call):
                each.out.weight[3, 5] += 4
    assert not loads


def test_freezing_can_be_left_out(loads: list[None], settings: Settings) -> None:
    model = Net().eval()
    call = torch.compile(
        copy.deepcopy(model), backend=backend, options={**settings, "freeze": False}
    )
    check((model, call))
    assert not loads
