# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes nodes: reduces the graph that they need to a key, and runs the executable of that key.

The key holds operations, types and attributes. Values of leaves are inputs of the executable.
Numbers of Python are constants of it at first; where the same graph comes with other numbers again
and again, those that change become inputs.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xyntra.array.recorded.graph import LEAF, NUMBER, LazyNode, RecordState
from xyntra.array.recorded.placement import LENT, are_numpy, keeps_arrays, place, placed, target_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.reach import Graph, graph_of
from xyntra.array.recorded.residence import note, on_host
from xyntra.errors import DeviceError, InputError
from xyntra.targets.current import CurrentDevice

if TYPE_CHECKING:
    from xyntra.array.recorded.programs import GraphProgram

__all__ = ["GraphCall", "clear_cache", "compute", "node_value", "prepared", "settle", "statistics"]

_MOST_CONSTANTS = 2
"""Executables of one graph that differ in numbers, before those that change become inputs."""
_UNKEPT = frozenset(
    "slice reshape permute flip broadcast full arange eye cast identity recompute".split()
)
"""Operations whose results are not worth memory of their own: views, and what reads no array."""
_CACHE: dict[tuple[Any, ...], _Entry] = {}
_MOST_GRAPHS = 4096
_LOCK = RLock()
"""Held while the graph is read and while nodes get their values, not while anything runs."""


class _Entry:
    """The executables of one graph.

    Attributes:
        varying: positions in the graph's numbers that are inputs.
        programs: executables by the other numbers.
        seen: the numbers of each call that was compiled.
    """

    __slots__ = ("programs", "seen", "varying")

    def __init__(self) -> None:
        self.varying: tuple[int, ...] = ()
        self.programs: dict[tuple[Any, ...], GraphProgram] = {}
        self.seen: list[tuple[Any, ...]] = []


def node_value(node: LazyNode) -> Any:
    """Return the elements of a node, computed if they are not there."""
    if node.value is None:
        compute((node,))
    return node.value


def compute(roots: Sequence[LazyNode]) -> None:
    """Compute nodes, and with them what arrays of the user stand for that lies on the way.

    Raises:
        InputError: `array-traced`: a function is being recorded, in which no value is there.
        DeviceError: `host-memory`: there is no room for the results.
        XyntraError: the graph cannot be compiled, or its target failed.
    """
    try:
        call = prepared(roots)
        if call is not None:
            settle(call.outputs, call.program(call.values))
    except MemoryError:
        raise _no_memory(roots) from None


def _no_memory(roots: Sequence[LazyNode]) -> DeviceError:
    """Return the error for arrays that memory of the host has no room for."""
    made, read = (
        sum(each.meta.size * each.meta.dtype.itemsize for each in nodes)
        for nodes in (roots, graph_of(roots).leaves)
    )
    return DeviceError(
        "host-memory",
        f"arrays of {made:,} bytes have no room in memory",
        place=user_place(),
        cause=f"they are computed from arrays of {read:,} bytes, which stay, and from temporaries",
        hint="let go of arrays, or compute on less at once",
    )


class GraphCall:
    """An executable, what it is given, and the nodes that it computes."""

    __slots__ = ("outputs", "program", "values")

    def __init__(self, program: GraphProgram, values: list[Any], outputs: list[LazyNode]) -> None:
        self.program = program
        self.values = values
        self.outputs = outputs


def prepared(roots: Sequence[LazyNode]) -> GraphCall | None:
    """Return what computes nodes; None where all of them have their values."""
    with _LOCK:
        graph = graph_of(roots)
        wanted = dict.fromkeys(each for each in roots if each.value is None)
        for node in graph.held:
            if node.op not in _UNKEPT:
                wanted[node] = None
        outputs = _filled([each for each in wanted if each.op is not NUMBER])
        for node in wanted:
            if node.op is NUMBER:
                _set_number(node)
        return _call(graph, outputs) if outputs else None


def settle(nodes: Sequence[LazyNode], values: Sequence[Any]) -> None:
    """Give nodes their values."""
    with _LOCK:
        for node, value in zip(nodes, values, strict=True):
            _settle(node, value)
        if values and not on_host(values[0]):
            note(nodes)


def _set_number(node: LazyNode) -> None:
    node.value = _element(node, node.attrs[0])


def _filled(nodes: list[LazyNode]) -> list[LazyNode]:
    """Give arrays without elements, or of one number, their values; return the others."""
    rest = []
    for node in nodes:
        if not node.meta.size:
            import numpy as np

            _settle(node, np.zeros(node.meta.shape, node.meta.dtype.numpy))
        elif node.op == "full":
            _settle(node, _full(node))
        else:
            rest.append(node)
    return rest


def _full(node: LazyNode) -> Any:
    """Return an array of one number; zeros take no time before they are written to."""
    import numpy as np

    meta, element = node.meta, _element(node, dict(node.attrs)["value"])
    if any(element.tobytes()):  # as those of -0.0
        found = np.full(meta.shape, element, meta.dtype.numpy)
    else:
        found = np.zeros(meta.shape, meta.dtype.numpy)
    target = CurrentDevice.target
    return place(found, target) if keeps_arrays(target) else found


def _call(graph: Graph, outputs: list[LazyNode]) -> GraphCall:
    places = graph.places
    values = [each.value for each in graph.leaves]
    target = CurrentDevice.target
    if keeps_arrays(target) or not are_numpy(values):
        target = target_of(graph.leaves)
        values = placed(graph.leaves, target)
    key = (*graph.key, target, *[places[each] for each in outputs])
    given = tuple([each.attrs[0] for each in graph.numbers])
    program, varying = _program(key, graph, given, outputs, target)
    if varying:
        elements = [_element(graph.numbers[place], given[place]) for place in varying]
        values += [place(each, target) for each in elements] if keeps_arrays(target) else elements
    return GraphCall(program, values, outputs)


def _settle(node: LazyNode, value: Any) -> None:
    if node.value is not None:  # by another thread, meanwhile
        return
    node.value = value
    if not RecordState.keep and not node.pinned:
        node.args = ()
        node.op = LEAF


def _program(
    key: tuple[Any, ...],
    graph: Graph,
    given: tuple[Any, ...],
    outputs: list[LazyNode],
    target: str,
) -> tuple[GraphProgram, tuple[int, ...]]:
    """Return the executable of a graph, and the numbers of it that are inputs."""
    entry = _CACHE.get(key)
    if entry is None:
        _check_traced(graph)
        if len(_CACHE) >= _MOST_GRAPHS:
            del _CACHE[next(iter(_CACHE))]
        entry = _CACHE[key] = _Entry()
    constants = _constants(given, entry.varying)
    found = entry.programs.get(constants)
    if found is not None:
        return found, entry.varying
    from xyntra.array.recorded.programs import compiled

    entry.seen.append(given)
    if len(entry.seen) > _MOST_CONSTANTS:
        entry.varying = _changing(entry.seen)
        constants = _constants(given, entry.varying)
        entry.programs.clear()
    found = entry.programs[constants] = compiled(graph, outputs, target, entry.varying)
    return found, entry.varying


def _constants(given: tuple[Any, ...], varying: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the numbers that are no inputs; 0.0 is told from -0.0, and NaN is NaN."""
    kept = given
    if varying:
        kept = tuple([each for place, each in enumerate(given) if place not in varying])
    return tuple([each if each and each == each else repr(each) for each in kept])


def _changing(seen: list[tuple[Any, ...]]) -> tuple[int, ...]:
    first = seen[0]
    return tuple(
        place
        for place in range(len(first))
        if any(repr(each[place]) != repr(first[place]) for each in seen)
    )


def _element(node: LazyNode, value: float) -> Any:
    import numpy as np

    with np.errstate(all="ignore"):
        return np.array(value).astype(node.meta.dtype.numpy)


def _check_traced(graph: Graph) -> None:
    """Refuse graphs that read an argument of a function that is being recorded as a whole."""
    for node in graph.ordered():
        if node.op is LENT:
            raise InputError(
                "array-lent",
                f"an array of {node.meta} was given to a function that writes over it",
                place=user_place(),
                cause="xa.jit(…, donate=…) puts a result where it was",
                hint="use the result, or copy the array first: xa.asarray(x, copy=True)",
            )
        if node.op == "argument" and node.value is None:
            raise InputError(
                "array-traced",
                "a value is asked for while the function that computes it is being recorded",
                place=user_place(),
                cause="a recorded function is run once with arguments that have no values:"
                " it cannot print them, test them, or store them outside",
                hint="return the array, use xa.where in place of `if`, or leave out @xa.jit",
            )


def clear_cache() -> None:
    """Forget all executables."""
    _CACHE.clear()


def statistics() -> dict[str, int]:
    """Return how many graphs and executables the cache holds."""
    programs = sum(len(each.programs) for each in _CACHE.values())
    return {"graphs": len(_CACHE), "executables": programs}
