# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra tune`: searches for the fastest schedules of a model's kernels on this machine."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from xyntra.config import Config
from xyntra.errors import InputError
from xyntra.tools.commands.model import (
    add_model_arguments,
    progress,
    settings_of,
    sizes_of,
    source_of,
)
from xyntra.tools.commands.standard_input import label_of

if TYPE_CHECKING:
    from xyntra.tune.space import KernelSpace


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="search for the fastest schedules of a model's kernels")
    add_model_arguments(parser)
    parser.add_argument(
        "--kernels", metavar="PATTERN", default="*", help="only kernels whose names match"
    )
    parser.add_argument(
        "--budget",
        metavar="60s",
        type=_parse_budget,
        default=60.0,
        help="time for the search: seconds, or with a unit, such as 5min",
    )
    parser.add_argument("--trials", metavar="N", type=_parse_count, help="at most so many trials")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of what is drawn")
    parser.add_argument(
        "--list", action="store_true", help="show how many legal schedules there are, and stop"
    )


def run(options: argparse.Namespace) -> int:
    """Do what was asked."""
    from xyntra.compiler.tuning.session import Tuning, model_spaces, tune_model

    settings = settings_of(options)
    if not options.list:
        tuning = Tuning(options.budget, options.trials, options.kernels, options.seed)
        from xyntra.tools.tuning_table import live_table, result_lines

        with live_table(_is_shown(settings)) as show:
            result = tune_model(source_of(options), sizes_of(options), settings, tuning, show)
        print("\n".join(result_lines(result)))
        return 130 if result.interrupted else 0
    with progress(f"listing schedules of {label_of(options)}", settings):
        spaces = model_spaces(source_of(options), sizes_of(options), settings)
    chosen = [each for each in spaces if fnmatchcase(each.name, options.kernels)]
    print("\n".join(_listed(chosen)))
    return 0


def _parse_budget(text: str) -> float:
    from xyntra.tune.budget import budget_seconds

    try:
        return budget_seconds(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def _is_shown(settings: Config) -> bool:
    return settings.progress if settings.progress is not None else sys.stderr.isatty()


def _choices(space: KernelSpace) -> str:
    """Return the numbers of schedules of each emitter, place by place."""
    found: dict[int, list[str]] = {}
    for number, name, count in space.emitters():
        found.setdefault(number, []).append(f"{count} {name}")
    return " x ".join(" + ".join(each) for each in found.values())


def _listed(spaces: list[KernelSpace]) -> list[str]:
    """Return a table of kernels, and the emitters that each place could have."""
    from xyntra.observe.text import aligned, duration, plural, printable

    rows = [["kernel", "calls", "predicted", "schedules", "of"]]
    for each in spaces:
        of = each.failure.partition("\n")[0] or _choices(each) or "nothing to choose"
        counts = [str(each.calls), duration(each.nanoseconds), str(each.count)]
        rows.append([printable(each.name), *counts, printable(of)])
    total = sum(each.count for each in spaces)
    head = f"{plural(len(spaces), 'kernel')}, {total:,} combinations of legal schedules"
    close = [printable(f"{each.name}: {text}") for each in spaces for text in each.close]
    fusions = [f"{plural(len(close), 'fusion')} that would cost at most 10 % more", *close]
    return [head, "", *aligned(rows, (1, 2, 3)), "", *fusions]
