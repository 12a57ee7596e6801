# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures rows in processes of their own, one for each GPU, which a crash may end."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.sweep.networks import Network
from bench.sweep.row import Row

__all__ = ["measure_all"]

_SECONDS = 120.0
"""A process in which no row ends for so long is ended."""


def measure_all(
    rows: Sequence[Row | Network],
    folder: Path,
    *,
    gpus: int,
    rounds: int,
    explain: bool,
    beside: Path | None = None,
) -> dict[str, Any]:
    """Return the `rows` that were measured, the `gpu`'s name and `copy_bytes_per_second`.

    Each GPU measures every `gpus`-th row, one at a time. A row that ends its process is recorded
    with the reason.
    """
    options = {"rounds": rounds, "explain": explain, "beside": beside}
    with ThreadPoolExecutor(gpus) as pool:
        found = list(pool.map(lambda i: _share(rows[i::gpus], folder, i, options), range(gpus)))
    by_name = {row["name"]: row for _, measured in found for row in measured}
    return {**found[0][0], "rows": [by_name[row.name] for row in rows]}


def _share(
    rows: Sequence[Row | Network], folder: Path, gpu: int, options: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    about: dict[str, Any] = {}
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows"
        while len(found) < len(rows):
            path.write_text("")
            rest = list(rows[len(found) :])
            process = context.Process(target=_measure, args=(rest, folder, gpu, options, path))
            process.start()
            _wait(process, path)
            about, *measured = [json.loads(line) for line in path.read_text().splitlines()]
            found += measured
            if len(measured) < len(rest):
                lost = rest[len(measured)]
                failure = f"the measuring process ended with status {process.exitcode}"
                found.append({"name": lost.name, "failure": failure})
    return about, found


def _wait(process: Any, path: Path) -> None:
    size = -1
    while process.is_alive() and path.stat().st_size != size:
        size = path.stat().st_size
        process.join(_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()


def _measure(
    rows: Sequence[Row | Network], folder: Path, gpu: int, options: dict[str, Any], path: Path
) -> None:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    os.environ["CUDA_VISIBLE_DEVICES"] = (
        visible[gpu] if gpu < len(visible) and visible[0] else str(gpu)
    )
    import torch

    from bench.cuda.timing import copy_bandwidth
    from bench.sweep.cuda_measure import measure

    bandwidth = copy_bandwidth(5)
    with path.open("a") as file, torch.no_grad():
        about = {"gpu": torch.cuda.get_device_name(), "copy_bytes_per_second": bandwidth}
        print(json.dumps(about), file=file, flush=True)
        for row in rows:
            torch._dynamo.reset()
            try:
                found = measure(row, folder, bandwidth=bandwidth, **options)
            except Exception as error:
                found = {"name": row.name, "failure": f"{type(error).__name__}: {error}"[:400]}
            print(json.dumps(found), file=file, flush=True)
            torch.cuda.empty_cache()
            torch.cuda.synchronize()  # raises where the last row has lost the GPU
