# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra bench`: how long calls take, where their time goes, and how a peer does beside it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from xyntra.tools.commands.model import add_model_arguments, executable_of, settings_of
from xyntra.tools.commands.standard_input import contents_of, is_saved, label_of

if TYPE_CHECKING:
    from xyntra.executable import Executable
    from xyntra.observe.timing.fitted_costs import FittedCosts
    from xyntra.observe.timing.latency import Latency

_TURN = 0.25
"""Seconds of a turn: long beside a call, and short beside changes of the clock and the load."""


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="measure a model: latency, kernels, a peer, a roofline")
    add_model_arguments(parser)
    add = parser.add_argument
    add("--seconds", metavar="S", type=_parse_seconds, default=3.0, help="of each (default 3)")
    add("--peer", choices=["onnxruntime"], help="measure this beside it, in turns, on the CPU")
    add("--kernels", metavar="N", type=int, default=10, help="kernels that are listed (default 10)")
    add("--fit", action="store_true", help="fit this device's costs of kernels to the times")
    add("--json", metavar="FILE", help="write the figures, too")
    add("--flamegraph", metavar="FILE", help="kernels by parts of the model: .svg, or .json")
    add("--roofline", metavar="FILE", help="kernels under the measured roofs: .svg, .png or .html")


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds up to 3600")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Measure, and print or write what was asked for."""
    _check_names(options)
    from xyntra.observe.launches import launches_of
    from xyntra.observe.timing.latency import latency_table
    from xyntra.tools.commands.inputs import random_inputs

    executable = executable_of(options)
    feeds = random_inputs(executable.inputs, seed=0)
    found = _latencies(options, executable, feeds)
    times = _best_times(executable, feeds)
    costs = _costs(options, executable, times)
    print(f"{label_of(options)}, {options.seconds:g} s of calls on random inputs")
    print("\n".join(latency_table(found)))
    if options.kernels > 0:
        from xyntra.observe.timing.kernel_times import kernel_times

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        launches = launches_of(executable.plan, times, costs)
        print("\n".join(["", *kernel_times(launches, options.kernels, width)]))
    _write(options, executable, found, times)
    return 0


def _costs(
    options: argparse.Namespace, executable: Executable, times: list[int]
) -> FittedCosts | None:
    """Return what was fitted to this device, now with this model where that is asked for."""
    from xyntra.tools.fitting import fit_model, fitted_costs

    if options.fit:
        print(fit_model(executable, times, label_of(options), settings_of(options)))
    return fitted_costs(executable, settings_of(options))


def _check_names(options: argparse.Namespace) -> None:
    """Refuse names of files before anything is measured."""
    if options.flamegraph is not None:
        from xyntra.observe.timing.flamegraph import check_name

        check_name(options.flamegraph)
    if options.roofline is not None:
        from xyntra.observe.timing.roofline import check_name as check_roofline

        check_roofline(options.roofline)
    if options.peer and (is_saved(options) or not label_of(options).endswith(".onnx")):
        from xyntra.errors import InputError

        raise InputError("peer-input", "--peer runs ONNX files", place=label_of(options))


def _latencies(
    options: argparse.Namespace, executable: Executable, feeds: dict[str, Any]
) -> dict[str, Latency]:
    from xyntra.observe.timing.latency import latency, time_calls
    from xyntra.targets.host import allowed_processors

    arrays = [feeds[port.name] for port in executable.inputs]
    samples: dict[str, list[int]] = {"xyntra": []}
    with ExitStack() as peers:
        peer = None
        if options.peer:
            from xyntra.tools.peer import onnxruntime_peer

            threads = settings_of(options).threads or allowed_processors()
            model = contents_of(options) or options.model
            peer = peers.enter_context(onnxruntime_peer(model, feeds, threads))
            peer.turn(0.0)
            samples[options.peer] = []
        executable(*arrays)
        for _ in range(max(1, round(options.seconds / _TURN))):
            samples["xyntra"] += time_calls(lambda: executable(*arrays), _TURN)
            if peer is not None:
                samples[options.peer] += peer.turn(_TURN)
    return {name: latency(times) for name, times in samples.items()}


def _best_times(executable: Executable, feeds: dict[str, Any]) -> list[int]:
    """Return the median time of each kernel over a few calls."""
    calls = [executable.time_kernels(feeds) for _ in range(7)]
    return [sorted(times)[len(calls) // 2] for times in zip(*calls, strict=True)]


def _write(
    options: argparse.Namespace,
    executable: Executable,
    found: dict[str, Latency],
    times: list[int],
) -> None:
    title = label_of(options)
    if options.json is not None:
        from xyntra.plan.storage.files import replace_file

        kernels = [
            {"kernel": each.name, "nodes": list(each.fused), "nanoseconds": taken}
            | {"bytes": each.bytes, "flops": each.flops}
            for each, taken in zip(executable.kernels, times, strict=True)
        ]
        figures = {name: each.to_json() for name, each in found.items()}
        text = json.dumps({"model": title, "latency": figures, "kernels": kernels}, indent=1)
        replace_file(options.json, [text.encode() + b"\n"])
    if options.flamegraph is not None:
        from xyntra.observe.timing.flamegraph import write_flamegraph
        from xyntra.observe.timing.stacks import stacks_of_call

        write_flamegraph(options.flamegraph, stacks_of_call(executable.plan, times), title)
    if options.roofline is not None:
        from xyntra.observe.timing.roofline import write_roofline
        from xyntra.tools.roofs import measure_roofs

        roofs = measure_roofs(settings_of(options))
        write_roofline(options.roofline, roofs, executable.kernels, times, title)
