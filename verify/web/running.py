# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs exported models in a page, with arrays that come from Python and go back there."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["load_model", "run_model"]

Array = np.ndarray[Any, Any]

_LOAD = """async (options) => {
  const { Xyntra } = await import("./xyntra.js");
  const start = performance.now();
  const errorOf = (e) => ({ kind: e.name, code: e.code, text: String(e) });
  try {
    window.model = await Xyntra.load("./", options);
  } catch (error) { return { error: errorOf(error) }; }
  const loaded = performance.now() - start;
  return { loaded, adapter: model.adapter, kernels: model.kernels.length };
}"""
_RUN = """async ({ inputs, calls }) => {
  const errorOf = (e) => ({ kind: e.name, code: e.code, text: String(e) });
  const arrays = {};
  const kinds = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array,
    uint8: Uint8Array, int8: Int8Array, float16: Uint16Array, uint16: Uint16Array,
    int16: Int16Array, uint32: Uint32Array, uint64: BigUint64Array };
  for (const [name, { dtype, data }] of Object.entries(inputs)) {
    arrays[name] = new kinds[dtype](Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
  }
  try {
    let outputs, times = [];
    for (let i = 0; i < calls; i++) {
      const start = performance.now();
      outputs = await model.run(arrays);
      times.push(performance.now() - start);
    }
    const found = {};
    for (const [name, { dtype, shape, data }] of Object.entries(outputs)) {
      let text = "";
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      for (let i = 0; i < bytes.length; i += 32768) {
        text += String.fromCharCode(...bytes.subarray(i, i + 32768));
      }
      found[name] = { dtype, shape, data: btoa(text) };
    }
    return { outputs: found, times };
  } catch (error) { return { error: errorOf(error) }; }
}"""


def load_model(page: Any, **options: Any) -> dict[str, Any]:
    """Load the model that lies beside a page; returns times, or the error."""
    answer: dict[str, Any] = page.evaluate(_LOAD, options)
    return answer


def run_model(
    page: Any, inputs: Mapping[str, Array], calls: int = 1
) -> tuple[dict[str, Array], list[float]]:
    """Run the model that was loaded.

    Args:
        page: of the browser.
        inputs: arrays by name.
        calls: how often it is run.

    Returns:
        outputs by name, and the milliseconds of each call.

    Raises:
        RuntimeError: it failed.
    """
    given = {
        name: {"dtype": array.dtype.name, "data": base64.b64encode(array.tobytes()).decode()}
        for name, array in inputs.items()
    }
    answer = page.evaluate(_RUN, {"inputs": given, "calls": calls})
    if "error" in answer:
        raise RuntimeError(answer["error"]["text"])
    found = {}
    for name, each in answer["outputs"].items():
        data = np.frombuffer(base64.b64decode(each["data"]), np.dtype(each["dtype"]))
        found[name] = data.reshape(each["shape"])
    return found, answer["times"]
