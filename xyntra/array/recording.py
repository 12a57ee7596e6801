# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records a function as a whole: a call with arrays of known types is one executable.

Nothing is recorded at later calls: the executable is looked up by the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from xyntra.array.arrays import Array, as_node, node_of, wrap
from xyntra.array.dtypes import as_dtype
from xyntra.array.interchange import is_foreign
from xyntra.array.recorded.evaluate import compute, node_value
from xyntra.array.recorded.graph import NUMBER, LazyNode, RecordState, leaf, meta_of
from xyntra.array.recorded.placement import (
    are_numpy,
    free_places,
    give_up,
    keeps_arrays,
    lend,
    lends,
    place,
    placed,
    target_of,
)
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.reach import Graph, graph_of
from xyntra.array.recorded.residence import note
from xyntra.array.recorded.spares import Spares
from xyntra.array.trees import flatten, structure, unflatten
from xyntra.errors import InputError
from xyntra.targets.current import CurrentDevice

if TYPE_CHECKING:
    from xyntra.array.recorded.programs import GraphProgram

__all__ = ["Jitted", "jit"]


class _Recording:
    """One executable of a function.

    Attributes:
        program: what runs; None where every output is given.
        values: for each leaf of it: the place of an argument, or its node, or a function that
            returns its value.
        lent: the places of arguments that results are written over.
        replaced: for each output of the program with memory of its own, the place of the argument
            that is given up for it, or None; nothing where all would be None.
        given_up: these places.
        outputs: for each leaf of the result: ("computed", place), ("argument", place) or the value.
        result: the form of the result.
    """

    __slots__ = (
        "given_up",
        "lent",
        "metas",
        "outputs",
        "program",
        "replaced",
        "result",
        "values",
    )

    def __init__(
        self,
        program: GraphProgram | None,
        values: Sequence[int | Callable[[], Any]],
        outputs: Sequence[tuple[str, Any]],
        metas: Sequence[Any],
        result: Any,
        lent: Sequence[int] = (),
        replaced: Sequence[int | None] = (),
    ) -> None:
        self.program = program
        self.values = values
        self.lent = lent
        self.replaced = replaced
        self.given_up = [place for place in replaced if place is not None]
        self.outputs = outputs
        self.metas = metas
        self.result = result

    def __call__(self, nodes: Sequence[LazyNode | None], target: str, spares: Spares) -> Any:
        """Return the result for the arguments, which are computed.

        Args:
            nodes: of the arguments; None for one that is part of what is recorded.
            target: where it runs.
            spares: arguments that were given up in calls before.
        """
        arguments = [None if node is None else node.value for node in nodes]
        found: Sequence[Any] = ()
        if self.program is not None:
            if keeps_arrays(target) or not are_numpy([a for a in arguments if a is not None]):
                arguments = placed([node or _NOTHING for node in nodes], target)
            if self.lent:
                lend(arguments, nodes, self.lent)
            free = free_places(arguments, nodes, self.given_up)
            given = [
                arguments[each] if type(each) is int else each()  # type: ignore[operator]
                for each in self.values
            ]
            found = self.program(given, spares.take(self.replaced))
            for place in free:
                spares.keep(place, arguments[place])
                give_up(nodes[place])
        leaves, computed = [], []
        for (kind, what), meta in zip(self.outputs, self.metas, strict=True):
            if kind == "computed":
                computed.append(leaf(found[what], meta))
                leaves.append(wrap(computed[-1]))
            elif kind == "argument":
                leaves.append(wrap(leaf(arguments[what], meta)))
            else:
                leaves.append(what)
        if self.program is not None and self.program.target is not None:
            note(computed)
        return unflatten(self.result, leaves)


class Jitted:
    """A function that is recorded once for each set of types of its arguments.

    Args:
        function: takes and returns arrays, numbers, and tuples, lists and dictionaries of them.
        static: the positions of arguments that are part of what is recorded.
        donate: the positions of arguments whose memory results may take.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[int] = (),
        donate: Sequence[int] = (),
    ) -> None:
        self._function = function
        self._static = frozenset(static)
        self._donate = frozenset(donate)
        self._recordings: dict[Any, _Recording] = {}
        self._spares = Spares()
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the function; record it first for types that it was not called with before."""
        if RecordState.tracing or RecordState.keep:
            return self._function(*arguments)  # part of what is recorded around it
        found, nodes, target = self._recorded(arguments)
        return found(nodes, target, self._spares)

    def explain(self, *arguments: Any) -> str:
        """Return the kernels that the function became for arguments, and why it became these."""
        program = self._recorded(arguments)[0].program
        return "nothing is computed" if program is None else program.executable.explain()

    def _recorded(
        self, arguments: Sequence[Any]
    ) -> tuple[_Recording, Sequence[LazyNode | None], str]:
        """Return the recording for arguments, their nodes, and where it runs."""
        dynamic = tuple([a for i, a in enumerate(arguments) if i not in self._static])
        fixed = tuple([a for i, a in enumerate(arguments) if i in self._static])
        leaves = flatten(dynamic)
        nodes = _computed(leaves)
        target = CurrentDevice.target
        if keeps_arrays(target) or not are_numpy(
            [node.value for node in nodes if node is not None]
        ):
            target = target_of([node for node in nodes if node is not None])
        key: list[Any] = [structure(dynamic), fixed, target]
        key += [
            each if node is None else node.meta for each, node in zip(leaves, nodes, strict=True)
        ]
        own = tuple(key)
        found = self._recordings.get(own)
        if found is None:
            donated = self._donated(arguments)
            found = self._record(arguments, dynamic, leaves, nodes, target, donated)
            self._recordings[own] = found
        return found, nodes, target

    def _donated(self, arguments: Sequence[Any]) -> set[int]:
        """Return the places among all leaves of arguments that results may be written over."""
        found: set[int] = set()
        place = 0
        for number, each in enumerate(arguments):
            if number not in self._static:
                count = len(flatten((each,)))
                if number in self._donate:
                    found.update(range(place, place + count))
                place += count
        return found

    def _record(
        self,
        arguments: Sequence[Any],
        dynamic: Any,
        leaves: Sequence[Any],
        nodes: Sequence[Any],
        target: str,
        donated: set[int],
    ) -> _Recording:
        traced = [
            each if node is None else wrap(LazyNode("argument", (), (), node.meta))
            for each, node in zip(leaves, nodes, strict=True)
        ]
        rest = iter(unflatten(dynamic, traced))
        given = [a if i in self._static else next(rest) for i, a in enumerate(arguments)]
        RecordState.tracing += 1
        before = len(RecordState.draws)
        try:
            result = self._function(*given)
            draws = dict(RecordState.draws[before:])
        finally:
            RecordState.tracing -= 1
            del RecordState.draws[before:]
        return _recording(result, traced, draws, target, donated if lends(target) else set())


def _computed(leaves: Sequence[Any]) -> list[LazyNode | None]:
    """Return the nodes of arguments, which have their values then."""
    nodes = [_node(each) for each in leaves]
    waiting = [node for node in nodes if node is not None and node.value is None]
    if waiting:
        compute(waiting)
    return nodes


_NOTHING = LazyNode("argument", (), (), meta_of((), as_dtype(bool)))
"""In place of an argument that has no value."""


def _node(value: Any) -> LazyNode | None:
    """Return the node of an argument; None for one that is part of what is recorded."""
    if type(value) is Array:
        return node_of(value)
    if type(value) is float or type(value) is int:
        import numpy as np

        dtype = as_dtype(type(value))
        return leaf(np.array(value, dtype.numpy), meta_of((), dtype))
    if is_foreign(value):
        return as_node(value)
    if isinstance(value, bool | str):
        return None
    raise InputError(
        "array-argument",
        f"a {type(value).__name__} is no argument of a recorded function",
        place=user_place(),
        cause="arrays, numbers and strings are, and tuples, lists and dictionaries of them",
        hint="xa.jit(f, static=(position,)) for an argument that is part of what is recorded",
    )


def _recording(
    result: Any,
    traced: Sequence[Any],
    draws: dict[LazyNode, Any],
    target: str,
    donated: set[int],
) -> _Recording:
    places = {each._node: place for place, each in enumerate(traced) if type(each) is Array}
    outputs: list[tuple[str, Any]] = []
    metas: list[Any] = []
    wanted: dict[LazyNode, int] = {}
    for each in flatten(result):
        node = node_of(each) if type(each) is Array else None
        metas.append(None if node is None else node.meta)
        if node is None:
            outputs.append(("given", each))
        elif node in places:
            outputs.append(("argument", places[node]))
        elif node.value is not None or node.op == NUMBER or not node.meta.size:
            node_value(node)
            outputs.append(("given", each))
        else:
            outputs.append(("computed", wanted.setdefault(node, len(wanted))))
    if not wanted:
        return _Recording(None, (), outputs, metas, result)
    from xyntra.array.recorded.programs import compiled

    graph = _with_arguments(graph_of(list(wanted)), places)
    returned = {what for kind, what in outputs if kind == "argument"}
    aliases = _aliases(graph, list(wanted), places, donated - returned)
    program = compiled(graph, list(wanted), target, (), aliases)
    donors = {output: places[graph.leaves[number]] for output, number in aliases}
    replaced = [donors.get(output) for output in program.own]
    if not any(place is not None for place in replaced):
        replaced = []
    lent = [place for output, place in donors.items() if output not in program.own]
    values: list[int | Callable[[], Any]] = []
    for node in graph.leaves:
        if node in places:
            values.append(places[node])
        else:
            values.append(_again(node, draws.get(node), target))
    return _Recording(program, values, outputs, metas, result, lent, replaced)


def _aliases(
    graph: Graph, outputs: Sequence[LazyNode], places: dict[LazyNode, int], donated: set[int]
) -> list[tuple[int, int]]:
    """Return pairs of an output and a leaf, of the same type and donated, that it is written over.

    Both are taken in order, so that parameters meet parameters and moments meet moments.
    """
    read = {each for node in graph.places if node.value is None for each in node.args}
    waiting: dict[Any, list[tuple[int, int]]] = {}
    for number, node in enumerate(graph.leaves):
        place = places.get(node)
        if place in donated and node in read:
            waiting.setdefault(node.meta, []).append((place, number))
    for each in waiting.values():
        each.sort(reverse=True)
    found = []
    for output, node in enumerate(outputs):
        free = waiting.get(node.meta)
        if free:
            found.append((output, free.pop()[1]))
    return found


def _again(node: LazyNode, draw: Callable[[], Any] | None, target: str) -> Callable[[], Any]:
    """Return what gives the value of a leaf: the words that were drawn, once, and then others."""
    (value,) = placed([node], target)
    if draw is None:
        return lambda: value
    first = [value]
    if keeps_arrays(target):
        return lambda: first.pop() if first else place(draw(), target)
    return lambda: first.pop() if first else draw()


def _with_arguments(graph: Graph, places: dict[LazyNode, int]) -> Graph:
    """Count arguments among the leaves of a graph, whatever their values will be."""
    for node in graph.places:
        if node.op == "argument" and node not in places:
            raise InputError(
                "array-traced",
                "a recorded function reads an array of another one, which has no value",
                place=user_place(),
                cause="an array was stored outside while a function was recorded",
                hint="return it instead",
            )
    leaves = [each for each in graph.places if each.value is not None or each in places]
    return Graph(graph.roots, graph.places, leaves, graph.numbers, graph.held, graph.key)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static: Sequence[int] = (),
    donate: Sequence[int] = (),
) -> Any:
    """Record a function as a whole, one executable for each set of types of its arguments.

    Within it, arguments have no values: they cannot be printed or tested. Numbers are arrays of
    rank 0; arrays of the surroundings are those of the first call. What it does beside returning
    arrays, it does while it is recorded alone.

    Args:
        function: takes and returns arrays, numbers, and tuples, lists and dictionaries of them.
        static: the positions of arguments that are part of what is recorded; they can be hashed.
        donate: the positions of arguments that are not used afterwards: results of their types are
            written over them, or where no kernel can do that, into the memory of those of the call
            before. What else shows their memory keeps it.
    """
    if function is None:
        return lambda own: Jitted(own, static, donate)
    return Jitted(function, static, donate)
