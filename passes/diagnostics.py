# SPDX-License-Identifier: MIT OR Apache-2.0
"""MLIR diagnostics as plain values, and the errors that carry them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal, Self

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError

__all__ = ["Diagnostic", "PassFailure", "PipelineError", "Severity", "remark_at", "reporting"]

Severity = Literal["error", "warning", "note", "remark"]


@dataclass(frozen=True)
class Diagnostic:
    """One message of MLIR or of a pass; it outlives the context that it came from.

    `location` is MLIR's text for it; `file`, `line` and `column` (both counted from 1) are the
    first file position in it, and "", 0, 0 where it has none.
    """

    severity: Severity
    message: str
    location: str = "unknown"
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """Where it is, in words for users."""
        return f"line {self.line}, column {self.column}" if self.line else self.location

    @classmethod
    def at(cls, location: ir.Location, message: str, severity: Severity = "error") -> Diagnostic:
        """Return a diagnostic of ours that speaks of `location`."""
        text = str(location).removeprefix("loc(").removesuffix(")")
        return cls(severity, message, text, *_position(location))

    @classmethod
    def from_mlir(cls, info: ir.DiagnosticInfo | ir.Diagnostic) -> Diagnostic:
        """Copy what MLIR reported, with its notes."""
        plain = cls.at(info.location, info.message, info.severity.name.lower())
        return replace(plain, notes=tuple(cls.from_mlir(note) for note in info.notes))


def _position(location: ir.Location) -> tuple[str, int, int]:
    waiting = [location]
    while waiting:
        # A diagnostic's location comes as the base class; by way of its attribute, as its own.
        found = ir.Location.from_attr(waiting.pop(0).attr)
        if isinstance(found, ir.FileLineColLoc):
            return found.filename, found.start_line, found.start_col
        if isinstance(found, ir.NameLoc):
            waiting.append(found.child_loc)
        elif isinstance(found, ir.CallSiteLoc):
            waiting += [found.callee, found.caller]
        elif isinstance(found, ir.FusedLoc):
            waiting += found.locations
    return "", 0, 0


Report = Callable[[Diagnostic], None]
_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def reporting(report: Report | None) -> Iterator[None]:
    """Give `report` what passes of ours remark meanwhile; the bindings can emit errors only."""
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


def remark_at(operation: ir.Operation | ir.OpView, message: str) -> None:
    """Remark something about `operation` to whoever runs the pass."""
    report = _REPORT.get()
    if report is not None:
        report(Diagnostic.at(operation.location, message, "remark"))


class PipelineError(CompileError):
    """A pass failed; `diagnostics` hold every message, in order."""

    diagnostics: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, str | None]:
        """As `XyntraError.to_dict`; `kind` is the class that every process knows."""
        return {**super().to_dict(), "kind": CompileError.__name__}

    @classmethod
    def of(cls, code: str, message: str, diagnostics: tuple[Diagnostic, ...]) -> Self:
        """Return an error whose place and cause are those of the first error diagnostic."""
        first = next((found for found in diagnostics if found.severity == "error"), None)
        error = cls(
            code,
            message,
            place=first.location if first else None,
            cause=first.message if first else None,
        )
        error.diagnostics = diagnostics
        return error


class PassFailure(PipelineError):
    """A pass of ours gives up on an operation."""

    @classmethod
    def at(
        cls, operation: ir.Operation | ir.OpView, message: str, *, code: str = "pass-failed"
    ) -> Self:
        """Return the failure to raise when `operation` cannot be handled."""
        diagnostic = Diagnostic.at(operation.location, message)
        error = cls(code, message, place=diagnostic.location)
        error.diagnostics = (diagnostic,)
        return error
