# SPDX-License-Identifier: MIT OR Apache-2.0
"""`#xyntra.schedule<{...}>`: everything about a kernel that changes its speed and not its meaning.

It is the attribute `schedule` of a `xyntra.fused` and `xyntra.schedule` of a kernel function.
Fields that hold their default are not printed:

    #xyntra.schedule<{loop_order = [0, 2, 1], parallel_loops = 1 : i64, tile_sizes = [64, 128, 32],
                      vector_width = 8 : i64, target = {stages = 3 : i64}}>
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from xyntra.dialects.attributes.fields import Value, from_value, read_fields
from xyntra.dialects.base import Xyntra, ir
from xyntra.errors import CompileError

__all__ = ["Schedule", "ScheduleAttr"]

_NAME = "xyntra.schedule"


class ScheduleAttr(Xyntra.Attribute, name="schedule"):
    """Holds the dictionary; `Schedule` gives its entries their meaning and checks them."""

    fields: ir.DictAttr


@dataclass(frozen=True)
class Schedule:
    """How the loops of a kernel run; loops are numbered as the dimensions of its iteration space.

    `loop_order`: loops, outermost first; empty: 0, 1, 2, ….
    `tile_sizes`: elements a tile, a loop each; 0 leaves a loop untiled; empty: no tiles.
    `register_tile`: elements a loop held in registers by the innermost code, as `tile_sizes`.
    `parallel_loops`: how many of the outermost loops are spread over workers or blocks.
    `vector_width`: elements a vector of the innermost loop; 1: scalar code.
    `unroll`: copies of the innermost loop's body.
    `target`: what only one target understands (stages, threads …), read by that target alone.

    Raises:
        CompileError: a value is out of range, or two fields contradict each other.
    """

    loop_order: tuple[int, ...] = ()
    tile_sizes: tuple[int, ...] = ()
    register_tile: tuple[int, ...] = ()
    parallel_loops: int = 0
    vector_width: int = 1
    unroll: int = 1
    target: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if sorted(self.loop_order) != list(range(len(self.loop_order))):
            raise _bad(f"loop_order names every loop once, got {list(self.loop_order)}")
        for name in ("tile_sizes", "register_tile"):
            sizes = getattr(self, name)
            if min(sizes, default=0) < 0:
                raise _bad(f"{name} are 0 or more, got {list(sizes)}")
        if self.parallel_loops < 0:
            raise _bad(f"parallel_loops is 0 or more, got {self.parallel_loops}")
        for name in ("vector_width", "unroll"):
            if getattr(self, name) < 1:
                raise _bad(f"{name} is 1 or more, got {getattr(self, name)}")
        self._check_ranks()

    def _check_ranks(self) -> None:
        ranks = {
            name: len(getattr(self, name))
            for name in ("loop_order", "tile_sizes", "register_tile")
            if getattr(self, name)
        }
        if len(set(ranks.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in ranks.items())
            raise _bad(f"every list has one entry a loop, but {counts}")
        if ranks and self.parallel_loops > min(ranks.values()):
            loops = min(ranks.values())
            raise _bad(f"parallel_loops is at most {loops}, got {self.parallel_loops}")

    def to_attribute(self) -> ScheduleAttr:
        """Return the attribute in the current context."""
        entries: dict[str, ir.Attribute] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value != _DEFAULTS[entry.name]:
                entries[entry.name] = from_value(value)
        attribute: ScheduleAttr = ScheduleAttr.get(ir.DictAttr.get(entries))
        return attribute

    def attach(self, function: ir.Operation) -> None:
        """Make this the schedule of the kernel `function`."""
        function.attributes[_NAME] = self.to_attribute()

    @classmethod
    def of(cls, function: ir.Operation) -> "Schedule | None":
        """Return the schedule of the kernel `function`, or None where it has none.

        Raises:
            CompileError: its attribute `xyntra.schedule` is not a valid `#xyntra.schedule`.
        """
        if _NAME not in function.attributes:
            return None
        return cls.from_attribute(function.attributes[_NAME])

    @classmethod
    def from_attribute(cls, attribute: ir.Attribute) -> "Schedule":
        """Return the schedule that `attribute` holds.

        Raises:
            CompileError: it is another attribute, or an entry is unknown, mistyped or out of range.
        """
        if not isinstance(attribute, ScheduleAttr):
            raise _bad(f"a #xyntra.schedule was expected, got {attribute}")
        return cls(**read_fields(attribute.fields, _DEFAULTS, _bad))


_DEFAULTS: dict[str, Any] = {
    entry.name: getattr(Schedule(), entry.name) for entry in fields(Schedule)
}


def _bad(message: str) -> CompileError:
    return CompileError("bad-schedule", message)
