# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares Xyntra with onnxruntime-web in one browser, and with onnxruntime's plugin outside of it.

All entrants of a model are loaded, called once, and then called by turns. Results are compared with
onnxruntime's on the CPU.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.machine import describe
from bench.harness.measure import write_json
from bench.models import REGISTRY, ensure
from bench.webgpu.entrants import Entrant, Native, Page, Plugin, Web
from bench.webgpu.measures import beyond
from bench.webgpu.onnxruntime_web import VERSION
from verify.web.browser import browser
from verify.web.models import compiled
from verify.web.server import Site, served

__all__ = ["ENTRANTS", "contest"]

ENTRANTS = ("page", "web-webgpu", "web-wasm", "native", "plugin")
"""Xyntra in a page, onnxruntime-web on WebGPU and on WebAssembly; Xyntra and the plugin outside."""
_ISOLATED = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}
"""Headers without which a page has no threads."""
_PATIENCE = 600_000  # milliseconds
Record = dict[str, Any]


def contest(
    names: Sequence[str],
    models: Path,
    rounds: int,
    entrants: Sequence[str] = ENTRANTS,
    driver: Path | None = None,
    output: Path | None = None,
) -> int:
    """Print a line for each model and entrant; returns 1 if a result is wrong.

    Args:
        names: of benchmark models.
        models: where their files are, or are put.
        rounds: calls by turns, after the first.
        entrants: which of ENTRANTS take part.
        driver: Vulkan's file of the driver that the entrants without a page use.
        output: where the record is written after each model, beside what it holds of others.
    """
    if driver is not None:
        os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(driver)
    known = json.loads(output.read_text()) if output is not None and output.is_file() else {}
    models_known = known.get("models", {})
    record: Record = {"machine": describe(), "versions": _versions(), "models": models_known}
    good = True
    with browser() as opened:
        record["versions"]["chromium"] = opened.version
        for name in names:
            with _site(name, models) as (site, folder, executable):
                makers = _makers(opened, site, folder, executable)
                chosen = {each: makers[each] for each in entrants}
                found = record["models"][name] = _measured(name, folder, chosen, rounds)
            for entrant, each in found.items():
                print(f"{name}, {entrant}: {_words(each)}", flush=True)
                good = good and not each.get("beyond")
            if output is not None:
                write_json(output, record)
    return 0 if good else 1


def _versions() -> dict[str, str]:
    packages = ("wgpu", "onnxruntime", "onnxruntime-ep-webgpu")
    found = {each: metadata.version(each) for each in packages if _is_installed(each)}
    return {"onnxruntime-web": VERSION, **found}


def _is_installed(package: str) -> bool:
    return next(iter(metadata.distributions(name=package)), None) is not None


@contextmanager
def _site(name: str, models: Path) -> Iterator[tuple[Site, Path, Any]]:
    """Serve the exported model, and beside it the file that it is compiled from."""
    executable = compiled(name, models)
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        executable.save_web(folder, title=name)
        (folder / "model.onnx").symlink_to(ensure(name, models).resolve())
        with served(folder, headers=_ISOLATED) as site:
            yield site, folder, executable


def _makers(
    opened: Any, site: Site, folder: Path, executable: Any
) -> dict[str, Callable[[], Entrant]]:
    def page() -> Any:
        found = opened.new_page()
        found.set_default_timeout(_PATIENCE)
        found.goto(f"{site.address}style.css")
        return found

    names = [each.name for each in executable.outputs]
    return {
        "page": lambda: Page(page(), names),
        "web-webgpu": lambda: Web(page(), folder, "webgpu"),
        "web-wasm": lambda: Web(page(), folder, "wasm"),
        "native": lambda: Native(executable),
        "plugin": lambda: Plugin(folder / "model.onnx"),
    }


def _measured(
    name: str, folder: Path, makers: dict[str, Callable[[], Entrant]], rounds: int
) -> dict[str, Record]:
    import onnxruntime

    feeds = REGISTRY[name].random_inputs(0)
    model = str(folder / "model.onnx")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    wanted = session.run(None, dict(feeds))
    found: dict[str, Record] = {}
    running: dict[str, Entrant] = {}
    for each, make in makers.items():
        try:
            running[each] = entrant = make()
            first, results = entrant.call(feeds)
            error = {"beyond": beyond(results, wanted), "largest_error": _largest(results, wanted)}
            found[each] = {"load_s": entrant.load, "first_s": first, "calls_s": [], **error}
        except Exception as error:
            running.pop(each, None)
            found[each] = {"error": str(error)[:1000]}
    for _ in range(rounds):
        for each, entrant in running.items():
            found[each]["calls_s"].append(entrant.call(feeds)[0])
    return found


def _largest(results: Sequence[Any], wanted: Sequence[Any]) -> float:
    pairs = zip(results, wanted, strict=True)
    return max(float(np.max(np.abs(a - np.asarray(b, np.float64)), initial=0)) for a, b in pairs)


def _words(found: Record) -> str:
    if "error" in found:
        return f"FAILED: {found['error']}"
    times = found["calls_s"]
    calls = f"median {statistics.median(times):.4f} s, least {min(times):.4f} s" if times else ""
    return f"{calls}, first {found['first_s']:.2f} s, {found['beyond']} beyond"
