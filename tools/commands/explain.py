# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra explain`: what was fused, kernel by kernel, and why the rest was not."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.tools.commands.model import add_model_arguments, executable_of, settings_of
from xyntra.tools.commands.standard_input import label_of

if TYPE_CHECKING:
    from xyntra.executable import Executable


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="show which operations became which kernel, and why")
    add_model_arguments(parser)
    parser.add_argument(
        "--time", action="store_true", help="run the model on random inputs and time every kernel"
    )
    parser.add_argument("--each", action="store_true", help="a line for each, also for equal ones")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--kernel", metavar="N", type=_parse_kernel, help="everything about kernel N, or LN at load"
    )
    shown.add_argument(
        "--boundaries",
        action="store_true",
        help="every tensor that goes from kernel to kernel, why, and what it costs",
    )
    shown.add_argument(
        "--html", metavar="FILE", help="write a page that shows the graph before and after fusion"
    )


def _parse_kernel(text: str) -> str:
    if not re.fullmatch(r"[Ll]?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not like 3 or L3")
    return text


def run(options: argparse.Namespace) -> int:
    """Print the report, or write the page."""
    executable = executable_of(options)
    times = _times(executable) if options.time else None
    if options.html is not None:
        from xyntra.plan.storage.files import replace_file

        html = executable.explain_html(times, title=Path(label_of(options)).name)
        replace_file(options.html, [html.encode()])
        return 0
    print(_report(executable, options, times))
    return 0


def _times(executable: Executable) -> list[int]:
    from xyntra.tools.commands.inputs import random_inputs

    feeds = random_inputs(executable.inputs, seed=0)
    executable.run(feeds)
    return executable.time_kernels(feeds)


def _report(executable: Executable, options: argparse.Namespace, times: list[int] | None) -> str:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if options.kernel is not None:
        from xyntra.observe.details import explain_kernel

        return explain_kernel(executable.plan, options.kernel, times)
    if options.boundaries:
        from xyntra.observe.details import explain_boundaries

        return explain_boundaries(executable.plan, each=options.each, width=width)
    from xyntra.observe.explain import explain
    from xyntra.tools.fitting import fitted_costs

    overlaps = executable.overlaps
    return explain(
        executable.plan,
        times,
        each=options.each,
        width=width,
        overlaps=overlaps,
        costs=fitted_costs(executable, settings_of(options)),
    )
