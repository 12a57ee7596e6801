# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what came out of a run in a JSON file, from which a later run goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.machine import describe
from bench.harness.measure import write_json

__all__ = ["Record"]

_EVERY = 5
"""Graphs after which the file is written."""


@dataclass
class Record:
    """What came out so far.

    Attributes:
        seed: of the first graph.
        facts: how graphs are checked, which a file has to agree with.
        path: the file; None to keep nothing.
        done: how many graphs have been checked.
        counts: of each outcome.
        others: what there is to say of graphs that are not right, by their seeds.
    """

    seed: int
    facts: dict[str, Any]
    path: Path | None = None
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    others: dict[int, str] = field(default_factory=dict)

    def resume(self) -> None:
        """Go on from the file, where there is one.

        Raises:
            ValueError: it is of another run.
        """
        if self.path is None or not self.path.exists():
            return
        found = json.loads(self.path.read_text(encoding="utf-8"))
        if found.get("seed") != self.seed or found.get("facts") != self.facts:
            raise ValueError(f"{self.path} is of other graphs, or of another way to check them")
        self.done = int(found["graphs"])
        self.counts = Counter(found["counts"])
        self.others = {int(seed): text for seed, text in found["others"].items()}

    def seeds(self, graphs: int) -> Iterator[int]:
        """Yield the seeds that are left of so many graphs."""
        yield from range(self.seed + self.done, self.seed + graphs)

    def add(self, seed: int, outcome: str) -> None:
        """Note what came out for one graph."""
        self.done += 1
        self.counts[outcome.partition(":")[0]] += 1
        if outcome != "right":
            self.others[seed] = outcome
        if self.done % _EVERY == 0:
            self.write()

    def write(self) -> None:
        """Write the file."""
        if self.path is not None:
            own = {"seed": self.seed, "graphs": self.done, "facts": self.facts}
            found = {"counts": dict(self.counts.most_common()), "others": self.others}
            write_json(self.path, {"machine": describe(), **own, **found})
