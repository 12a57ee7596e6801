# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the pipeline of `xyntra-opt` on each part of the input and reports what MLIR says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError, XyntraError
from xyntra.passes.diagnostics import Diagnostic, PipelineError
from xyntra.passes.manager import Hook, Runnable, resolve, run_steps
from xyntra.passes.registry import likely_names
from xyntra.passes.suggest import did_you_mean
from xyntra.tools.opt_files import Chunk
from xyntra.tools.opt_flags import FLAGS, Options

if TYPE_CHECKING:
    from xyntra.passes.hooks import IrPrinter, PassTimer

__all__ = ["Session"]


class Session:
    """One run of the tool; `failed` tells whether any part failed so far.

    Raises:
        ConfigError: a pass or an option of one is unknown.
    """

    def __init__(self, options: Options) -> None:
        self.failed = False
        self._options = options
        self._steps = _resolve(options)
        self._timer = _timer() if options.timing else None
        self._hooks: list[Hook] = [self._timer] if self._timer else []
        if options.before != set() or options.after != set():
            self._hooks.append(_printer(options))

    def process(self, chunk: Chunk) -> str | None:
        """Return the IR that the pipeline makes of `chunk`, or None where it failed."""
        diagnostics: list[Diagnostic] = []
        output = self._transform(chunk, diagnostics)
        if self._options.verify_diagnostics:
            from xyntra.tools.expected_diagnostics import check_expected

            source = chunk if isinstance(chunk, str) else ""
            for complaint in check_expected(source, diagnostics):
                print(f"{self._options.input}:{complaint}", file=sys.stderr)
                self.failed = True
            return output
        for diagnostic in diagnostics:
            _print_diagnostic(diagnostic, self._options.input, chunk)
        self.failed |= output is None
        return output

    def finish(self) -> None:
        """Report what concerns all parts."""
        if self._timer:
            sys.stderr.write(self._timer.table())

    def _transform(self, chunk: Chunk, diagnostics: list[Diagnostic]) -> str | None:
        try:
            module = ir.Module.parse(chunk)
            run_steps(
                module,
                self._steps,
                verify_each=self._options.verify_each,
                hooks=self._hooks,
                report=diagnostics.append,
            )
        except ir.MLIRError as error:
            diagnostics += map(Diagnostic.from_mlir, error.error_diagnostics)
            return None
        except XyntraError as error:
            diagnostics += _diagnostics_of(error)
            return None
        text: str = module.operation.get_asm(
            print_generic_op_form=self._options.generic,
            enable_debug_info=self._options.debug_info,
        )
        return text.rstrip("\n") + "\n"


def _resolve(options: Options) -> list[Runnable]:
    if options.whole_pipeline is not None:
        return resolve(options.whole_pipeline)
    try:
        return resolve(options.pipeline)
    except ConfigError as error:
        if error.code != "unknown-pass":
            raise
        flag = "--" + error.message.split("'")[1]
        known = {f"--{name}" for name in (*FLAGS, *likely_names())}
        hint = did_you_mean(flag, known, "xyntra-opt --help")
        message = f"'{flag}' is neither a flag nor a pass"
        raise ConfigError("unknown-flag", message, hint=hint) from error


# What only some runs need is imported where it is needed: it takes as long as a small pass.


def _timer() -> PassTimer:
    from xyntra.passes.hooks import PassTimer

    return PassTimer()


def _printer(options: Options) -> IrPrinter:
    from xyntra.passes.hooks import IrPrinter

    return IrPrinter(
        sys.stderr.write,
        None if options.before is None else frozenset(options.before),
        None if options.after is None else frozenset(options.after),
        generic=options.generic,
        debug_info=options.debug_info,
    )


def _diagnostics_of(error: XyntraError) -> list[Diagnostic]:
    if isinstance(error, PipelineError) and error.diagnostics:
        found = list(error.diagnostics)
        if error.code == "invalid-ir":
            found.append(Diagnostic("note", error.message))
        return found
    parts = [error.message, error.cause, error.hint]
    return [Diagnostic("error", ": ".join(part for part in parts if part))]


def _print_diagnostic(diagnostic: Diagnostic, name: str, chunk: Chunk) -> None:
    print(
        f"{_place(diagnostic, name)}: {diagnostic.severity}: {diagnostic.message}", file=sys.stderr
    )
    if diagnostic.file == "-" and diagnostic.line and isinstance(chunk, str):
        line = chunk.split("\n")[diagnostic.line - 1]
        print(f"{line}\n{_caret(line, diagnostic.column)}", file=sys.stderr)
    for note in diagnostic.notes:
        _print_diagnostic(note, name, chunk)


def _place(diagnostic: Diagnostic, name: str) -> str:
    if not diagnostic.line:
        return name
    file = name if diagnostic.file == "-" else diagnostic.file
    return f"{file}:{diagnostic.line}:{diagnostic.column}"


def _caret(line: str, column: int) -> str:
    return "".join("\t" if letter == "\t" else " " for letter in line[: column - 1]) + "^"
