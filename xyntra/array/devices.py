# SPDX-License-Identifier: MIT OR Apache-2.0
"""Moves arrays to devices: what is made with `device=`, and `to_device`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.late import late
from xyntra.array.recorded.evaluate import node_value
from xyntra.array.recorded.graph import leaf
from xyntra.array.recorded.placement import device_of, full_name, keeps_arrays, place
from xyntra.array.recorded.residence import note
from xyntra.targets.current import CurrentDevice, device

if TYPE_CHECKING:
    from xyntra.targets.array_pool import ArrayPool

__all__ = ["device", "memory", "moved"]


@late
def moved(array: Array, place_: Any) -> Array:
    """Return an array on a device: computed there, where it has no value yet; else copied there.

    Raises:
        UnsupportedError: there is no such device.
        DeviceError: the device is not there now, or has too little memory.
    """
    name, node = str(place_), node_of(array)
    if name == CurrentDevice.target:
        return array
    if node.value is None:
        with device(name):
            node_value(node)
    lies = device_of(node.value)
    if lies == (full_name(name) if keeps_arrays(name) else None):
        return array
    there = leaf(place(node.value, name), node.meta)
    if keeps_arrays(name):
        note([there])
    return wrap(there)


def memory(device: str) -> ArrayPool:
    """Return the pool that arrays on a device take memory of.

    It tells the bytes that arrays hold (`held`), held at most (`peak`), and that wait to be taken
    again (`waiting`, which `release()` gives back); `limit` may be set. Where there is no room for
    another array, those that were read longest ago are moved to the host: `spilled` bytes so far.

    Raises:
        UnsupportedError: arrays of that device lie in the memory of the host, which has no pool.
        DeviceError: the device is not there.
    """
    from xyntra.targets.table import backend_named

    backend = backend_named(device)
    return backend.pool(backend.locate(device)[1])
