# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra-opt`: reads MLIR, runs passes, writes MLIR.

Exit status: 0 done, 1 the work failed, 2 wrong usage. Imports are kept few, because tests start
this tool by the hundred.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xyntra.errors import ConfigError, XyntraError
from xyntra.tools.opt_flags import Options, parse_flags

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir

__all__ = ["main", "run"]

_NAME = "xyntra-opt"


def main() -> None:
    """Run the command line of this process and end the process."""
    # Importing allocates much and frees nothing: the first thousands of objects stay.
    gc.freeze()
    gc.set_threshold(100_000)
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or 1
    # Tearing down the interpreter and LLVM takes longer than many a run.
    os._exit(status)


def run(arguments: Sequence[str]) -> int:
    """Do what `arguments` ask for and return the exit status; no exception leaves."""
    try:
        options = parse_flags(arguments)
        if options.show is not None:
            return _show(options.show)
        return _run(options)
    except ConfigError as error:
        return _complain(str(error), 2)
    except XyntraError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1
    except Exception as error:
        return _complain(f"error[internal]: {type(error).__name__}: {error}", 1)


def _complain(message: str, status: int) -> int:
    print(f"{_NAME}: {message}", file=sys.stderr)
    return status


def _show(topic: str) -> int:
    from xyntra.tools.opt_help import TOPICS

    print(TOPICS[topic]())
    return 0


def _run(options: Options) -> int:
    from xyntra.tools.opt_files import read_input, split_input, write_output
    from xyntra.tools.opt_run import Session

    with _make_context(options):
        session = Session(options)
        data = read_input(options.input)
        chunks = split_input(data) if options.split else [data]
        outputs = [session.process(chunk) for chunk in chunks]
        session.finish()
    texts = [output for output in outputs if output is not None]
    if texts and not session.failed:
        write_output(options.output, "// -----\n".join(texts))
    return int(session.failed)


def _make_context(options: Options) -> ir.Context:
    from xyntra.dialects.context import make_context

    return make_context(allow_unregistered_dialects=options.allow_unregistered)
