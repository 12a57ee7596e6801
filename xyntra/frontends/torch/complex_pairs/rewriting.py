# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rewrites graphs of ATen operators on complex tensors as graphs on their real and imaginary parts.

Kernels know no complex elements. Rotary embeddings that multiply complex numbers, or layers that
filter frequencies, become products and sums of real tensors, which are fused as any others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.calls import memory_order
from xyntra.frontends.torch.complex_pairs.arithmetic import ARITHMETIC
from xyntra.frontends.torch.complex_pairs.fourier import FOURIER
from xyntra.frontends.torch.complex_pairs.pair import PARTS, Pair, Rule, as_pair
from xyntra.frontends.torch.complex_pairs.structure import STRUCTURE
from xyntra.frontends.torch.reducing.traces import TooHardError, inline_operator, plain_like

__all__ = ["BORDER", "has_complex", "with_pairs", "with_pairs_inside"]

_Node: TypeAlias = torch.fx.Node
_Table: TypeAlias = Mapping[Any, Callable[..., Any]]
_aten = torch.ops.aten
_ASSERTION = "_assert_tensor_metadata"
BORDER = "complex_border"
"""Marks in `meta` a view that PyTorch makes of complex tensors, at no cost."""


def has_complex(graph: torch.fx.Graph) -> bool:
    """Tell whether a graph has complex tensors, or views that negate what they show."""
    values = [value for node in graph.nodes for value in _tensors(node)]
    return any(value.is_complex() or value.is_neg() for value in values)


def with_pairs(graph: torch.fx.Graph, table: _Table) -> tuple[torch.fx.Graph, dict[str, str]]:
    """Return a graph without complex tensors, and what its results are called, by their old names.

    Args:
        graph: of functional operators. Complex weights get a last dimension of real and imaginary
            parts; other placeholders and the results have to be real.
        table: decompositions of operators that rules use.

    Raises:
        UnsupportedError: an operator, or a use of one, has no rule, or a result is complex.
    """
    writer = _Writer(table)
    names: dict[str, str] = {}
    for node in graph.nodes:
        if node.op == "output":
            names = writer.real_results(node)
        elif not writer.add(node):
            raise UnsupportedError(
                "operator-unsupported",
                f"{node.target}: it is not supported for complex tensors of these sizes",
                place=f"node '{node.name}'",
                hint="compute with real and imaginary parts, or leave that part outside of the"
                " module; torch.compile runs it in PyTorch",
            )
    writer.graph.eliminate_dead_code()
    return writer.graph, names


def with_pairs_inside(graph: torch.fx.Graph, table: _Table) -> torch.fx.Graph:
    """Return a graph that computes with pairs, but takes and returns what the given one does.

    PyTorch turns complex placeholders to pairs, which are views, and pairs to complex results. It
    also runs operators that have no rule.

    Args:
        graph: of functional operators.
        table: decompositions of operators that rules use.
    """
    writer = _Writer(table, opens=True)
    for node in graph.nodes:
        if node.op == "output":
            results = torch.fx.map_arg(node.args[0], writer.closed)
            writer.graph.output(results).meta = dict(node.meta)
        elif not writer.add(node):
            writer.add_as_it_is(node)
    writer.graph.eliminate_dead_code()
    return writer.graph


class _Writer:
    """Writes the new graph.

    Args:
        table: decompositions.
        opens: whether placeholders stay complex, and a node of PyTorch's takes them apart.
    """

    def __init__(self, table: _Table, *, opens: bool = False) -> None:
        self.table, self.opens = table, opens
        self.graph = torch.fx.Graph()
        self.values: dict[_Node, Any] = {}

    def add(self, node: _Node) -> bool:
        """Add what becomes of a node; tell whether there is a rule for it."""
        if node.op != "call_function":
            self.values[node] = self._given(node)
            return True
        if node.target is operator.getitem:
            self.values[node] = self._item(node)
            return True
        read = [value for each in (node, *node.all_input_nodes) for value in _tensors(each)]
        is_complex = any(each.is_complex() for each in read)
        if not is_complex and not any(each.is_neg() for each in read):
            self.values[node] = self._copied(node)
            return True
        if not _tensors(node) and getattr(node.target, "_opname", "") == _ASSERTION:
            return True  # what a tensor is made of, which has been checked
        try:
            if is_complex:
                rule = _rule_of(node.target)
            else:
                rule = torch.neg if node.target is _aten._neg_view.default else node.target
            self.values[node] = self._by_rule(node, rule)
        except TooHardError:
            return False
        return True

    def add_as_it_is(self, node: _Node) -> None:
        """Add a node that PyTorch runs on complex tensors."""
        arguments = torch.fx.map_arg((node.args, node.kwargs), self.closed)
        made = self.graph.create_node("call_function", node.target, *arguments, node.name)
        made.meta = dict(node.meta)
        self.values[node] = self._opened(made)

    def real_results(self, output: _Node) -> dict[str, str]:
        """Write the results, and return what they are called, by their old names."""
        read = [(node, self.values[node]) for node in output.all_input_nodes]
        for node, value in read:
            if isinstance(value, Pair):
                raise UnsupportedError(
                    "torch-output",
                    "an output is complex",
                    place=f"output '{node.name}'",
                    hint="return torch.view_as_real(value)",
                )
        self.graph.output(torch.fx.map_arg(output.args[0], self.values.__getitem__))
        return {node.name: value.name for node, value in read}

    def closed(self, node: _Node) -> Any:
        """Return a value as PyTorch has it; pairs are put together in the order of its memory."""
        value = self.values[node]
        if isinstance(value, list):
            raise TooHardError
        if not isinstance(value, Pair):
            return value
        like = node.meta["val"]
        order = memory_order(like) or tuple(range(like.dim()))
        stacked = inline_operator(self.graph, _stacked, ((*value, order), {}), self.table, {})
        joined = self._border(_aten.view_as_complex.default, stacked)
        if order == tuple(range(like.dim())):
            return joined
        back = sorted(range(len(order)), key=order.__getitem__)
        return self._border(_aten.permute.default, joined, back)

    def _border(self, op: Any, node: _Node, *more: Any) -> _Node:
        """Add a view that PyTorch makes."""
        made = self.graph.call_function(op, (node, *more))
        with FakeTensorMode():
            value = op(plain_like(node.meta["val"]), *more)
        made.meta = {"val": value, BORDER: True}
        return made

    def _given(self, node: _Node) -> Any:
        """Return a placeholder or a constant; its parts where it is complex."""
        made = self._copied(node)
        made.name = node.name
        values = list(_tensors(node))
        if not values or not values[0].is_complex():
            return made
        if self.opens:
            return self._opened(made)
        with FakeTensorMode():
            shape, dtype = (*values[0].shape, 2), PARTS[values[0].dtype]
            made.meta["val"] = torch.empty(shape, dtype=dtype, device=values[0].device)
        return self._parts_of(made)

    def _opened(self, node: _Node) -> Any:
        """Return the parts of what PyTorch made, if it is complex; several results as a list."""
        value = node.meta.get("val")
        if isinstance(value, (tuple, list)):
            return node
        if not isinstance(value, torch.Tensor) or not value.is_complex():
            return node
        plain = self._border(_aten.resolve_conj.default, node)
        return self._parts_of(self._border(_aten.view_as_real.default, plain))

    def _parts_of(self, node: _Node) -> Pair:
        made = [self.graph.call_function(_aten.select.int, (node, -1, place)) for place in (0, 1)]
        for place, each in enumerate(made):
            with FakeTensorMode():
                each.meta["val"] = plain_like(node.meta["val"]).select(-1, place)
        return Pair(*made)

    def _item(self, node: _Node) -> Any:
        """Return one of several results."""
        source: Any = self.values[node.args[0]]
        if isinstance(source, list):
            return source[node.args[1]]
        return self._opened(self._copied(node))

    def _copied(self, node: _Node) -> _Node:
        made = self.graph.node_copy(node, self.values.__getitem__)
        made.meta = dict(node.meta)
        return made

    def _by_rule(self, node: _Node, rule: Rule | None) -> Any:
        """Add what a rule makes of a node; without one, its operator makes real parts of reals."""
        wanted = node.meta["val"]
        arguments = torch.fx.map_arg((node.args, node.kwargs), self.values.__getitem__)
        if node.target._opname != "_to_copy":
            arguments = pytree.tree_map_only(torch.dtype, lambda d: PARTS.get(d, d), arguments)
        if rule is None:
            leaves = pytree.tree_leaves(arguments, is_leaf=lambda each: isinstance(each, Pair))
            if node.target._schema.is_mutable or any(type(e) in (complex, Pair) for e in leaves):
                raise TooHardError
            rule = node.target
        notes = {key: node.meta[key] for key in ("nn_module_stack", "custom") if key in node.meta}
        result = inline_operator(self.graph, rule, arguments, self.table, notes)
        values = [each.meta["val"] for each in pytree.tree_leaves(result)]
        if any(each.is_complex() for each in values):
            raise TooHardError
        if isinstance(wanted, (tuple, list)):
            return list(result)
        dtype, shape = PARTS.get(wanted.dtype, wanted.dtype), tuple(wanted.shape)
        fits = all(tuple(each.shape) == shape and each.dtype == dtype for each in values)
        if fits and isinstance(result, Pair) == wanted.is_complex():
            return result
        given = result, shape, dtype, wanted.is_complex()
        return inline_operator(self.graph, _fitted, (given, {}), self.table, notes)


def _stacked(re: torch.Tensor, im: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """Return parts as the memory of a complex tensor, whose dimensions lie in `order`."""
    return torch.stack([re.permute(order), im.permute(order)], -1)


def _fitted(value: Any, shape: Sequence[int], dtype: torch.dtype, is_complex: bool) -> Any:
    """Return a result with the shape and dtype that PyTorch says."""
    if is_complex:
        return Pair(*(part.to(dtype).expand(shape) for part in as_pair(value)))
    if isinstance(value, Pair):
        raise TooHardError
    return value.to(dtype).expand(shape)


@cache
def _rule_of(op: Any) -> Rule | None:
    """Return the rule of an operator."""
    if not isinstance(op, torch._ops.OpOverload) or op._schema.is_mutable:
        raise TooHardError
    rule = ARITHMETIC.get(op._opname) or FOURIER.get(op._opname)
    if rule is not None:
        return rule
    make = STRUCTURE.get(op._opname)
    return None if make is None else make(op)


def _tensors(node: _Node) -> list[torch.Tensor]:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [each for each in values if isinstance(each, torch.Tensor)]
