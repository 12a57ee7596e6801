# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs models with the npm package onnxruntime-web in a page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

from bench.harness.measure import ROOT

__all__ = ["LOAD", "RUN", "VERSION", "Provider", "put_package"]

VERSION = "1.30.0"
Provider = Literal["webgpu", "wasm"]
_FOLDER = ROOT / "build" / f"onnxruntime-web-{VERSION}"
_PATIENCE = 300.0  # seconds for npm

LOAD = """async ({ provider }) => {
  const ort = await import(`./ort/ort.${provider}.min.mjs`);
  ort.env.logLevel = "error";
  ort.env.wasm.wasmPaths = new URL("./ort/", location.href).href;
  ort.env.wasm.numThreads = crossOriginIsolated ? navigator.hardwareConcurrency : 1;
  const start = performance.now();
  try {
    window.session = await ort.InferenceSession.create("./model.onnx",
      { executionProviders: [provider] });
  } catch (error) { return { error: { text: String(error) } }; }
  window.ort = ort;
  return { loaded: performance.now() - start, threads: ort.env.wasm.numThreads };
}"""
"""Loads the model that lies beside a page, and keeps its session."""

RUN = """async ({ inputs }) => {
  const kinds = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array };
  const feeds = {};
  for (const [name, { dtype, shape, data }] of Object.entries(inputs)) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    feeds[name] = new ort.Tensor(dtype, new kinds[dtype](bytes.buffer), shape);
  }
  try {
    const start = performance.now();
    const outputs = await session.run(feeds);
    const took = performance.now() - start;
    const found = [];
    for (const name of session.outputNames) {
      const { dims, type, data } = outputs[name];
      let text = "";
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      for (let i = 0; i < bytes.length; i += 32768) {
        text += String.fromCharCode(...bytes.subarray(i, i + 32768));
      }
      found.push({ dtype: type, shape: dims, data: btoa(text) });
    }
    return { outputs: found, took };
  } catch (error) { return { error: { text: String(error) } }; }
}"""
"""Runs it once: from typed arrays to typed arrays."""


def put_package(site: Path) -> None:
    """Put the package's files into a site, as `ort/`.

    Raises:
        RuntimeError: npm cannot fetch it.
    """
    dist = _FOLDER / "node_modules" / "onnxruntime-web" / "dist"
    if not (dist / "ort.webgpu.min.mjs").is_file():
        _fetch()
    (site / "ort").symlink_to(dist)


def _fetch() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("there is no npm to fetch onnxruntime-web with")
    _FOLDER.mkdir(parents=True, exist_ok=True)
    how = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(_FOLDER)]
    command: list[Any] = [npm, "install", *how, f"onnxruntime-web@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    if done.returncode != 0:
        raise RuntimeError(f"npm cannot fetch onnxruntime-web: {done.stderr.strip()[-500:]}")
