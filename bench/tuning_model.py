# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the learned model on kernels that it has not seen: `python -m bench.tuning_model DATABASE`.

Each kernel of a tuning database is left out once: trees trained from the trials of all others rank
its own trials. The table shows how near the best of the first ten comes to the best that was found,
beside ten in the order in which the search has tried them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json
from xyntra.observe.text import aligned
from xyntra.tune.database import Database
from xyntra.tune.learned import LearnedModel
from xyntra.tune.records import Trial, read_schedules

__all__ = ["main"]

_FIRST = 10
_LEAST = 15
"""Trials of a kernel, from which on ten say something."""
_NAME = re.compile(r"@(\w+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.tuning_model", description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("--json", type=Path, help="default: bench/results/tuning_model-….json")
    options = parser.parse_args(arguments)
    with Database(options.database) as database:
        trials, texts = database.trials(), database.kernels()
    own: dict[str, list[Trial]] = defaultdict(list)
    for each in trials:
        if each.kernel in texts:
            own[each.kernel].append(each)
    rows = [
        _row(kernel, held, [each for each in trials if each.kernel != kernel], texts)
        for kernel, held in own.items()
        if len(held) >= _LEAST
    ]
    head = ["kernel", "trials", "best", "first ten", "in order", "within 5 %"]
    print("\n".join(aligned([head, *(_cells(each) for each in rows)], (1, 2, 3, 4))))
    near = sum(each["learned"] <= 1.05 for each in rows)
    print(f"{near} of {len(rows)} kernels: the first ten are within 5 % of the best found")
    machine = describe()
    path = options.json or ROOT / "bench" / "results" / f"tuning_model-{slug(machine)}.json"
    write_json(path, {"machine": machine, "rows": rows})
    return 0


def _row(
    kernel: str, held: list[Trial], others: list[Trial], texts: dict[str, str]
) -> dict[str, object]:
    model = LearnedModel(others, texts)
    ratios = model.ratios(texts[kernel], [read_schedules(each.schedules) for each in held])
    ranked = [held[n] for n in sorted(range(len(held)), key=ratios.__getitem__)]
    best = min(1.0, *(each.ratio for each in held))
    found = _NAME.search(texts[kernel])
    return {
        "kernel": found[1] if found else kernel[:8],
        "trials": len(held),
        "best": best,
        "learned": min(1.0, *(each.ratio for each in ranked[:_FIRST])) / best,
        "in_order": min(1.0, *(e.ratio for e in sorted(held, key=_made)[:_FIRST])) / best,
        "trained": model.is_trained,
    }


def _made(trial: Trial) -> float:
    return trial.made


def _cells(row: dict[str, object]) -> list[str]:
    numbers = [f"{row[name]:.3f}" for name in ("best", "learned", "in_order")]
    near = float(str(row["learned"])) <= 1.05
    return [str(row["kernel"]), str(row["trials"]), *numbers, "yes" if near else "no"]


if __name__ == "__main__":
    sys.exit(main())
