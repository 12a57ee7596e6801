# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernels of models by the time that they lose: `python -m bench.lost_time MODEL…`.

What a kernel takes beyond the time that the cost model predicts from its bytes and operations is
lost; the kernels of all models are listed together, those that lose most first. The prediction is
for a typical machine, so compare kernels with one another, not with zero.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import xyntra
from xyntra.observe.launches import launches_of
from xyntra.observe.lost_time import Lost, lost_time
from xyntra.observe.text import aligned, duration, name_list

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0."""
    options = _parser().parse_args(arguments)
    config = {"threads": options.threads} if options.threads else {}
    found = [
        (path.stem, lost)
        for path in options.models
        for lost in _lost(path, options.target, config, options.seed)
    ]
    found.sort(key=lambda pair: -pair[1].nanoseconds)
    for line in aligned(_rows(found[: options.most]), (2, 3, 4, 5)):
        print(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.lost_time", description=__doc__)
    add = parser.add_argument
    add("models", nargs="+", type=Path, metavar="MODEL", help="ONNX, MLIR or .xyn")
    add("--target", default="cpu")
    add("--threads", type=int, help="on a CPU (default: all)")
    add("--seed", type=int, default=0, help="of the random inputs")
    add("--most", type=int, default=40, help="kernels listed (default 40)")
    return parser


def _lost(path: Path, target: str, config: dict[str, int], seed: int) -> list[Lost]:
    from xyntra.tools.commands.inputs import random_inputs

    load = xyntra.load if path.suffix == ".xyn" else xyntra.compile
    executable = load(path, target=target, config=config)
    inputs = random_inputs(executable.inputs, seed=seed)
    executable.run(inputs)
    times = executable.time_kernels(inputs)
    launches = launches_of(executable.plan, times)
    return lost_time([each for each in launches if not each.kernel.once], least=1.0)


def _rows(found: Sequence[tuple[str, Lost]]) -> list[list[str]]:
    rows = [["model", "kernel", "x", "lost", "measured", "times", "nodes", "why"]]
    for model, lost in found:
        group = lost.group
        cells = [model, group.first.kernel.name, str(len(group.launches))]
        cells += [duration(lost.nanoseconds), duration(group.measured), f"{lost.factor:.1f}"]
        rows.append([*cells, name_list(group.nodes[:2]), lost.reason])
    return rows


if __name__ == "__main__":
    sys.exit(main())
