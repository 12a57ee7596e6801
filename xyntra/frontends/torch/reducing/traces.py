# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces single uses of operators, and keeps what they are decomposed to for the next such use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["TooHardError", "inline_operator", "plain_like", "without_mkldnn"]

_Node: TypeAlias = torch.fx.Node
_traced: dict[Any, tuple[torch.fx.Graph, Any]] = {}
"""Graphs by uses, with the table of decompositions that a use knows by its identity."""
_MOST_TRACED = 4096


class TooHardError(Exception):
    """The program needs more than operators one by one."""


@contextmanager
def without_mkldnn() -> Iterator[None]:
    """Let recurrent layers be decomposed, in place of a call of oneDNN's."""
    was = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was)


def inline_operator(
    graph: torch.fx.Graph,
    op: Callable[..., Any],
    arguments: tuple[Any, Any],
    table: Mapping[Any, Callable[..., Any]],
    notes: Mapping[str, Any],
) -> Any:
    """Add what one use of an operator is decomposed to, and return its results as nodes.

    Args:
        graph: is added to.
        op: an operator, or a function of tensors that calls operators.
        arguments: positional and named ones, with nodes of `graph` in the place of tensors.
        table: decompositions by operator; always the same one for an operator.
        notes: what the new nodes' `meta` holds beside "val".

    Raises:
        TooHardError: it cannot be traced by itself.
    """
    leaves, spec = pytree.tree_flatten(arguments)
    key = op, spec, tuple(map(_mark, leaves)), id(table)
    if key not in _traced:
        if len(_traced) >= _MOST_TRACED:
            _traced.clear()
        _traced[key] = _trace(op, leaves, spec, table), table
    traced, _ = _traced[key]
    inner: dict[_Node, _Node] = {}
    given = iter([each for each in leaves if isinstance(each, torch.fx.Node)])
    for each in traced.nodes:
        if each.op == "placeholder":
            inner[each] = next(given)
        elif each.op == "call_function":
            made = graph.node_copy(each, inner.__getitem__)
            made.meta = {"val": each.meta["val"], **notes}
            inner[each] = made
    (output,) = traced.find_nodes(op="output")
    return torch.fx.map_arg(output.args[0], inner.__getitem__)


def _trace(
    op: Callable[..., Any], leaves: list[Any], spec: Any, table: Mapping[Any, Any]
) -> torch.fx.Graph:
    """Return the graph of what one use of an operator is decomposed to."""
    places = [place for place, each in enumerate(leaves) if isinstance(each, torch.fx.Node)]

    def function(*tensors: torch.Tensor) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, spec)
        return op(*args, **kwargs)

    functional: Any = torch.func.functionalize(function, remove="mutations")
    recorder = _Recorder(table)
    with FakeTensorMode(), enable_python_dispatcher(), without_mkldnn():
        given = [plain_like(leaves[place].meta["val"]) for place in places]
        for tensor in given:
            recorder.name(tensor, recorder.graph.placeholder(f"tensor_{len(recorder.known)}"))
        try:
            with recorder:
                result = functional(*given)
        except (RuntimeError, TypeError, AssertionError) as error:
            raise TooHardError from error  # PyTorch says it better, or can do it as a whole
    recorder.graph.output(recorder.nodes(result))
    return recorder.graph


class _Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Records the operators that reach it as a graph, decomposed as a table says.

    It does what `make_fx` does, at a fifth of the time for a single operator.
    """

    def __init__(self, table: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.table = table
        self.graph = torch.fx.Graph()
        self.known: dict[int, tuple[torch.Tensor, _Node]] = {}

    def __torch_dispatch__(
        self, op: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Record one operator, or what it is decomposed to."""
        kwargs = kwargs or {}
        if op.namespace == "prim":  # a question about a tensor, such as its device
            return op(*args, **kwargs)
        for rule in (self.table.get(op), op.decompose if op._can_decompose() else None):
            if rule is not None:
                with self:
                    result = rule(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        if op._schema.is_mutable and not _only_renames_strides(op, args):
            raise TooHardError
        result = op(*args, **kwargs)
        if op._schema.is_mutable:
            return result
        # Named after the operator, not its overload, as PyTorch's own decompositions do.
        name = op._schema.name.partition("::")[2]
        node = self.graph.create_node("call_function", op, *self.nodes((args, kwargs)), name)
        node.meta["val"] = result
        if isinstance(result, torch.Tensor):
            self.name(result, node)
            return result
        for place, each in enumerate(result):
            if isinstance(each, torch.Tensor):
                item = self.graph.call_function(operator.getitem, (node, place))
                item.meta["val"] = each
                self.name(each, item)
        return result

    def name(self, tensor: torch.Tensor, node: _Node) -> None:
        """Say which node makes a tensor, which is kept so that no other takes its identity."""
        self.known[id(tensor)] = tensor, node

    def nodes(self, values: Any) -> Any:
        """Return arguments or results with nodes in the place of tensors."""
        return pytree.tree_map(self._node, values)

    def _node(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self.known:
            raise TooHardError  # a tensor that no operator has made
        return self.known[id(value)][1]


def plain_like(value: torch.Tensor) -> torch.Tensor:
    """Return a new tensor of the same type that lies as `value` does, and is no view."""
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def _mark(leaf: Any) -> Any:
    """Return what of an argument decides how an operator is decomposed."""
    if not isinstance(leaf, torch.fx.Node):
        return type(leaf), leaf
    value = leaf.meta["val"]
    if not isinstance(value, torch.Tensor) or value.is_neg() or value.is_conj():
        raise TooHardError
    return value.dtype, tuple(value.shape), value.stride(), value.device


def _only_renames_strides(op: Any, args: tuple[Any, ...]) -> bool:
    """Tell whether a tensor gets other strides for dimensions of one element, and is the same.

    So do means over the pixels of images with channels last, which stay of that order.
    """
    if op._opname != "as_strided_" or len(args) != 3:
        return False
    tensor, size, stride = args
    if tuple(tensor.shape) != tuple(size):
        return False
    return all(n == 1 or a == b for n, a, b in zip(size, tensor.stride(), stride, strict=True))
