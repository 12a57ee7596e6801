# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles recorded graphs: writes them as the program that the frontend of arrays reads."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xyntra.array.recorded.graph import LazyNode
from xyntra.array.recorded.placement import keeps_arrays
from xyntra.array.recorded.reach import shallow_first
from xyntra.array.recorded.residence import with_room
from xyntra.compiler.driver import compile_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import load_config
from xyntra.frontends.torch.program import (
    AtenCall,
    AtenInput,
    AtenParameter,
    AtenProgram,
    AtenTensor,
)

if TYPE_CHECKING:
    from xyntra.array.recorded.reach import Graph
    from xyntra.executable import Executable

__all__ = ["GraphProgram", "compiled", "program_of"]


class GraphProgram:
    """The executable of a graph.

    Args:
        executable: what runs.
        places: for each input of it, the place of its value in what a call is given.
        given: how many values a call is given.
        single: whether it has one output.
        target: on whose device arrays lie between calls; None where that is the host.

    Attributes:
        own: the outputs that are not written over an input, by number.
    """

    __slots__ = ("every", "executable", "own", "places", "plain", "single", "target")

    def __init__(
        self,
        executable: Executable,
        places: Sequence[int],
        given: int,
        single: bool,
        target: str | None = None,
    ) -> None:
        self.target = target
        self.executable = executable
        self.places = tuple(places)
        self.single = single
        self.every = list(places) == list(range(given))
        self.plain = executable.plain_call()
        over = {output for output, _ in executable.plan.aliases}
        self.own = [each for each in range(len(executable.plan.outputs)) if each not in over]

    def __call__(self, values: Sequence[Any], into: Sequence[Any] = ()) -> Sequence[Any]:
        """Return the values of the outputs for those of leaves and changing numbers.

        Args:
            values: of leaves, and of numbers that change.
            into: for each output of `own` a value that is not needed any more, or None; or nothing.
        """
        if self.target is not None:
            return with_room(lambda: self._run(values, into), values, self.target)
        return self._run(values, into)

    def _run(self, values: Sequence[Any], into: Sequence[Any]) -> Sequence[Any]:
        given = values if self.every else [values[place] for place in self.places]
        if self.plain is not None:
            plain = self.plain(given, into)
            if plain is not None:
                return plain
        found = self.executable(*given)
        return (found,) if self.single else found


def compiled(
    graph: Graph,
    outputs: Sequence[LazyNode],
    target: str,
    varying: Sequence[int] = (),
    aliases: Sequence[tuple[int, int]] = (),
) -> GraphProgram:
    """Compile a graph.

    Args:
        graph: the graph.
        outputs: the nodes to compute.
        target: where it runs.
        varying: positions in the graph's numbers that are inputs.
        aliases: pairs of an output and the leaf that it is written over, if a kernel can.

    Raises:
        XyntraError: the graph cannot be compiled.
    """
    program, places = program_of(graph, outputs, varying)
    config = load_config(None, target=target)
    source = ModelSource("array", program.to_bytes(), None, {}, None)
    names = {f"output{number}": f"v{graph.places[graph.leaves[leaf]]}" for number, leaf in aliases}
    executable = compile_source(source, Sizes(aliases=names, donated=True), config)
    given = len(graph.leaves) + len(varying)
    device = target if keeps_arrays(target) else None
    return GraphProgram(executable, places, given, len(outputs) == 1, device)


def program_of(
    graph: Graph, outputs: Sequence[LazyNode], varying: Sequence[int]
) -> tuple[AtenProgram, list[int]]:
    """Return the program of a graph, and the place among its values of each of its inputs."""
    changing = [graph.numbers[place] for place in varying]
    given = [*graph.leaves, *changing]
    used = {each for node in graph.places if node.value is None for each in node.args}
    used.update(outputs)
    inputs, places = [], []
    for place, node in enumerate(given):
        if node in used:
            inputs.append(AtenInput(_name(graph, node), _type(node)))
            places.append(place)
    constants = [
        AtenParameter(_name(graph, node), _name(graph, node), _type(node), _bytes(node))
        for node in graph.numbers
        if node not in changing
    ]
    calls = [
        _call(graph, node)
        for node in shallow_first(graph, outputs)
        if node.value is None and node.op not in ("number", "argument")
    ]
    names = tuple(_name(graph, node) for node in outputs)
    return AtenProgram(tuple(inputs), tuple(constants), tuple(calls), names), places


def _name(graph: Graph, node: LazyNode) -> str:
    return f"v{graph.places[node]}"


def _type(node: LazyNode) -> AtenTensor:
    return AtenTensor(node.meta.dtype.name, node.meta.shape)


def _bytes(node: LazyNode) -> str:
    import numpy as np

    with np.errstate(all="ignore"):
        element = np.array(node.attrs[0]).astype(node.meta.dtype.numpy)
    return base64.b64encode(element.tobytes()).decode()


def _call(graph: Graph, node: LazyNode) -> AtenCall:
    arguments: dict[str, Any] = dict(node.attrs)
    arguments["args"] = [{"value": _name(graph, each)} for each in node.args]
    name = _name(graph, node)
    return AtenCall(name, f"array.{node.op}", f"{node.op}.{name[1:]}", arguments, (_type(node),))
