# SPDX-License-Identifier: MIT OR Apache-2.0
"""The errors a user meets, each with a code, a place, a cause and a hint.

Every class takes the same arguments, so an error raised in a worker process can be sent as a
dictionary and raised again, as the same class, in the process that the user is looking at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

__all__ = [
    "ArchiveError",
    "CacheError",
    "CompileError",
    "ConfigError",
    "DeviceError",
    "InputError",
    "KernelError",
    "MissingExtraError",
    "ModelError",
    "UnsupportedError",
    "WorkerError",
    "XyntraError",
]

_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Names come from model files: a control character in one must not reach the user's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OPTIONAL = ("place", "cause", "hint")
_MOST_LINES = 30
_LINE_ENDS = 250, 100
"""Characters kept of both ends of a long line: names in model files may have any length."""
_LABELS = {"place": "at", "cause": "because", "hint": "try"}


def is_code(text: str) -> bool:
    """Tell whether `text` may be the code of an error: it is kebab-case."""
    return _CODE.fullmatch(text) is not None


class XyntraError(Exception):
    """What went wrong, where, why, and what the user can do about it.

    Args:
        code: a stable kebab-case identifier that programs may compare with.
        message: one sentence for people, without a closing full stop.
        place: where it happened (file, node, argument); may span lines.
        cause: the underlying reason; may span lines.
        hint: what to try; may span lines.

    Raises:
        ValueError: `code` is not kebab-case.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: str | None = None,
        cause: str | None = None,
        hint: str | None = None,
    ) -> None:
        if not is_code(code):
            raise ValueError(f"error code {code!r} is not kebab-case")
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.place = place
        self.cause = cause
        self.hint = hint

    def __str__(self) -> str:
        """The error as one screen of text; the attributes hold what is cut from it."""
        lines = list(_labelled(f"error[{self.code}]:", self.message, indent=2))
        for name in _OPTIONAL:
            text = getattr(self, name)
            if text:
                lines.extend(_labelled(f"  {_LABELS[name]}:", text, indent=6))
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # The keyword-only arguments are lost by the pickling that Exception provides; the
        # instance dictionary carries notes added with add_note().
        return _rebuild, (type(self), self.code, self.message), dict(self.__dict__)

    def to_dict(self) -> dict[str, str | None]:
        """Return a JSON-ready dictionary: `kind` (class name) and the five arguments."""
        return {
            "kind": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "place": self.place,
            "cause": self.cause,
            "hint": self.hint,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> XyntraError:
        """Rebuild the error that `to_dict` described.

        An unknown `kind` (written by a newer version, say) gives a plain `XyntraError`.

        Raises:
            ValueError: a field is missing or is not text.
        """
        for name in ("kind", "code", "message"):
            if not isinstance(data.get(name), str):
                raise ValueError(f"an error's {name!r} must be text, not {data.get(name)!r}")
        optional = {name: data.get(name) for name in _OPTIONAL}
        for name, value in optional.items():
            if value is not None and not isinstance(value, str):
                raise ValueError(f"an error's {name!r} must be text or None, not {value!r}")
        kind = _kinds().get(data["kind"], XyntraError)
        return kind(data["code"], data["message"], **optional)


class ModelError(XyntraError):
    """The model file or its graph is wrong."""


class UnsupportedError(XyntraError):
    """The request is valid, but Xyntra does not implement it."""


class InputError(XyntraError):
    """An array given at call time has the wrong name, shape, dtype, device or value."""


class KernelError(XyntraError):
    """A kernel written in Python is wrong: the place is a line and a column of the user's file."""


class ConfigError(XyntraError):
    """A setting has an unknown name, a wrong type or a value out of range."""


class CompileError(XyntraError):
    """The compiler, or a library below it, failed on a model that should compile.

    Attributes:
        during: the pass that ran when it failed, as written in a pipeline; "" where none did.
    """

    during: str = ""


class WorkerError(CompileError):
    """A compiler process crashed, timed out or ran out of memory."""


class DeviceError(XyntraError):
    """A GPU is missing, failed, or ran out of memory."""


class ArchiveError(XyntraError):
    """A .xyn file is damaged, or was made by an incompatible version."""


class CacheError(XyntraError):
    """The cache was asked for something that it cannot do."""


class MissingExtraError(XyntraError):
    """An optional library is not installed."""

    @classmethod
    def for_extra(cls, extra: str, library: str, *, purpose: str | None = None) -> Self:
        """Return the error for `library`, which `pip install 'xyntra[extra]'` brings."""
        needed = f"{purpose} needs {library}" if purpose else f"{library} is needed"
        return cls(
            "missing-extra",
            f"{needed}, which is not installed",
            hint=f"pip install 'xyntra[{extra}]'",
        )


def _labelled(label: str, text: str, *, indent: int) -> Iterator[str]:
    first, *rest = _printable(text).split("\n")
    yield f"{label} {_shortened(first)}".rstrip()
    for line in rest[: _MOST_LINES - 1]:
        yield (" " * indent + _shortened(line)).rstrip()
    if len(rest) >= _MOST_LINES:
        yield " " * indent + f"… ({len(rest) + 1 - _MOST_LINES:,} more lines)"


def _shortened(line: str) -> str:
    begin, end = _LINE_ENDS
    return line if len(line) <= begin + end else f"{line[:begin]} … {line[-end:]}"


def _printable(text: str) -> str:
    plain = text.replace("\r\n", "\n").rstrip("\n")
    escaped = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", plain)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def _kinds() -> dict[str, type[XyntraError]]:
    found: dict[str, type[XyntraError]] = {}
    waiting: list[type[XyntraError]] = [XyntraError]
    while waiting:
        kind = waiting.pop()
        found.setdefault(kind.__name__, kind)
        waiting.extend(kind.__subclasses__())
    return found


def _rebuild(kind: type[XyntraError], code: str, message: str) -> XyntraError:
    return kind(code, message)
