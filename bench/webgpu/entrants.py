# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads and calls a model by each way that there is on a GPU behind WebGPU, and on WebAssembly.

An entrant is made, which loads the model, and called as often as wanted. A call goes from arrays to
arrays, and tells how long it took in the process, or in the page, that runs the model.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.webgpu.onnxruntime_web import LOAD, RUN, Provider, put_package
from bench.webgpu.plugin import plugin_session
from verify.web.running import load_model, run_model
from xyntra.executable import Executable

__all__ = ["Entrant", "Native", "Page", "Plugin", "Web"]

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]


class Entrant(Protocol):
    """A model that is loaded."""

    load: float
    """Seconds of loading."""

    def call(self, feeds: Feeds) -> tuple[float, list[Array]]:
        """Return the seconds of a call, and what it computes, in order of the model's outputs."""


class Native:
    """Xyntra's executable on wgpu."""

    def __init__(self, executable: Executable) -> None:
        self._executable = executable
        self.load = 0.0

    def call(self, feeds: Feeds) -> tuple[float, list[Array]]:
        """See Entrant."""
        start = time.perf_counter()
        results = self._executable.run(feeds)
        return time.perf_counter() - start, list(results.values())


class Plugin:
    """onnxruntime with its WebGPU plugin."""

    def __init__(self, model: Path) -> None:
        start = time.perf_counter()
        self._session = plugin_session(model)
        self.load = time.perf_counter() - start

    def call(self, feeds: Feeds) -> tuple[float, list[Array]]:
        """See Entrant."""
        start = time.perf_counter()
        results = self._session.run(None, dict(feeds))
        return time.perf_counter() - start, list(results)


class Page:
    """Xyntra's exported page, or its runtime alone."""

    def __init__(self, page: Any, names: list[str]) -> None:
        answer = load_model(page)
        if "error" in answer:
            raise RuntimeError(answer["error"]["text"])
        self._page, self._names = page, names
        self.adapter: str = answer["adapter"]
        self.load = answer["loaded"] / 1e3

    def call(self, feeds: Feeds) -> tuple[float, list[Array]]:
        """See Entrant."""
        results, (took,) = run_model(self._page, feeds)
        return took / 1e3, [results[name] for name in self._names]


class Web:
    """onnxruntime-web in a page beside `model.onnx`."""

    def __init__(self, page: Any, site: Path, provider: Provider) -> None:
        if not (site / "ort").exists():
            put_package(site)
        answer = page.evaluate(LOAD, {"provider": provider})
        if "error" in answer:
            raise RuntimeError(answer["error"]["text"])
        self._page = page
        self.threads: int = answer["threads"]
        self.load = answer["loaded"] / 1e3

    def call(self, feeds: Feeds) -> tuple[float, list[Array]]:
        """See Entrant."""
        given = {name: _as_text(array) for name, array in feeds.items()}
        answer = self._page.evaluate(RUN, {"inputs": given})
        if "error" in answer:
            raise RuntimeError(answer["error"]["text"])
        return answer["took"] / 1e3, [_as_array(each) for each in answer["outputs"]]


def _as_text(array: Array) -> dict[str, Any]:
    data = base64.b64encode(array.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _as_array(given: Mapping[str, Any]) -> Array:
    data = np.frombuffer(base64.b64decode(given["data"]), np.dtype(given["dtype"]))
    return data.reshape(given["shape"])
