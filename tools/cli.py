# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra`: compiles, runs and explains models from a terminal.

Exit status: 0 done, 1 the work failed (the message is on standard error), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from xyntra.errors import XyntraError
from xyntra.tools.commands import bench, compare, devices, explain, occupancy, tune, tuned
from xyntra.tools.commands import compile as compile_command
from xyntra.tools.commands import run as run_command
from xyntra.tools.commands.report import ReportAction
from xyntra.version import VERSION

_COMMANDS = {
    "compile": compile_command,
    "run": run_command,
    "explain": explain,
    "bench": bench,
    "compare": compare,
    "occupancy": occupancy,
    "tune": tune,
    "tuned": tuned,
    "devices": devices,
}


def main() -> None:
    """Run the command line of this process and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Do what `arguments` ask for and return the exit status; only argparse's exit leaves."""
    options = make_parser().parse_args(arguments)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        status: int = _COMMANDS[options.command].run(options)
        sys.stdout.flush()
        return status
    except XyntraError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has left; flushing at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from xyntra.compiler.worker.answers import unexpected

        return _fail(str(unexpected(error)))


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="xyntra", description="A kernel-fusion compiler.")
    parser.add_argument("--version", action="version", version=f"xyntra {VERSION}")
    about = "show versions, devices and settings, for a report of a problem"
    parser.add_argument("--report", action=ReportAction, help=about)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        command.add_parser(commands, name)
    return parser


def _fail(message: str) -> int:
    print(f"xyntra: {message}", file=sys.stderr)
    return 1


def _show_warning(message: Warning | str, *_: object) -> None:
    print(f"xyntra: warning: {message}", file=sys.stderr)
