# SPDX-License-Identifier: MIT OR Apache-2.0
"""What compiling a model yields, before any weight is read: plan, machine code and IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xyntra.errors import ArchiveError
from xyntra.plan.container import Container, read_container, write_container
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph

_OBJECT = "object/"
_CALLS = "calls"


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
        except (KeyError, TypeError, ValueError) as error:
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
        return {"ir": self.ir.encode(), "graph": self.graph, **more, **code}

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
            target = str(container.meta["target"])
            ir = str(container.blobs["ir"], "utf-8")
            graph = container.blobs["graph"]
        except (KeyError, TypeError, ValueError) as error:
            raise ArchiveError(
                "archive-invalid",
                "the file holds no compiled model",
                place=place,
                cause=repr(error),
            ) from None
        objects = {
            name.removeprefix(_OBJECT): blob
            for name, blob in container.blobs.items()
            if name.startswith(_OBJECT)
        }
        return cls(plan, objects, target, ir, graph, container.blobs.get(_CALLS, b""))
