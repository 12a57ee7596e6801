# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines hooks that watch a pipeline: a printer of the IR and a stop-watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from xyntra.dialects.mlir import ir

__all__ = ["IrPrinter", "PassTimer"]


@dataclass(frozen=True)
class IrPrinter:
    """Writes the module before and after the passes named, in the form of upstream's printing.

    `before_passes` and `after_passes` hold pass names without options; None means every pass.
    """

    write: Callable[[str], object]
    before_passes: frozenset[str] | None = frozenset()
    after_passes: frozenset[str] | None = frozenset()
    generic: bool = False
    debug_info: bool = False

    def before(self, name: str, module: ir.Operation) -> None:
        """Print where asked for."""
        if _selected(name, self.before_passes):
            self._print(f"Before {name}", module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Print where asked for."""
        if _selected(name, self.after_passes):
            self._print(f"After {name}", module)

    def failed(self, name: str, module: ir.Operation) -> None:
        """Print the invalid IR, in generic form, where the IR after this pass was asked for."""
        if _selected(name, self.after_passes):
            self._print(f"After {name} failed", module, generic=True)

    def _print(self, title: str, module: ir.Operation, *, generic: bool = False) -> None:
        text = module.get_asm(
            print_generic_op_form=generic or self.generic, enable_debug_info=self.debug_info
        )
        self.write(f"// -----// IR Dump {title} //----- //\n{text.rstrip()}\n\n")


def _selected(name: str, wanted: frozenset[str] | None) -> bool:
    return wanted is None or name.partition("{")[0] in wanted


@dataclass
class PassTimer:
    """Measures the wall time of every step, in seconds, verification included."""

    seconds: list[tuple[str, float]] = field(default_factory=list)
    _start: float = 0.0

    def before(self, name: str, module: ir.Operation) -> None:
        """Start the watch."""
        self._start = perf_counter()

    def after(self, name: str, module: ir.Operation) -> None:
        """Stop the watch."""
        self.seconds.append((name, perf_counter() - self._start))

    def failed(self, name: str, module: ir.Operation) -> None:
        """Stop the watch."""
        self.after(name, module)

    def table(self) -> str:
        """Return the times as text, one pass a line, in the order in which they ran."""
        total = sum(seconds for _, seconds in self.seconds)
        lines = ["===== pass timing (wall time) =====", "   seconds  share  pass"]
        for name, seconds in [*self.seconds, ("total", total)]:
            share = seconds / total if total else 1.0
            lines.append(f"{seconds:10.6f} {share:6.1%}  {name}")
        return "\n".join(lines) + "\n"
