# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings the values of leaves to where a graph runs, and lends their memory to results.

On a GPU a value is copied there once and stays; so do results. In memory of the host values are
arrays of numpy. Memory is lent where nothing but the graph can see it, which counts of references
tell; else a copy is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from xyntra.array.recorded.graph import LazyNode
from xyntra.array.recorded.residence import (
    HostCopy,
    device_of,
    full_name,
    note,
    on_host,
    with_room,
)
from xyntra.targets.current import CurrentDevice

__all__ = [
    "LENT",
    "are_numpy",
    "device_of",
    "free_places",
    "full_name",
    "give_up",
    "keeps_arrays",
    "lend",
    "lends",
    "on_host",
    "place",
    "placed",
    "target_of",
]

LENT = "lent"
"""The operation of a node whose memory a result was written over."""


@lru_cache(maxsize=16)
def _placer(target: str) -> Callable[[Any], Any] | None:
    """Return what copies an array into the memory of a target's device; None for the host's."""
    from xyntra.targets.table import backend_named

    backend = backend_named(target)
    if not backend.keeps_arrays:
        return None
    _, ordinal = backend.locate(target)
    return lambda array: backend.place(array, ordinal)


@lru_cache(maxsize=16)
def keeps_arrays(target: str) -> bool:
    """Tell whether arrays lie in memory of a target's device between calls."""
    from xyntra.targets.table import backend_named

    return backend_named(target).keeps_arrays


def are_numpy(values: Sequence[Any]) -> bool:
    """Tell whether all values are arrays of numpy, in little time."""
    if not values:
        return True
    import numpy as np

    return {*map(type, values)} == {np.ndarray}


def place(value: Any, target: str) -> Any:
    """Return a copy of a value where a target keeps arrays: on its device, or in numpy's memory."""
    import numpy as np

    placer = _placer(target)
    given = value.array if type(value) is HostCopy else value
    if placer is None:
        return np.array(given)
    return with_room(lambda: placer(given), (value,), target)


def target_of(nodes: Sequence[LazyNode]) -> str:
    """Return where a graph runs: where it is said, or else where its values lie."""
    if not CurrentDevice.chosen:
        for node in nodes:
            if node.value is not None:
                device = device_of(node.value)
                if device is not None:
                    return device
    return CurrentDevice.target


def placed(nodes: Sequence[LazyNode], target: str) -> list[Any]:
    """Return the values of nodes where a target takes them; they stay there."""
    placer = _placer(target)
    found: list[Any] = []
    for node in nodes:
        value = node.value
        if placer is None:
            if value is not None and not on_host(value):
                value = node.value = place(value, target)
        elif value is not None and (
            on_host(value) or type(value) is HostCopy or device_of(value) != full_name(target)
        ):
            value = node.value = _brought(value, placer, found, target)
        found.append(value)
    if placer is not None:
        note([node for node in nodes if node.value is not None])
    return found


def _brought(value: Any, placer: Callable[[Any], Any], kept: Sequence[Any], target: str) -> Any:
    """Return a value copied to a device, with room for it beside `kept`."""
    given = value.array if type(value) is HostCopy else value
    return with_room(lambda: placer(given), (*kept, value), target)


@lru_cache(maxsize=16)
def lends(target: str) -> bool:
    """Tell whether programs of a target can write results where values lie."""
    from xyntra.targets.table import backend_named

    return backend_named(target).writes_inputs


def lend(values: list[Any], nodes: Sequence[LazyNode | None], places: Sequence[int]) -> None:
    """Let a program write over values: `values[place]` of `nodes[place]`, or copies of them.

    What was lent is in `nodes` no more: reading such a node is an error from then on.

    Args:
        values: of all nodes; copies take the place of what something else may see.
        nodes: whose values they are.
        places: which of them are lent.
    """
    free = set(free_places(values, nodes, places))
    for at in places:
        if at in free:
            give_up(nodes[at])
        elif nodes[at] is not None:
            values[at] = place(values[at], device_of(values[at]) or "cpu")


def give_up(node: LazyNode | None) -> None:
    """Take the value of a node away: reading it is an error from then on."""
    if node is not None:
        node.value = None
        node.op = LENT


def free_places(
    values: Sequence[Any], nodes: Sequence[LazyNode | None], places: Iterable[int]
) -> list[int]:
    """Return the places whose value nothing but the graph can see, and which may be written to."""
    found = []
    for at in places:
        node = nodes[at]
        if node is None:
            continue
        shared = sys.getrefcount(node) > _NODE or sys.getrefcount(values[at]) > _VALUE
        if not shared and _is_writable(values[at]):
            found.append(at)
    return found


def _is_writable(value: Any) -> bool:
    """Tell whether an array holds memory of its own that may be written to."""
    return not on_host(value) or (value.flags.owndata and value.flags.writeable)


def _references() -> tuple[int, int]:
    """Return the counts for a node and a value that only their array, and `lend`, know of."""
    nodes, values = [object()], [object()]
    holder = nodes[0], values[0]
    for at in (0,):
        node = nodes[at]
        counts = sys.getrefcount(node), sys.getrefcount(values[at])
    del holder
    return counts


_NODE, _VALUE = _references()
