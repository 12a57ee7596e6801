# SPDX-License-Identifier: MIT OR Apache-2.0
"""`#xyntra.schedule<{...}>`: everything about some code that changes its speed, not its meaning.

It stands on what one emitter makes code of: as the attribute `schedule` of a `xyntra.stage`, and as
`xyntra.schedule` of a loop nest. The emitter is named, and everything else is what that one lets be
chosen:

    #xyntra.schedule<{emitter = "mma", stages = 4 : i64, tile = [128, 64], warps = [2, 2]}>
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from xyntra.dialects.attributes.fields import Value, from_value, read_fields, to_value
from xyntra.dialects.base import Xyntra, ir
from xyntra.errors import CompileError

__all__ = ["SCHEDULE", "Schedule", "ScheduleAttr"]

SCHEDULE = "xyntra.schedule"
"""Attribute of a loop nest: how code is made of it."""
_EMITTER = "emitter"
_Choices = TypeVar("_Choices")


class ScheduleAttr(Xyntra.Attribute, name="schedule"):
    """Holds the dictionary; `Schedule` gives its entries their meaning and checks them."""

    fields: ir.DictAttr


@dataclass(frozen=True)
class Schedule:
    """An emitter and what it is told.

    What an emitter can be told is a frozen dataclass of integers, flags, texts and tuples of
    integers, in which every field has a default. Fields that hold it are not printed.

    Attributes:
        emitter: the name of what makes code.
        choices: by field, in the words of that emitter.

    Raises:
        CompileError: there is no emitter, or a choice is no number, flag, text or list of integers.
    """

    emitter: str
    choices: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.emitter:
            raise _bad("a schedule names its emitter")
        for name, value in self.choices.items():
            parts = value if isinstance(value, tuple) else ()
            if isinstance(value, Mapping) or any(type(each) is not int for each in parts):
                raise _bad(f"{name} is a number, a flag, a text or a list of integers")

    @classmethod
    def told(cls, emitter: str, choices: Any) -> "Schedule":
        """Return the schedule that tells `emitter` what the dataclass `choices` holds."""
        values = {each.name: getattr(choices, each.name) for each in fields(choices)}
        defaults = _defaults(type(choices))
        return cls(emitter, {name: v for name, v in values.items() if v != defaults[name]})

    def read(self, kind: type[_Choices]) -> _Choices:
        """Return the choices as a dataclass `kind`.

        Raises:
            CompileError: it has no such field, or one of another type.
        """
        entries = ir.DictAttr.get({name: from_value(value) for name, value in self.choices.items()})
        values: dict[str, Any] = read_fields(entries, _defaults(kind), _bad)
        return kind(**values)

    def words(self, kind: type[Any]) -> str:
        """Return the schedule in words, such as "mma tile [128, 64] warps [2, 2] stages 4".

        Args:
            kind: the dataclass of what the emitter can be told, which says in which order.
        """
        order = [each.name for each in fields(kind)]
        found = [self.emitter]
        for name in sorted(self.choices, key=order.index):
            value = self.choices[name]
            if isinstance(value, bool):
                found.append(name if value else f"no {name}")
            else:
                found.append(f"{name} {list(value) if isinstance(value, tuple) else value}")
        return " ".join(found)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: the emitter and its choices, in the order of names."""
        return {_EMITTER: self.emitter, **dict(sorted(self.choices.items()))}

    @classmethod
    def from_json(cls, entries: Any) -> "Schedule":
        """Rebuild the schedule that `to_json` described.

        Raises:
            CompileError: `bad-schedule`, `entries` describe none.
        """
        if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
            raise _bad("a schedule is a table of choices")
        choices = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in entries.items()
        }
        emitter = choices.pop(_EMITTER, "")
        if not isinstance(emitter, str):
            raise _bad(f"the emitter of a schedule is a text, got {emitter}")
        for name, value in choices.items():
            if not isinstance(value, (bool, int, str, tuple)):
                raise _bad(f"{name} is a number, a flag, a text or a list of integers")
        return cls(emitter, choices)

    def to_attribute(self) -> ScheduleAttr:
        """Return the attribute in the current context."""
        entries = {_EMITTER: self.emitter, **self.choices}
        values = {name: from_value(value) for name, value in entries.items()}
        attribute: ScheduleAttr = ScheduleAttr.get(ir.DictAttr.get(values))
        return attribute

    def attach(self, op: ir.Operation, name: str = SCHEDULE) -> None:
        """Make this the schedule of `op`."""
        op.attributes[name] = self.to_attribute()

    @classmethod
    def of(cls, op: ir.Operation, name: str = SCHEDULE) -> "Schedule | None":
        """Return the schedule of `op`, or None where it has none.

        Raises:
            CompileError: its attribute `name` is not a valid `#xyntra.schedule`.
        """
        return cls.from_attribute(op.attributes[name]) if name in op.attributes else None

    @classmethod
    def from_attribute(cls, attribute: ir.Attribute) -> "Schedule":
        """Return the schedule that `attribute` holds.

        Raises:
            CompileError: it is another attribute, or an entry has another type.
        """
        if not isinstance(attribute, ScheduleAttr):
            raise _bad(f"a #xyntra.schedule was expected, got {attribute}")
        entries: dict[str, Value] = {}
        for entry in attribute.fields.maybe_downcast():
            try:
                entries[entry.name] = to_value(entry.attr)
            except TypeError as reason:
                raise _bad(f"{entry.name}: {reason}") from reason
        emitter = entries.pop(_EMITTER, "")
        if not isinstance(emitter, str):
            raise _bad(f"the emitter of a schedule is a text, got {emitter}")
        return cls(emitter, entries)


def _defaults(kind: type[Any]) -> dict[str, Any]:
    found = {}
    for each in fields(kind):
        made = each.default_factory
        found[each.name] = made() if made is not MISSING else each.default
    return found


def _bad(message: str) -> CompileError:
    return CompileError("bad-schedule", message)
