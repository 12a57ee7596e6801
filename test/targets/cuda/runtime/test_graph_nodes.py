# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs that are put together node by node: what the driver is asked for. No GPU is needed."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from xyntra.errors import DeviceError
from xyntra.targets.cuda.code.kernel_image import ImageLaunch
from xyntra.targets.cuda.driver.prepared_launch import PreparedLaunch
from xyntra.targets.cuda.graphs import nodes as graph_nodes

GRAPH = 0x10


class Driver:
    """Functions as the driver's, which note what they are asked for."""

    def __init__(self):
        self.nodes, self.clusters, self.edges, self.destroyed, self.status = [], [], [], [], 0

    def functions(self):
        return {
            "cuGraphAddKernelNode_v2": self._add,
            "cuGraphKernelNodeSetAttribute": self._set,
            "cuGraphAddDependencies_v2": self._join,
        }

    def _add(self, node, graph, before, count, wanted):
        assert (graph, before, count) == (GRAPH, None, 0)
        each = wanted._obj
        values = ctypes.c_uint64.from_address(ctypes.c_uint64.from_address(each.arguments).value)
        shape = tuple(each.grid), tuple(each.block), each.shared_bytes
        self.nodes.append((each.function, *shape, values.value))
        node._obj.value = len(self.nodes)
        return self.status

    def _set(self, node, attribute, value):
        self.clusters.append((node.value, attribute, (ctypes.c_uint32 * 3).from_address(value)[:]))
        return 0

    def _join(self, graph, first, second, edge, count):
        ends = [ctypes.c_uint64.from_address(each).value for each in (first, second)]
        self.edges.append((*ends, bytes(edge._obj), count))
        return 0


@pytest.fixture
def asked(monkeypatch):
    found = Driver()
    bindings = SimpleNamespace(
        cuGraphCreate=lambda flags: (0, GRAPH), cuGraphDestroy=found.destroyed.append
    )
    monkeypatch.setattr(graph_nodes, "driver", lambda: bindings)
    monkeypatch.setattr(graph_nodes, "_functions", found.functions)
    return found


def _launch(function, value, **shape):
    argument = ctypes.c_uint64(value)
    launch = PreparedLaunch(
        SimpleNamespace(launch_kernel=None),
        "k",
        function,
        ImageLaunch("k", **shape),
        [ctypes.addressof(argument)],
    )
    return launch, argument


def test_nodes_have_the_shape_of_their_launches(asked):
    made = [
        _launch(5, 50, grid=7, block=128),
        _launch(6, 60, grid=8, block=64, shared=4096, cluster=4, programmatic=True),
        _launch(7, 70, grid=1, block=32),
    ]
    assert graph_nodes.graph_of([launch for launch, _ in made]) == GRAPH
    assert asked.nodes == [
        (5, (7, 1, 1), (128, 1, 1), 0, 50),
        (6, (8, 1, 1), (64, 1, 1), 4096, 60),
        (7, (1, 1, 1), (32, 1, 1), 0, 70),
    ]
    assert asked.clusters == [(2, 4, [4, 1, 1])]
    programmatic, full = bytes([1, 0, 1, 0, 0, 0, 0, 0]), bytes(8)
    assert asked.edges == [(1, 2, programmatic, 1), (2, 3, full, 1)]
    assert not asked.destroyed


def test_what_the_driver_refuses_is_an_error_and_leaves_no_graph(asked, monkeypatch):
    monkeypatch.setattr(
        graph_nodes, "failure", lambda status, what: DeviceError("gpu-error", f"{what}: {status}")
    )
    asked.status = 1
    with pytest.raises(DeviceError, match="building a CUDA graph: 1"):
        graph_nodes.graph_of([_launch(5, 50, grid=7, block=128)[0]])
    assert asked.destroyed == [GRAPH]


def test_no_launches_are_an_empty_graph(asked):
    assert graph_nodes.graph_of([]) == GRAPH
    assert (asked.nodes, asked.edges) == ([], [])
