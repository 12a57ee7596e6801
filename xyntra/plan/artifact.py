# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the result of compiling, before any weight is read: plan, machine code and IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xyntra.errors import ArchiveError
from xyntra.plan.check_plan import PlanError, check_plan
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph
from xyntra.plan.storage.container import MALFORMED, Container, read_container, write_container

_OBJECT = "object/"
_CALLS = "calls"
_KERNELS = "kernels"
"""Blob with the checksum of what the machine code needs, which stays with the code."""


@dataclass(frozen=True)
class Artifact:
    """A compiled model without its weights.

    Attributes:
        plan: what runs, in which order.
        objects: machine code by kernel name.
        target: what the code was generated for, as `host_key()` of the target says.
        ir: text of the module at the kernel level.
        graph: the graph before fusion, as `SourceGraph.to_bytes` writes it.
        calls: machine code of the processor that starts calls on a device; may be empty.
    """

    plan: Plan
    objects: Mapping[str, bytes | memoryview]
    target: str
    ir: str
    graph: bytes | memoryview
    calls: bytes | memoryview = b""

    def source_graph(self) -> SourceGraph:
        """The graph before fusion; ArchiveError if it cannot be read."""
        try:
            return SourceGraph.from_bytes(self.graph)
        except MALFORMED as error:
            raise ArchiveError(
                "archive-invalid", "the graph before fusion is damaged", cause=repr(error)
            ) from None

    def meta(self) -> dict[str, Any]:
        """The JSON-ready part."""
        return {"plan": self.plan.to_json(), "target": self.target}

    def blobs(self) -> dict[str, bytes | memoryview]:
        """The binary part."""
        code = {_OBJECT + name: code for name, code in self.objects.items()}
        more = {_CALLS: self.calls} if self.calls else {}
        own = {"ir": self.ir.encode(), "graph": self.graph, _KERNELS: self.plan.kernels_digest()}
        return {**own, **more, **code}

    def to_bytes(self) -> bytes:
        """The artifact as one container."""
        return b"".join(write_container(self.meta(), self.blobs()))

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, place: str) -> Artifact:
        """The artifact in a container; ArchiveError if it is damaged."""
        return cls.from_container(read_container(memoryview(data), place), place)

    @classmethod
    def from_container(cls, container: Container, place: str) -> Artifact:
        """The artifact in a container that has been read."""
        try:
            plan = Plan.from_json(container.meta["plan"])
            check_plan(plan)
            target = str(container.meta["target"])
            ir = str(container.blobs["ir"], "utf-8")
            graph = container.blobs["graph"]
            objects = {name: container.blobs[_OBJECT + name] for name in plan.kernels}
            if container.blobs[_KERNELS] != plan.kernels_digest():
                raise PlanError("the kernels of the plan are not those of the machine code")
        except MALFORMED as error:
            raise ArchiveError(
                "archive-invalid",
                "the file holds no compiled model",
                place=place,
                cause=str(error) if isinstance(error, PlanError) else repr(error),
            ) from None
        return cls(plan, objects, target, ir, graph, container.blobs.get(_CALLS, b""))
