# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives the WGSL of kernels to Chromium, whose reader, Tint, is stricter than naga."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xyntra.targets.webgpu.code.shader_image import ShaderImage
from xyntra.targets.webgpu.code.wgsl import browser_text

__all__ = ["Refusal", "refusals"]

_OPEN = """async () => {
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) throw new Error("there is no adapter");
  const { limits } = adapter;
  const requiredFeatures = ["shader-f16", "subgroups"].filter((f) => adapter.features.has(f));
  window.device = await adapter.requestDevice({ requiredFeatures, requiredLimits: {
    maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
    maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize } });
}"""
_READ = """async ({ code, entries }) => {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  const found = messages.map((m) => `${m.type} ${m.lineNum}:${m.linePos} ${m.message}`);
  if (!messages.some((m) => m.type === "error")) {
    for (const entryPoint of entries) {
      try {
        const compute = { module, entryPoint };
        await device.createComputePipelineAsync({ layout: "auto", compute });
      } catch (error) { found.push(`pipeline ${entryPoint}: ${error.message}`); }
    }
  }
  const error = await device.popErrorScope();
  if (error && !found.length) found.push(error.message);
  return found;
}"""


@dataclass(frozen=True)
class Refusal:
    """What Chromium says of a kernel."""

    kernel: str
    messages: tuple[str, ...]


def refusals(
    page: Any, images: Mapping[str, ShaderImage], *, pipelines: bool = False
) -> list[Refusal]:
    """Return the kernels that are not taken without a word.

    Args:
        page: of a browser, from a server.
        images: kernels by name.
        pipelines: whether they are also compiled, which takes much longer.
    """
    page.evaluate(_OPEN)
    found = []
    for name, image in images.items():
        if image.launches:
            entries = [each.entry for each in image.launches] if pipelines else []
            messages = page.evaluate(_READ, {"code": browser_text(image.wgsl), "entries": entries})
            if messages:
                found.append(Refusal(name, tuple(messages)))
    return found
