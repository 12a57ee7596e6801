# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the tests in a process for each processor; each has files of its own.

Not pytest-xdist: its workers have threads, and a process with threads does not fork, which is how
kernels are compiled and what some tests are about.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 8
NO_TESTS = 5
"""pytest's exit status where nothing is left of the files, by a -k for example."""


def shards(files: Sequence[Path], count: int) -> list[list[Path]]:
    """Deal files to processes: the largest first, always to who has the least."""
    dealt: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for file in sorted(files, key=lambda each: (-each.stat().st_size, each)):
        least = sizes.index(min(sizes))
        dealt[least].append(file)
        sizes[least] += file.stat().st_size
    return [sorted(each) for each in dealt if each]


def main(options: list[str]) -> int:
    """Run all tests with options of pytest; return 1 if one fails."""
    files = list((ROOT / "test").rglob("test_*.py"))
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    command = [sys.executable, "-m", "pytest", *options]
    running = []
    for names in shards(files, min(MOST, len(allowed))):
        output = tempfile.TemporaryFile()  # noqa: SIM115  (read when the process has ended)
        process = subprocess.Popen([*command, *map(str, names)], cwd=ROOT, stdout=output)
        running.append((process, output))
    failed = False
    for number, (process, output) in enumerate(running, 1):
        failed |= process.wait() not in (0, NO_TESTS)
        print(f"-- {number} of {len(running)}", flush=True)
        output.seek(0)
        sys.stdout.buffer.write(output.read())
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
