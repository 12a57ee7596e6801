# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs all programs and reports: `python -m verify.arrays.programs [--target cuda]`."""

from __future__ import annotations

import argparse
import sys

from verify.arrays.programs import algorithms, assignment, shapes
from verify.arrays.programs.cases import PROGRAMS, check
from xyntra.targets.current import CurrentDevice

_MODULES = (algorithms, assignment, shapes)
"""The modules that hold programs."""


def main() -> int:
    """Run all programs; return 1 where one differs."""
    parser = argparse.ArgumentParser(prog="python -m verify.arrays.programs", description=__doc__)
    parser.add_argument("--target", default="cpu", help="where arrays are computed (cpu)")
    CurrentDevice.target = parser.parse_args().target
    wrong = []
    for name in PROGRAMS:
        try:
            wrong += check([name])
        except Exception as error:  # any is a finding, and the next program is run
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    print("\n".join(wrong) or f"{len(PROGRAMS)} programs agree with numpy")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
