# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the tests in as many processes at a time as there are processors.

Files are dealt to more shards than processes, and whoever is done takes the next shard: how long a
file takes is not known beforehand. Not pytest-xdist: its workers have threads, and a process with
threads does not fork, which is how kernels are compiled and what some tests are about.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 8
ROUNDS = 5
"""Shards for each process: more of them end together more evenly, and start Python more often."""
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
    processes = min(MOST, len(allowed))
    command = [sys.executable, "-m", "pytest", *options]

    def run(names: Sequence[Path]) -> subprocess.CompletedProcess[bytes]:
        arguments = [*command, *map(str, names)]
        return subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, check=False)

    failed = False
    with ThreadPoolExecutor(processes) as pool:
        running = [pool.submit(run, names) for names in shards(files, processes * ROUNDS)]
        for number, done in enumerate(as_completed(running), 1):
            failed |= done.result().returncode not in (0, NO_TESTS)
            print(f"-- {number} of {len(running)}", flush=True)
            sys.stdout.buffer.write(done.result().stdout)
            sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
