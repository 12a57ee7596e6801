# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random ONNX graphs against float64: `python -m verify.random_graphs --graphs 500 --seed 1`.

Draws models from all operators that are imported, compiles each in a process that may crash, runs
it twice and compares it with a float64 evaluation; see `judge` for the tolerance. Problems are
made smaller and written to `--keep DIR` for `--replay FILE`. Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    if options.write or options.read:
        from verify.random_graphs.runs import travel  # `read` runs where there is no ONNX

        return travel.write(options) if options.write else travel.read(options)
    from verify.random_graphs.runs import campaign

    if options.self_check:
        return campaign.self_check(options)
    if options.replay:
        return campaign.replay(options)
    return campaign.campaign(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.random_graphs", description=__doc__)
    parser.add_argument("--graphs", type=int, default=500, help="how many (default 500)")
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default 0)")
    parser.add_argument("--target", default="cpu", help="where they run (default cpu)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each (default 120)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write failing models here")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check one written model")
    parser.add_argument("--self-check", action="store_true", help="find deliberate defects")
    parser.add_argument("--write", type=Path, metavar="DIR", help="prepare for another machine")
    parser.add_argument("--read", type=Path, metavar="DIR", help="compile and run what was written")
    return parser


if __name__ == "__main__":
    sys.exit(main())
