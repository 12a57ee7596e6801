# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the inputs of a call, given in order or by name, into the order of the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xyntra.errors import InputError
from xyntra.plan.plan import Port
from xyntra.suggestions import did_you_mean

__all__ = ["CallInputs"]


class CallInputs:
    """Takes inputs in order, by name, or the first ones in order and the others by name.

    Args:
        ports: the model's inputs.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._names = [port.name for port in ports]

    def arranged(self, given: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs of a call, in order.

        Args:
            given: in order, or one mapping.
            named: by name.

        Raises:
            InputError: `input-count`, `input-twice`, `unknown-input` or `missing-input`.
        """
        if len(given) == 1 and isinstance(given[0], Mapping):
            for name in named:
                if name in given[0]:
                    raise _twice(name, "in the mapping", "as an argument")
            return self.in_order({**given[0], **named} if named else given[0])
        if not named:
            if len(given) != len(self._names):
                raise self._wrong_count(len(given))
            return given
        if len(given) > len(self._names):
            raise self._wrong_count(len(given))
        first = dict(zip(self._names, given, strict=False))
        for name in named:
            if name in first:
                raise _twice(name, f"at position {self._names.index(name)}", "by name")
        return self.in_order({**first, **named})

    def in_order(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The inputs of a mapping, in order.

        Raises:
            InputError: `input-type`, `unknown-input` or `missing-input`.
        """
        known = self._names
        try:
            if len(inputs) == len(known):
                return [inputs[name] for name in known]
        except (KeyError, TypeError, IndexError):
            pass  # what is wrong is found out below
        if not isinstance(inputs, Mapping):
            raise InputError(
                "input-type",
                f"inputs by name are a mapping, not a {type(inputs).__name__}",
                hint="exe.run({'x': array}), or exe(array)",
            )
        for name in inputs:
            if name not in known:
                raise InputError(
                    "unknown-input",
                    f"the model has no input '{name}'",
                    cause=f"its inputs are {', '.join(known) or 'none'}",
                    hint=did_you_mean(name, known),
                )
        missing = [name for name in known if name not in inputs]
        if missing:
            raise InputError(
                "missing-input",
                f"input '{missing[0]}' is missing",
                cause=f"the model's inputs are {', '.join(known)}",
            )
        return [inputs[name] for name in known]

    def _wrong_count(self, count: int) -> InputError:
        wanted = len(self._names)
        return InputError(
            "input-count",
            f"the model takes {wanted} input{'s' if wanted != 1 else ''}, {count} were given",
            cause=f"its inputs are {', '.join(self._names) or 'none'}",
        )


def _twice(name: str, first: str, second: str) -> InputError:
    return InputError("input-twice", f"input '{name}' is given twice: {first}, and {second}")
