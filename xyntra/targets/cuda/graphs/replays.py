# SPDX-License-Identifier: MIT OR Apache-2.0
"""The launches of a plan for every set of addresses that its inputs and outputs are seen at.

Launches hold the addresses of their arrays, and so do graphs. Allocators hand out the same memory
again and again, so that a few sets of addresses come back: those that do get a graph of their own.
That is cheaper than pointing a graph at other arrays, which takes a call of the driver for each
launch that uses one, and tensor maps to be encoded anew. Where too many sets take turns for graphs
to be used often, launches are bound once, and told where those arrays lie that have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xyntra.plan.plan import Plan, Step
from xyntra.targets.cuda.driver.direct import Direct
from xyntra.targets.cuda.graphs.device_buffers import DeviceBuffers
from xyntra.targets.cuda.graphs.graph import LaunchGraph
from xyntra.targets.cuda.graphs.launches import BoundLaunch, LoadedKernel
from xyntra.targets.cuda.graphs.sets import Addresses, GraphSets

_SEEN = 64
_FEW = 8  # launches that are bound in less time than a graph of the others would save


class Replays:
    """Graphs by the addresses of inputs and outputs.

    Attributes:
        sets: the graphs.
        count: of launches.

    Args:
        plan: what is launched.
        kernels: its code.
        buffers: its memory.
        capture: a stream for captures alone; other threads may use other streams meanwhile.
        direct: the driver's functions.
    """

    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[str, LoadedKernel],
        buffers: DeviceBuffers,
        capture: int,
        direct: Direct,
    ) -> None:
        self._kernels = kernels
        self._buffers = buffers
        self.capture = capture
        self._direct = direct
        self._seen: dict[Addresses, None] = {}
        self._has_states = bool(plan.aliases)
        self._ports = [port.buffer for port in (*plan.inputs, *plan.results)]
        self.sets = GraphSets(len(self._ports))
        self._steps = [step for step in plan.steps if not step.once]
        self._plan = plan
        self._row: list[BoundLaunch] = []
        self._places: list[int] = []
        self._readers: list[list[tuple[BoundLaunch, int, int]]] = []
        self.count = sum(len(kernels[step.kernel].functions) for step in self._steps)

    def bind(self, step: Step, ports: Mapping[int, int] | None = None) -> list[BoundLaunch]:
        """Return the launches of a step; `ports` are addresses other than the plan's own."""
        pointers, scratch = self._buffers.arguments(step, ports or {})
        return self._kernels[step.kernel].bind(pointers, scratch)

    def launches(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        """Return all launches of a call, for addresses of inputs and outputs in order."""
        ports = dict(zip(self._ports, addresses, strict=True))
        return [launch for step in self._steps for launch in self.bind(step, ports)]

    def _at(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        """Return the same launches every time, with the arrays of a call where they lie now.

        They are to be put on a stream, or into a graph, before the next call: either copies the
        addresses. Binding launches takes forty times as long as moving one of their arrays.
        """
        row, places = self._row, self._places
        self._row = []  # what fails half-way is bound anew
        if not row:
            row = self._bound_row(addresses)
            places = self._places = list(addresses)
        for place, now in enumerate(addresses):
            if places[place] != now:
                places[place] = now
                for launch, argument, offset in self._readers[place]:
                    launch.move(argument, now + offset)
        self._row = row
        return row

    def _bound_row(self, addresses: Sequence[int]) -> list[BoundLaunch]:
        row: list[BoundLaunch] = []
        ports = dict(zip(self._ports, addresses, strict=True))
        readers: dict[int, list[tuple[BoundLaunch, int, int]]] = {port: [] for port in self._ports}
        for step in self._steps:
            bound = self.bind(step, ports)
            row += bound
            for argument, buffer in enumerate(self._plan.argument_buffers(step)):
                home, offset = self._plan.home(buffer), self._plan.buffers[buffer].offset
                if home in readers:
                    readers[home] += [(launch, argument, offset) for launch in bound]
        # Where one buffer is two ports, the last of them says where it lies.
        own = {port: place for place, port in enumerate(self._ports)}
        self._readers = [
            readers[port] if own[port] == place else [] for place, port in enumerate(self._ports)
        ]
        return row

    def find(self, addresses: Addresses) -> Callable[[int], None] | None:
        """Return what puts the launches for some addresses on a stream.

        None where they are new and the launches many: copying the arrays to the plan's own memory
        takes less time than binding the launches would. It would not change what outputs are
        written over, so that plans with such inputs always get launches.
        """
        is_new = addresses not in self._seen and self.sets.find(addresses) is None
        if is_new and self.count > _FEW and not self._has_states:
            self._note(addresses)
            return None
        return self.at(addresses)

    def at(self, addresses: Addresses) -> Callable[[int], None]:
        """As `find`, but launches for new addresses are bound, however many they are."""
        graph = self.sets.find(addresses)
        if graph is not None:
            return graph
        if addresses not in self._seen:
            self._note(addresses)
            return self.one_by_one(addresses)
        if not self.sets.pay_off():
            return self.one_by_one(addresses)
        graph = LaunchGraph(self._at(addresses), self.capture, self._direct)
        self.sets.add(addresses, graph)
        return graph

    def one_by_one(self, addresses: Sequence[int]) -> Callable[[int], None]:
        """Return what puts every launch on a stream, for addresses of inputs and outputs."""

        def run(stream: int) -> None:
            for launch in self._at(addresses):
                launch(stream)

        return run

    def _note(self, addresses: Addresses) -> None:
        if len(self._seen) == _SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[addresses] = None
