# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the files of a folder that runs a compiled model in a browser."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from importlib.resources import files
from typing import Any

from xyntra.errors import UnsupportedError
from xyntra.passes.lower.gpu.device import WEBGPU, device_of
from xyntra.plan.artifact import Artifact
from xyntra.targets.webgpu.adapter import architecture_in
from xyntra.targets.webgpu.bound_plan import bind_plan, images_of
from xyntra.targets.webgpu.code.shader_image import ShaderImage
from xyntra.targets.webgpu.code.wgsl import browser_text
from xyntra.targets.webgpu.web.chunks import chunks, named, parts
from xyntra.targets.webgpu.web.description import described
from xyntra.version import VERSION

__all__ = ["PAGE_FILES", "PLAN", "site_files"]

PLAN = "plan.json"
PAGE_FILES = ("check.js", "offline.js", "page.js", "panels.js", "style.css", "xyntra.js")
"""Of every page; `index.html` is a template."""


def site_files(
    artifact: Artifact, weights: Mapping[str, Any], title: str
) -> Iterator[tuple[str, bytes]]:
    """Yield names, with "/" between folders, and contents; the plan, which names others, is last.

    Args:
        artifact: for the target "webgpu".
        weights: the plan's parameters by name.
        title: of the page.

    Raises:
        CompileError: the code is damaged, or a weight is missing.
        UnsupportedError: pages have no arrays for it, or it is for graphics cards alone.
    """
    _check_adapter(artifact)
    images = {
        name: replace(image, wgsl=browser_text(image.wgsl))
        for name, image in images_of(artifact).items()
    }
    bound = bind_plan(artifact.plan, images)
    shaders, starts = _shaders(images)
    description = described(artifact.plan, bound, images, starts)
    described_chunks = []
    for data in chunks(artifact.plan, bound, weights):
        name, digest = named("weights/", data, ".bin")
        described_chunks.append({"file": name, "nbytes": len(data), "sha256": digest})
        yield name, data
    name, digest = named("kernels-", shaders, ".wgsl")
    yield name, shaders
    for each in PAGE_FILES:
        yield each, files(__package__).joinpath(each).read_bytes()
    yield "index.html", _index(title)
    plan = {
        "name": title,
        "compiler": f"xyntra {VERSION}",
        **description,
        "shaders": {"file": name, "nbytes": len(shaders), "sha256": digest},
        "chunks": described_chunks,
        "contents": [list(asdict(each).values()) for each in parts(bound)],
    }
    yield PLAN, json.dumps(plan, separators=(",", ":"), allow_nan=False).encode()


def _check_adapter(artifact: Artifact) -> None:
    """Refuse code for adapters that a page cannot ask for."""
    architecture = architecture_in(artifact.target)
    if device_of(architecture).static_bytes > WEBGPU.static_bytes:
        raise UnsupportedError(
            "web-adapter",
            f"the model was compiled for '{architecture}', and a page may meet any GPU",
            hint="compile it with target='webgpu' (--target webgpu)",
        )


def _shaders(images: Mapping[str, ShaderImage]) -> tuple[bytes, dict[str, int]]:
    """Return the WGSL of all kernels in one file, and where each begins."""
    whole, starts = bytearray(), {}
    for name, image in sorted(images.items()):
        if image.launches:
            whole += f"// {name}\n".encode()
            starts[name] = len(whole)
            whole += image.wgsl.encode() + b"\n"
    return bytes(whole), starts


def _index(title: str) -> bytes:
    text = files(__package__).joinpath("index.html").read_text(encoding="utf-8")
    return text.replace("{{title}}", html.escape(title or "model")).encode()
