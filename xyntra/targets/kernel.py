# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines a kernel before and after its target's code generation."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field

__all__ = ["CompiledKernel", "FreeSource", "KernelSource"]

_HEADER = struct.Struct("<QQQQ")

Guard = tuple[str, str, str]


@dataclass(frozen=True)
class KernelSource:
    """A kernel before lowering.

    Attributes:
        name: the name of its function, which becomes its symbol.
        mlir: the module that holds the function, as text.
        nodes: what it computes in the words of the model, for messages.
        opt_level: LLVM's, 0 to 3.
        architecture: of the GPU to generate code for; "" for this processor.
        level: the level that `mlir` is at.
        assembly: the kernel's text below MLIR, such as PTX, at the level that has one.
        lines: of its stages, or nests, in the user's text, in order, for messages; at the level
            "stages".
        free: of a kernel whose sizes are told when it runs, as `FreeSource.to_json` has it; "" for
            others.
        tuned: of a kernel whose schedules were found by measuring, the nanoseconds of a launch;
            None for others.
        packaged: whether these come with the package.
    """

    name: str
    mlir: str
    nodes: tuple[str, ...] = ()
    opt_level: int = 2
    architecture: str = ""
    level: str = "kernels"
    assembly: str = ""
    lines: tuple[int, ...] = ()
    free: str = ""
    tuned: float | None = None
    packaged: bool = False

    @property
    def place(self) -> str:
        """The kernel and its nodes as the `place` of an error."""
        lines = [f"kernel '{self.name}'"]
        if self.nodes:
            lines.append("from " + ", ".join(self.nodes))
        return "\n".join(lines)


@dataclass(frozen=True)
class FreeSource:
    """A kernel whose sizes are told when it runs.

    Attributes:
        texts: the kernel at each sample, the first of which is the kernel's own text.
        samples: sizes of the symbols.
        hints: usual sizes.
        ranges: least and largest sizes.
        variant: how schedules differ from what is best at the first sample: "", or a name of
            `xyntra.passes.lower.cpu.free_variants`.
        definitions: of sizes that others decide, expressions of these.
        limit: symbols and what their product is at most, in a variant for small sizes.
    """

    texts: tuple[str, ...]
    samples: tuple[dict[str, int], ...]
    hints: dict[str, int]
    ranges: dict[str, tuple[int, int]]
    variant: str = ""
    definitions: dict[str, str] = field(default_factory=dict)
    limit: tuple[tuple[str, ...], int] | None = None

    def to_json(self) -> str:
        """Return what `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> FreeSource:
        """Rebuild what `to_json` described."""
        held = json.loads(text)
        ranges = {name: (low, high) for name, (low, high) in held["ranges"].items()}
        texts, samples = tuple(held["texts"]), tuple(held["samples"])
        rest = held["hints"], ranges, held["variant"], held["definitions"]
        limit = (tuple(held["limit"][0]), held["limit"][1]) if held["limit"] else None
        return cls(texts, samples, *rest, limit)


@dataclass(frozen=True)
class CompiledKernel:
    """Object code of one kernel.

    Attributes:
        code: defines one entry point, and with prepared constants a second one, `NAME.prepare`.
        scratch_bytes: the scratch memory that the threads of a call share.
        private_bytes: the scratch memory that each of them needs beside.
        prepared_bytes: the memory of what `NAME.prepare` makes of the kernel's constants.
        schedules: what the emitters of its launches, or nests, were told, in order and in words.
        sizes: of a kernel that is told its sizes, the expressions of the elements of the array of
            sizes that is its last input.
        guards: what has to hold of them: "<" or "<=", and two expressions.
    """

    code: bytes
    scratch_bytes: int
    private_bytes: int = 0
    prepared_bytes: int = 0
    schedules: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        sizes = self.scratch_bytes, self.private_bytes, self.prepared_bytes
        schedules = json.dumps([self.schedules, self.sizes, self.guards]).encode()
        return _HEADER.pack(*sizes, len(schedules)) + schedules + self.code

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> CompiledKernel:
        """Rebuild the kernel that `to_bytes` described."""
        scratch, private, prepared, length = _HEADER.unpack_from(data)
        start = _HEADER.size + length
        schedules, sizes, guards = json.loads(bytes(data[_HEADER.size : start]))
        told = tuple(schedules), tuple(sizes), tuple(map(tuple, guards))
        return cls(bytes(data[start:]), scratch, private, prepared, *told)
