# SPDX-License-Identifier: MIT OR Apache-2.0
"""CUDA graphs put together node by node.

While a stream is captured, other threads of the process may not wait for the GPU as a whole: their
`torch.cuda.synchronize()` would fail. Putting nodes together disturbs nobody.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache

from xyntra.targets.cuda.driver.direct import LIBRARY
from xyntra.targets.cuda.driver.driver import checked, driver, failure
from xyntra.targets.cuda.driver.launch_config import CLUSTER_DIMENSION, LaunchConfig
from xyntra.targets.cuda.driver.prepared_launch import PreparedLaunch

__all__ = ["can_build", "graph_of"]

_POINTER, _BYTES = ctypes.c_void_p, ctypes.c_size_t
_SIGNATURES = {
    "cuGraphAddKernelNode_v2": (_POINTER, _POINTER, _POINTER, _BYTES, _POINTER),
    "cuGraphKernelNodeSetAttribute": (_POINTER, ctypes.c_int, _POINTER),
    "cuGraphAddDependencies_v2": (_POINTER, _POINTER, _POINTER, _POINTER, _BYTES),
}
_WHAT = "building a CUDA graph"
# CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
_PROGRAMMATIC_PORT, _PROGRAMMATIC = 1, 1


class _Node(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""

    _fields_ = (
        ("function", _POINTER),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint32),
        ("arguments", _POINTER),
        ("extra", _POINTER),
        ("kernel", _POINTER),
        ("context", _POINTER),
    )


class _Edge(ctypes.Structure):
    """CUgraphEdgeData of cuda.h."""

    _fields_ = (
        ("from_port", ctypes.c_ubyte),
        ("to_port", ctypes.c_ubyte),
        ("kind", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte * 5),
    )


def can_build() -> bool:
    """Tell whether the driver has what `graph_of` needs, as those since CUDA 12.3 do."""
    return _functions() is not None


def graph_of(launches: Sequence[PreparedLaunch]) -> int:
    """Return a graph, not yet instantiated, of launches one behind the other.

    A launch that may begin before the one ahead has ended has a programmatic edge.

    Raises:
        DeviceError: the driver refuses it.
    """
    cuda = driver()
    graph = int(checked(cuda.cuGraphCreate(0), _WHAT))
    try:
        last: int | None = None
        for launch in launches:
            node = _add(graph, launch)
            if last is not None:
                _join(graph, last, node, launch.programmatic)
            last = node
    except BaseException:
        cuda.cuGraphDestroy(graph)
        raise
    return graph


def _add(graph: int, launch: PreparedLaunch) -> int:
    config: LaunchConfig = launch.config
    wanted = _Node(
        function=launch.function,
        grid=config.grid,
        block=config.block,
        shared_bytes=config.shared_bytes,
        arguments=ctypes.addressof(launch.arguments),
    )
    node = _POINTER()
    _call("cuGraphAddKernelNode_v2", ctypes.byref(node), graph, None, 0, ctypes.byref(wanted))
    for number in range(config.attribute_count):
        attribute = config.attributes[number]
        if attribute.id == CLUSTER_DIMENSION:
            value = ctypes.addressof(attribute) + type(attribute).value.offset
            _call("cuGraphKernelNodeSetAttribute", node, attribute.id, value)
    return node.value or 0


def _join(graph: int, first: int, second: int, programmatic: bool) -> None:
    edge = _Edge()
    if programmatic:
        edge.from_port, edge.kind = _PROGRAMMATIC_PORT, _PROGRAMMATIC
    ends = (_POINTER * 2)(first, second)
    at = ctypes.addressof(ends)
    second_at = at + ctypes.sizeof(_POINTER)
    _call("cuGraphAddDependencies_v2", graph, at, second_at, ctypes.byref(edge), 1)


def _call(name: str, *arguments: object) -> None:
    functions = _functions() or {}
    status = functions[name](*arguments)
    if status:
        raise failure(status, _WHAT)


@lru_cache(maxsize=1)
def _functions() -> dict[str, Callable[..., int]] | None:
    driver()  # initialises it, or says what is missing
    library = ctypes.CDLL(LIBRARY)
    found: dict[str, Callable[..., int]] = {}
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name, None)
        if function is None:
            return None
        function.argtypes, function.restype = arguments, ctypes.c_int
        found[name] = function
    return found
