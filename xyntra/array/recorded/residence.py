# SPDX-License-Identifier: MIT OR Apache-2.0
"""Knows on which device values lie, and moves those read longest ago to the host for want of room.

A value that was moved waits as a `HostCopy`. It counts as lying on its device: graphs that read it
run there, and copy it back before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from xyntra.array.recorded.graph import LazyNode
from xyntra.array.recorded.spares import drop_spares
from xyntra.errors import DeviceError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["HostCopy", "SpillWarning", "device_of", "full_name", "note", "on_host", "with_room"]

T = TypeVar("T")

_NO_ROOM = "gpu-memory"
_SHARE = 8
"""Of the bytes that could be moved, one part of so many is at a time."""
_RESIDENT: dict[int, ref[LazyNode]] = {}
"""Nodes whose values lie on a device by `id`, those that were read last behind the others."""


class SpillWarning(UserWarning):
    """Arrays have no room on their device; everything works, but they are copied to and fro."""


class HostCopy:
    """The value of an array on a device, in the memory of the host until it is read again.

    Attributes:
        array: the elements.
        device: where they belong.
    """

    __slots__ = ("array", "device")

    def __init__(self, array: np.ndarray[Any, Any], device: str) -> None:
        self.array = array
        self.device = device

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return found.copy() if copy else found


def on_host(value: Any) -> bool:
    """Tell whether a value lies in the memory of the host, and belongs there."""
    import numpy as np

    return isinstance(value, np.ndarray | np.generic)


def device_of(value: Any) -> str | None:
    """Return the target on whose device a value lies; None for memory of the host."""
    if on_host(value):
        return None
    return value.device if type(value) is HostCopy else f"cuda:{value.__dlpack_device__()[1]}"


@lru_cache(maxsize=16)
def full_name(target: str) -> str:
    """Return "cuda:0" for "cuda"."""
    from xyntra.targets.table import backend_named

    backend = backend_named(target)
    return backend.device_name(backend.locate(target)[1])


def note(nodes: Sequence[LazyNode]) -> None:
    """Count nodes among those whose values lie on a device, and as those that were read last."""
    for node in nodes:
        key = id(node)
        known = _RESIDENT.get(key)
        if known is None:
            known = ref(node, partial(_RESIDENT.pop, key))
        else:
            del _RESIDENT[key]
        _RESIDENT[key] = known


def with_room(work: Callable[[], T], kept: Sequence[Any], target: str) -> T:
    """Do what takes memory of a device; where that is full, move arrays to the host, and again.

    Args:
        work: does nothing where it fails.
        kept: values that it reads, which stay.
        target: on whose device.

    Raises:
        DeviceError: nothing is left to be moved, or the device failed.
    """
    while True:
        try:
            return work()
        except DeviceError as error:
            if error.code != _NO_ROOM or not (drop_spares() or _make_room(kept, full_name(target))):
                raise


def _make_room(kept: Sequence[Any], device: str) -> int:
    """Move a share of the arrays on a device to the host; return their bytes."""
    import numpy as np

    staying = {id(each) for each in kept}
    known: dict[int, list[LazyNode]] = {}  # nodes that share a value, by its id
    for node in _resident():
        if id(node.value) not in staying and device_of(node.value) == device:
            known.setdefault(id(node.value), []).append(node)
    sizes = {key: nodes[0].meta.size * nodes[0].meta.dtype.itemsize for key, nodes in known.items()}
    moved, wanted = 0, -(-sum(sizes.values()) // _SHARE)
    for key, nodes in known.items():
        if moved >= wanted:
            break
        copy = HostCopy(np.array(np.asarray(nodes[0].value)), device)
        for node in nodes:
            node.value = copy
        moved += sizes[key]
    if moved:
        _tell(moved, device)
    return moved


def _resident() -> Iterator[LazyNode]:
    """Yield nodes whose values lie on a device, in the order that they were read in."""
    for key, known in list(_RESIDENT.items()):
        node = known()
        if node is None or node.value is None or on_host(node.value):
            _RESIDENT.pop(key, None)
        elif type(node.value) is not HostCopy:
            yield node


def _tell(nbytes: int, device: str) -> None:
    """Count what was moved, give its memory back, and warn."""
    from xyntra.targets.table import backend_named

    backend = backend_named(device)
    pool = backend.pool(backend.locate(device)[1])
    pool.spilled += nbytes
    pool.release()  # for what takes memory of the driver itself, as executables do
    warnings.warn(
        SpillWarning(
            f"arrays have no room on {device}: those read longest ago are moved to the host, and"
            f" copied back when they are read; xa.memory({device!r}).spilled counts their bytes"
        ),
        stacklevel=2,
    )
