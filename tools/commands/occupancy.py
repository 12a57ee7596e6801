# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra occupancy`: what the kernels of a model occupy of a GPU, and what limits them."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from xyntra.tools.commands.model import add_model_arguments, executable_of, settings_of
from xyntra.tools.commands.standard_input import is_saved, label_of

if TYPE_CHECKING:
    from xyntra.executable import Executable

_ARCHITECTURE = "cuda:sm_90a"
"""What a model is compiled for where nothing is asked for, and there is no GPU."""
_CALLS = 7


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="registers, shared memory, blocks, waves of GPU code")
    add_model_arguments(parser)
    add = parser.add_argument
    add("--live", action="store_true", help="run it on the GPU, and show times")
    add("--json", metavar="FILE", help="write every launch of a call, too")


def run(options: argparse.Namespace) -> int:
    """Print a table of the launches of a call, equal ones together."""
    from xyntra.observe.gpu.occupancy import LEFT, occupancy_records, occupancy_rows
    from xyntra.targets.table import backend_of
    from xyntra.tools.tables import print_table

    if options.target is None and not is_saved(options):
        options.target = _target(settings_of(options).target)
    executable = executable_of(options)
    asked = options.live or _is_there(executable)
    launches = executable.launch_resources(predicted=not asked)
    times = _times(executable) if options.live else None
    summary = backend_of(executable.artifact.target).summary_of(executable.artifact.target)
    source = "as the driver says" if asked else "as ptxas says, without the GPU"
    print(f"{label_of(options)}, {summary}, launches of a call: {len(launches)}, {source}")
    print_table(occupancy_rows(launches, executable.kernels, times), LEFT)
    if options.json is not None:
        from xyntra.plan.storage.files import replace_file

        records = occupancy_records(launches, executable.kernels, times)
        found = {"model": label_of(options), "target": summary, "measured": asked}
        text = json.dumps(found | {"launches": records}, indent=1)
        replace_file(options.json, [text.encode() + b"\n"])
    return 0


def _target(wanted: str) -> str:
    """Return a target with multiprocessors: the GPU of this machine if there is one."""
    from xyntra.targets.table import backend_named

    if backend_named(wanted).target.is_simt:
        return wanted
    return "cuda" if backend_named("cuda").devices() else _ARCHITECTURE


def _is_there(executable: Executable) -> bool:
    """Tell whether the first GPU of this machine runs the code."""
    from xyntra.targets.table import backend_of

    backend = backend_of(executable.artifact.target)
    if not backend.devices():
        return False
    architecture, _ = backend.locate(backend.name)
    return backend.machine_key(architecture) == executable.artifact.target


def _times(executable: Executable) -> list[int]:
    from xyntra.tools.commands.inputs import random_inputs

    feeds = random_inputs(executable.inputs, seed=0)
    calls = [executable.time_kernels(feeds) for _ in range(_CALLS)]
    return [sorted(each)[_CALLS // 2] for each in zip(*calls, strict=True)]
