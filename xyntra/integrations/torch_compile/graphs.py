# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles an ATen graph: its parts by Xyntra, the nodes between them left to PyTorch."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from xyntra.errors import UnsupportedError, XyntraError
from xyntra.frontends.torch.complex_pairs.rewriting import (
    BORDER,
    has_complex,
    with_pairs_inside,
)
from xyntra.frontends.torch.parts import GraphPart, describe_part, is_dense
from xyntra.integrations.torch_compile.decompositions import decompositions
from xyntra.integrations.torch_compile.parts import PartCall, compile_part
from xyntra.integrations.torch_compile.settings import Settings
from xyntra.integrations.torch_compile.split import levels
from xyntra.integrations.torch_compile.support import (
    fake_tensors,
    is_view,
    refusal,
    report,
)

__all__ = ["compile_graph"]

_QUOTED = re.compile(r"(?:node|output|input) '(?:[^']*/)?([^'/]+)'")
Node: TypeAlias = torch.fx.Node
_MOST_KNOWN = 1 << 16
"""Elements of a tensor on the CPU that a part for a GPU computes itself."""


def compile_graph(
    module: torch.fx.GraphModule, settings: Settings, static: Sequence[int] = ()
) -> Callable[..., Sequence[torch.Tensor]]:
    """Return a function that computes what a graph of functional ATen operators does.

    Args:
        module: the graph; `meta["val"]` of its nodes holds their results as fake tensors.
        settings: how it is compiled.
        static: positions of inputs that seldom change: parameters in inference.

    Raises:
        XyntraError: something is not supported, and `settings` excludes the fallback.
    """
    return _GraphCompiler(_on_pairs(module), settings, static).run()


def _on_pairs(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Return a graph whose complex tensors are pairs inside."""
    _constants(module)
    if not has_complex(module.graph):
        return module
    return torch.fx.GraphModule(module, with_pairs_inside(module.graph, decompositions()))


class _Refused(Exception):
    """PyTorch has to run these nodes."""

    def __init__(self, nodes: Sequence[Node], error: XyntraError) -> None:
        super().__init__(str(error))
        self.nodes = nodes
        self.error = error


class _GraphCompiler:
    def __init__(
        self, module: torch.fx.GraphModule, settings: Settings, static: Sequence[int]
    ) -> None:
        self.module = module
        self.settings = settings
        self.constants = _constants(module)
        self.calls = [n for n in module.graph.nodes if n.op not in ("placeholder", "get_attr")][:-1]
        self.device = _device_of(self.calls)
        self.known = _known(self.calls, self.constants, self.device)
        self.calls = [node for node in self.calls if node not in self.known]
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        is_frozen = settings.freezes(self.device)
        self.held = {inputs[place] for place in static} if is_frozen else set()
        self.refused: dict[Node, str] = {}
        self.compiled: dict[tuple[Node, ...], PartCall] = {}

    def run(self) -> Callable[..., Sequence[torch.Tensor]]:
        for node in self.calls:
            reason = refusal(node, self.device, self.known)
            if node.meta.get(BORDER):
                self.refused[node] = "it is a view of complex numbers"
            elif reason is not None:
                self._refuse(node, reason, None)
        while True:
            try:
                return self._compiled()
            except _Refused as refused:
                for node in refused.nodes:
                    self._refuse(node, refused.error.message, refused.error)

    def _refuse(self, node: Node, reason: str, error: XyntraError | None) -> None:
        if not self.settings.fallback:
            raise error or UnsupportedError(
                "operator-unsupported", f"{node.target}: {reason}", place=f"node '{node.name}'"
            )
        self.refused[node] = reason
        report(node, reason)

    def _compiled(self) -> Callable[..., Sequence[torch.Tensor]]:
        """Compile all parts and return the graph that calls them; it may end with `_Refused`."""
        graph = torch.fx.Graph()
        new: dict[Node, Node] = {}
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "get_attr") or node in self.known:
                new[node] = graph.node_copy(node, lambda each: new[each])
        for level in levels(self.calls, lambda node: node not in self.refused):
            if level.part:
                self._add_part(graph, level.part, new)
            for node in level.rest:
                new[node] = graph.node_copy(node, lambda each: new[each])
        (output,) = (n for n in self.module.graph.nodes if n.op == "output")
        graph.node_copy(output, lambda each: new[each])
        graph.eliminate_dead_code()
        forward: Callable[..., Sequence[torch.Tensor]]
        forward = torch.fx.GraphModule(self.module, graph).forward
        return forward

    def _add_part(self, graph: torch.fx.Graph, nodes: list[Node], new: dict[Node, Node]) -> None:
        """Call a part in `graph`, and add what others read of it to `new`.

        What is known when compiling is computed in every part that reads it, and by PyTorch where
        others do.
        """
        inside = set(nodes)
        read = [each for each in nodes if any(user not in inside for user in each.users)]
        known = _needed([i for n in nodes for i in n.all_input_nodes], self.known)
        nodes = [*(each for each in self.known if each in known), *nodes]
        inside |= known
        outputs = _outputs(read, inside)
        computed = _needed(outputs, inside)
        if computed:
            used = dict.fromkeys(i for n in computed for i in n.all_input_nodes if i not in inside)
            inputs = [each for each in used if each not in self.constants]
            given = {each: self.constants[each] for each in used if each in self.constants}
            call = self._part([n for n in nodes if n in computed], inputs, given, outputs)
            results = graph.call_function(call, tuple(new[each] for each in inputs))
            for place, node in enumerate(outputs):
                new[node] = graph.call_function(_item, (results, place))
        for node in read:
            _add_views(graph, node, new)

    def _part(
        self,
        nodes: list[Node],
        inputs: list[Node],
        constants: dict[Node, torch.Tensor],
        outputs: list[Node],
    ) -> PartCall:
        key = (*nodes, *outputs)
        if key in self.compiled:
            return self.compiled[key]
        name = f"xyntra_part_{len(self.compiled)}"
        self._check_devices(nodes, inputs)
        try:

            def describe(frozen: bool) -> GraphPart:
                held = self.held if frozen else ()
                return describe_part(nodes, inputs, constants, outputs, held)

            config = self.settings.config_for(self.device)
            self.compiled[key] = compile_part(describe, config, self.device, name)
        except XyntraError as error:
            named = _QUOTED.search(error.place or "") if error.code != "worker-crashed" else None
            label = None if named is None else named[1]
            found = {_maker(each) for each in nodes if each.name == label} - self.refused.keys()
            raise _Refused(list(found or map(_maker, nodes)), error) from error
        return self.compiled[key]

    def _check_devices(self, nodes: Sequence[Node], inputs: Sequence[Node]) -> None:
        """Leave those nodes to PyTorch that read tensors of another device."""
        away = {n for n in inputs if any(v.device != self.device for v in fake_tensors(n))}
        readers = [n for n in nodes if not away.isdisjoint(n.all_input_nodes)]
        if readers:
            message = "its tensors are not all on one device"
            raise _Refused([_maker(n) for n in readers], UnsupportedError("torch-device", message))


def _maker(node: Node) -> Node:
    """Return the node that computes a value: `getitem` only picks one."""
    return node.all_input_nodes[0] if node.target is operator.getitem else node


def _item(results: Sequence[torch.Tensor], place: int) -> torch.Tensor:
    return results[place]


def _outputs(read: Sequence[Node], inside: set[Node]) -> list[Node]:
    """Return the values that a part computes: those that are read outside, less mere views."""
    bases = {_base(node, inside) for node in read if not is_view(node)}
    bases |= {_base(node, inside) for node in read if not is_dense(node.meta["val"])}
    found = []
    for node in read:
        base = _base(node, inside)
        if base not in inside:
            continue
        found.append(base if base in bases else node)
    return list(dict.fromkeys(found))


def _base(node: Node, inside: set[Node]) -> Node:
    """Return what a node of a part is a view of."""
    while node in inside and is_view(node):
        node = node.all_input_nodes[0]
    return node


def _needed(outputs: Sequence[Node], inside: Collection[Node]) -> set[Node]:
    needed: set[Node] = set()
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node in inside and node not in needed:
            needed.add(node)
            waiting += node.all_input_nodes
    return needed


def _add_views(graph: torch.fx.Graph, node: Node, new: dict[Node, Node]) -> None:
    """Let PyTorch make the views that lead from a known value to `node`."""
    chain = []
    while node not in new:
        chain.append(node)
        node = node.all_input_nodes[0]
    for each in reversed(chain):
        new[each] = graph.node_copy(each, lambda read: new[read])


def _constants(module: torch.fx.GraphModule) -> dict[Node, torch.Tensor]:
    """Return the tensors that a graph holds, by the nodes that read them."""
    found = {}
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        value: Any = module
        for name in node.target.split("."):
            value = getattr(value, name)
        if isinstance(value, torch.Tensor):
            node.meta.setdefault("val", value)
            if value.device.type == "cpu":
                found[node] = value
    return found


def _known(
    nodes: Sequence[Node], constants: Mapping[Node, torch.Tensor], device: torch.device
) -> dict[Node, None]:
    """Return nodes that make small tensors on the CPU of nothing, in a graph for another device."""
    found: dict[Node, None] = {}
    for node in nodes if device.type != "cpu" else ():
        values = list(fake_tensors(node))
        on_host = all(each.device.type == "cpu" for each in values)
        read = all(each in found or each in constants for each in node.all_input_nodes)
        small = all(each.numel() <= _MOST_KNOWN for each in values)
        if values and on_host and read and small and not refusal(node, values[0].device):
            found[node] = None
    return found


def _device_of(nodes: Sequence[Node]) -> torch.device:
    """Return the GPU of most tensors where there is one, else the CPU."""
    devices = [value.device for node in nodes for value in fake_tensors(node)]
    counts = Counter(each for each in devices if each.type != "cpu")
    return counts.most_common(1)[0][0] if counts else torch.device("cpu")
