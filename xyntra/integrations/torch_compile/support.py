# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which nodes of an ATen graph Xyntra may compile, and reports those that it does not."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Container, Iterator
from typing import Any

import torch

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.calls import call_of
from xyntra.frontends.torch.node import find_handler

__all__ = [
    "fake_tensors",
    "forget_reports",
    "is_operator",
    "is_random",
    "is_view",
    "refusal",
    "report",
]

_VIEWS = frozenset(
    """
    alias as_strided detach diagonal expand permute select slice squeeze t transpose unfold
    unsqueeze view
    """.split()
)
_reported: set[str] = set()


def refusal(
    node: torch.fx.Node, device: torch.device, known: Container[torch.fx.Node] = ()
) -> str | None:
    """Return why a node cannot be part of a program for `device`; None where it can.

    The importer of its operator may refuse it nevertheless, for its arguments.

    Args:
        node: of a graph.
        device: where the program runs.
        known: nodes whose values are known when compiling, on whatever device PyTorch has them.
    """
    if node.target is operator.getitem:
        return None
    if is_random(node):
        return "it draws from PyTorch's random stream"
    if not isinstance(node.target, torch._ops.OpOverload) or node.target._schema.is_mutable:
        return "it is no functional ATen operator"
    if find_handler(str(node.target)) is None:
        return "it has no importer"
    try:
        call = call_of(node)
    except UnsupportedError as error:
        return error.message
    if all(type_ is None for type_ in call.results):
        return "it returns no tensor"
    read = [each for each in (node, *node.all_input_nodes) if each not in known]
    values = [value for each in read for value in fake_tensors(each)]
    if any(value.device != device or value.is_neg() for value in values):
        return "its tensors are not all on one device"
    return None


def is_operator(node: torch.fx.Node, names: Container[str]) -> bool:
    """Tell whether a node calls one of ATen's operators, in whatever overload."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return False
    return target._opname in names


def is_view(node: torch.fx.Node) -> bool:
    """Tell whether an operator returns a view of its first argument, and nothing else."""
    return is_operator(node, _VIEWS)


def is_random(node: torch.fx.Node) -> bool:
    """Tell whether a node draws random numbers, or lets an operator do so that it is given."""
    given = [each for each in node.args if isinstance(each, torch._ops.OpOverload)]
    tags = [getattr(each, "tags", ()) for each in (node.target, *given)]
    return any(torch.Tag.nondeterministic_seeded in each for each in tags)


def fake_tensors(node: torch.fx.Node) -> Iterator[torch.Tensor]:
    """Yield the tensors among a node's results, as fake ones."""
    value: Any = node.meta.get("val")
    for each in value if isinstance(value, (tuple, list)) else [value]:
        if isinstance(each, torch.Tensor):
            yield each


def report(node: torch.fx.Node, reason: str) -> None:
    """Warn once an operator that PyTorch runs it; random ones always are, which needs no word."""
    name = str(node.target)
    if name in _reported or is_random(node):
        return
    _reported.add(name)
    warnings.warn(f"xyntra: PyTorch runs {name}: {reason}", stacklevel=2)


def forget_reports() -> None:
    """Let every operator be reported again."""
    _reported.clear()
