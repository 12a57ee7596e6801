# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compare`: what lower precisions cost in digits, and save in time and memory."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from xyntra.errors import ConfigError, ModelError, UnsupportedError
from xyntra.tools.commands.model import (
    add_model_arguments,
    samples_of,
    settings_of,
    sizes_of,
    source_of,
)
from xyntra.tools.commands.standard_input import label_of

if TYPE_CHECKING:
    from xyntra.compiler.inputs.source import ModelSource
    from xyntra.config import Config, Precision
    from xyntra.executable import Executable
    from xyntra.observe.precision.costs import PrecisionCost

_RANDOM = 3
"""Samples that are made up where none are given."""
_CALLS = 7
_WIDTHS = ("f16", "bf16", "int8", "fp8", "w8", "w4", "w4a8")


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="compare a model of f32 with itself in fewer bits")
    add_model_arguments(parser)
    parser.add_argument("--random", metavar="SEED", type=int, default=0, help="of made-up samples")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON, too")
    parser.add_argument("--html", metavar="FILE", help="write it as a page with a chart, too")
    parser.set_defaults(precision="f16,bf16")


def run(options: argparse.Namespace) -> int:
    """Compile with every precision, run all in turns, and print the report."""
    from xyntra.observe.precision.costs import costs_as_data, report_costs

    names = list(dict.fromkeys(options.precision.split(",")))
    for name in names:
        if name not in _WIDTHS:
            raise ConfigError(
                "config-value",
                f"'{name}' is no precision to compare",
                hint=f"one or more of {', '.join(_WIDTHS)}, such as --precision f16,w4",
            )
    options.precision, options.io = "f32", None
    costs, count, refused = _costs(options, names)
    print(report_costs(costs, count, refused))
    if options.json:
        from xyntra.plan.storage.files import replace_file

        text = json.dumps(costs_as_data(costs, count, refused), indent=2) + "\n"
        replace_file(options.json, [text.encode()])
    if options.html:
        from xyntra.observe.precision.page import precision_page
        from xyntra.plan.storage.files import replace_file

        page = precision_page(costs, count, label_of(options), refused)
        replace_file(options.html, [page.encode()])
    return 0


def _in_precision(config: Config, name: str) -> Config:
    return replace(config, precision=cast("Precision", name))


def _costs(
    options: argparse.Namespace, names: Sequence[str]
) -> tuple[list[PrecisionCost], int, dict[str, str]]:
    """Return what was measured, over how many samples, and why precisions are not there."""
    from xyntra.compiler.driver import compile_source
    from xyntra.compiler.sampling import checked_call
    from xyntra.observe.precision.costs import (
        PrecisionCost,
        kept_in_f32,
        measure_errors,
        memory_of,
    )
    from xyntra.tools.commands.inputs import random_inputs

    source, sizes, config = source_of(options), sizes_of(options), settings_of(options)
    exact = compile_source(source, sizes, config)
    given = samples_of(options)
    samples = given or [random_inputs(exact.inputs, options.random + i) for i in range(_RANDOM)]
    executables = {"f32": exact}
    refused: dict[str, str] = {}
    for name in names:
        own = samples if name == "int8" else given
        try:
            executables[name] = compile_source(source, sizes, _in_precision(config, name), own)
        except (UnsupportedError, ModelError) as error:
            if len(names) == 1:
                raise
            refused[name] = ": ".join(filter(None, (error.message, error.cause)))
    results = {
        name: [checked_call(each, sample, i) for i, sample in enumerate(samples)]
        for name, each in executables.items()
    }
    times = _times(executables, samples[0])
    costs = []
    for name, executable in executables.items():
        is_exact = name == "f32"
        errors = () if is_exact else measure_errors(results[name], results["f32"])
        # Of w8 and w4, single products are not measured.
        is_measured = name in ("f16", "bf16", "int8")
        nodes = (
            {} if not is_measured else _nodes(source, options, _in_precision(config, name), samples)
        )
        plan = executable.plan
        costs.append(
            PrecisionCost(name, errors, times[name], memory_of(plan), nodes, kept_in_f32(plan))
        )
    return costs, len(samples), refused


def _times(executables: Mapping[str, Executable], sample: Mapping[str, Any]) -> dict[str, float]:
    """Median nanoseconds of a call, by turns."""
    found: dict[str, list[int]] = {name: [] for name in executables}
    for _ in range(_CALLS):
        for name, executable in executables.items():
            start = time.perf_counter_ns()
            executable.run(sample)
            found[name].append(time.perf_counter_ns() - start)
    return {name: statistics.median(each) for name, each in found.items()}


def _nodes(
    source: ModelSource, options: argparse.Namespace, config: Config, samples: Sequence[Any]
) -> dict[str, float]:
    """What rounding each product alone adds."""
    if config.precision == "int8":
        from xyntra.compiler.driver import quantize_source

        found = quantize_source(source, sizes_of(options), config, samples, ranked=True)
        return {", ".join(found.nodes[i][:3]): error for i, error in found.errors.items()}
    from xyntra.compiler.code_target import CodeTarget
    from xyntra.compiler.driver import make_request
    from xyntra.compiler.sampling import observe

    target = CodeTarget.of(config.target)
    request = make_request(source, sizes_of(options), config, "artifact", target)
    kind = "cuda" if target.architecture else "cpu"
    return observe(source, request, config, kind, samples, config.precision).errors
