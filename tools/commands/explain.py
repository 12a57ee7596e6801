# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra explain`: what was fused, kernel by kernel."""

from __future__ import annotations

import argparse
from typing import Any

from xyntra.tools.commands.model import add_model_arguments, executable_of


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="show which operations became which kernel")
    add_model_arguments(parser)
    parser.add_argument(
        "--time", action="store_true", help="run the model on random inputs and time every kernel"
    )


def run(options: argparse.Namespace) -> int:
    """Print the report."""
    from xyntra.observe.explain import explain

    executable = executable_of(options)
    times = None
    if options.time:
        from xyntra.tools.commands.inputs import random_inputs

        feeds = random_inputs(executable.inputs, seed=0)
        executable.run(feeds)
        times = executable.time_kernels(feeds)
    print(explain(executable.plan, times))
    return 0
