# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws expressions, compares them, and reports: `python -m verify.arrays --count 3000`."""

from __future__ import annotations

import argparse
import sys
import time

from verify.arrays.check import check_gradients, check_values
from verify.arrays.expressions import draw
from xyntra.errors import XyntraError
from xyntra.targets.current import CurrentDevice


def main() -> int:
    """Compare expressions; return 1 where one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m verify.arrays", description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="expressions (3000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (0)")
    parser.add_argument("--batch", type=int, default=20, help="expressions an executable (20)")
    parser.add_argument("--values", action="store_true", help="compare no gradients")
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    options = parser.parse_args()
    CurrentDevice.target = options.target
    right = refused = sloped = 0
    wrong: list[tuple[int, float, str]] = []
    start = time.monotonic()
    for first in range(options.first, options.first + options.count, options.batch):
        seeds = range(first, min(first + options.batch, options.first + options.count))
        drawn = [draw(seed) for seed in seeds]
        try:
            found = check_values(drawn)
            smooth = [place for place, each in enumerate(drawn) if each.smooth and each.inputs]
            if smooth and not options.values:
                slopes = check_gradients([drawn[place] for place in smooth])
                found += [(smooth[place], distance) for place, distance in slopes]
                sloped += len(smooth)
        except XyntraError as error:
            refused += len(drawn)
            print(f"seeds {seeds[0]} to {seeds[-1]}: {error}", flush=True)
            continue
        right += len(drawn) - len({place for place, _ in found})
        for place, distance in found:
            wrong.append((seeds[place], distance, drawn[place].text))
            print(f"seed {seeds[place]}: off by {distance:.3g}: {drawn[place].text}", flush=True)
    seconds = time.monotonic() - start
    print(
        f"{right} right, {refused} refused, {len(wrong)} wrong in {seconds:.0f} s;"
        f" of {sloped} the gradient was compared, too"
    )
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())
