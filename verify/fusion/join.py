# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins records of parts of one run: `python -m verify.fusion.join PART… --json FILE`.

Parts have one seed and one target, and no graph in common. The machine is that of the first part,
and seconds are added up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.harness.measure import write_json

__all__ = ["joined", "main"]

Record = Mapping[str, Any]
_SAME = ("seed", "target")
_COUNTED = ("found", "counts", "operations", "dtypes")


def joined(parts: Sequence[Record]) -> dict[str, Any]:
    """Return one record of the graphs of all parts.

    Raises:
        ValueError: parts are of different runs, overlap, or leave a gap.
    """
    parts = sorted(parts, key=lambda part: part["first"])
    for part, after in pairwise(parts):
        if any(part[key] != after[key] for key in _SAME):
            raise ValueError("parts differ in their seed or their target")
        if part["first"] + part["graphs"] != after["first"]:
            raise ValueError(f"graph {after['first']} does not follow the part before it")
    whole = dict(parts[0])
    for key in ("graphs", "refused", "seconds"):
        whole[key] = sum(part[key] for part in parts)
    for key in _COUNTED:
        counter: Counter[str] = Counter()
        for part in parts:
            counter.update(part[key])
        whole[key] = dict(counter.most_common())
    whole["problems"] = [problem for part in parts for problem in part["problems"]]
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if the parts fit together."""
    parser = argparse.ArgumentParser(prog="python -m verify.fusion.join", description=__doc__)
    parser.add_argument("parts", nargs="+", type=Path, metavar="PART")
    parser.add_argument("--json", type=Path, required=True, help="where to write the record")
    options = parser.parse_args(arguments)
    try:
        whole = joined([json.loads(path.read_text()) for path in options.parts])
    except (OSError, KeyError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_json(options.json, whole)
    print(f"{whole['graphs']} graphs, {whole['refused']} refused: {whole['found']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
