# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs in terms of core ATen: what is reduced one operator at a time, and what is not."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch")

import xyntra  # noqa: E402
from xyntra.frontends.torch import exporting  # noqa: E402
from xyntra.frontends.torch.exporting import decomposed, export_module  # noqa: E402

_X = torch.linspace(-2, 2, 24).reshape(2, 3, 4)


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _is_reduced_by_uses(function, monkeypatch):
    """Check a function beside eager PyTorch, and tell whether PyTorch's own pass was left out."""
    seen = []
    own = exporting.reduce_program

    def watched(*arguments):
        seen.append(own(*arguments))
        return seen[-1]

    monkeypatch.setattr(exporting, "reduce_program", watched)
    exe = xyntra.compile(_Function(function), inputs=(_X,), threads=1)
    torch.testing.assert_close(exe(_X), function(_X.clone()), rtol=1e-5, atol=1e-6)
    return seen[0] is not None


def _written_after_a_view(x):
    y = x + 1
    part = y[:, 0]
    y.mul_(3)
    return part, y


def _view_is_written(x):
    y = x * 2
    y[:, 1].add_(5)
    return y


def _written_twice(x):
    y = torch.relu(x)
    before = y * 1
    y.add_(x).mul_(2)
    return before, y, y.relu_().sum(1)


def _one_of_several(x):
    values, places = x.topk(2, -1)
    values /= values.sum(-1, keepdim=True)
    return values, places


def _through_a_composite(x):
    y = torch.nn.functional.dropout(x + 1, 0.5, training=False)  # returns what it is given
    z = y.exp_()
    return y, z


def _mean_of_channels_last(x):
    image = x[None].to(memory_format=torch.channels_last)
    return torch.nn.functional.adaptive_avg_pool2d(image, 1) * 2


@pytest.mark.parametrize(
    ("function", "by_uses"),
    [
        (_written_twice, True),
        (_one_of_several, True),
        (lambda x: x.softmax(1).flatten(1).roll(3), True),
        (_mean_of_channels_last, True),
        (_written_after_a_view, False),
        (_view_is_written, False),
        (_through_a_composite, False),
        (
            lambda x: x.clone().clamp_(0, 1).t_() if x.dim() == 2 else x.clone().transpose_(0, 1),
            False,
        ),
    ],
    ids=["twice", "topk", "pure", "channels last", "view before", "view", "composite", "metadata"],
)
def test_values_that_are_written_to(function, by_uses, monkeypatch):
    assert _is_reduced_by_uses(function, monkeypatch) == by_uses


def test_it_gives_what_pytorch_gives():
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(2),
        torch.nn.LayerNorm(16),
        torch.nn.GELU(),
    )
    exported = export_module(module.eval(), (torch.randn(2, 3, 8, 8),))
    reduced = decomposed(exported)
    table = dict(exporting._decompositions())
    with exporting._quietly():
        whole = exported.run_decompositions(table)

    def operators(graph):
        return Counter(str(n.target) for n in graph.nodes if n.op == "call_function")

    assert operators(reduced.graph) == operators(whole.graph)


def test_layers_that_repeat_keep_their_names():
    layers = [torch.nn.LayerNorm(4) for _ in range(3)]
    exported = export_module(torch.nn.Sequential(*layers), (_X,))
    norms = [n for n in decomposed(exported).graph.nodes if "layer_norm" in str(n.target)]
    stacks = [list(node.meta["nn_module_stack"].values())[-1][0] for node in norms]
    assert stacks == ["0", "1", "2"]
