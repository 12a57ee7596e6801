# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes a compiled model to the runtime of web pages, as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xyntra.dialects.dtypes import NARROW_TYPES
from xyntra.errors import UnsupportedError
from xyntra.plan.plan import Plan, Port, Requirement
from xyntra.targets.webgpu.bound_plan import BoundPlan, BoundShader
from xyntra.targets.webgpu.code.shader_image import ShaderImage

__all__ = ["FORMAT", "VERSION", "described"]

FORMAT, VERSION = "xyntra-web", 1
_ENABLED = re.compile(r"^\s*enable\s+([\w\s,]+);", re.M)
_FEATURES = {"f16": "shader-f16", "subgroups": "subgroups"}
"""Features of an adapter, by the extension of WGSL that they allow."""


def described(
    plan: Plan, bound: BoundPlan, images: Mapping[str, ShaderImage], shaders: Mapping[str, int]
) -> dict[str, Any]:
    """Return what a page needs to know, but for the places of weights and shaders.

    Args:
        plan: of the model.
        bound: its launches.
        images: its kernels.
        shaders: where the WGSL of each kernel that has some begins in the file of all.

    Raises:
        UnsupportedError: `web-type` or `web-free`, pages have no arrays for it.
    """
    _check(plan)
    names = list(shaders)
    kernels = [
        {
            "name": name,
            "kind": plan.kernels[name].kind,
            "start": shaders[name],
            "nbytes": len(images[name].wgsl.encode()),
        }
        for name in names
    ]
    steps = [
        {
            "kernel": names.index(step.kernel),
            "nodes": list(step.nodes),
            "once": step.once,
            "launches": [_launch(each) for each in launches],
        }
        for step, launches in zip(plan.steps, bound.steps, strict=True)
        if launches
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": [_port(each, bound) for each in plan.inputs],
        "outputs": [_port(each, bound) for each in plan.outputs],
        "requirements": [_requirement(each, bound) for each in plan.requirements],
        "features": _features([images[name].wgsl for name in names]),
        "bindings": max((len(e.buffers) for step in bound.steps for e in step), default=0),
        "threads": max((e.launch.block for step in bound.steps for e in step), default=1),
        "buffers": [{"nbytes": each.nbytes, "what": each.what} for each in bound.buffers],
        "kernels": kernels,
        "steps": steps,
    }


def _check(plan: Plan) -> None:
    """Refuse what pages have no arrays for."""
    ports = [*plan.inputs, *plan.outputs]
    narrow = next((port for port in ports if port.dtype in NARROW_TYPES), None)
    if narrow is not None:
        raise UnsupportedError(
            "web-type",
            f"'{narrow.name}' is {narrow.dtype}, which pages have no arrays of",
            hint="give the model inputs and outputs of other types",
        )
    if plan.free is not None:
        raise UnsupportedError(
            "web-free",
            "the model has free dimensions, and pages run models of fixed sizes",
            hint="give them sizes: dims={'batch': 1}, or --dim batch=1",
        )


def _port(port: Port, bound: BoundPlan) -> dict[str, Any]:
    shape = list(port.shape)
    return {
        "name": port.name,
        "dtype": port.dtype,
        "shape": shape,
        "buffer": bound.numbers[port.buffer],
    }


def _requirement(each: Requirement, bound: BoundPlan) -> dict[str, Any]:
    texts = {"place": each.place, "cause": each.cause, "hint": each.hint}
    return {
        "flag": _port(each.flag, bound),
        "code": each.code,
        "message": each.message,
        **{name: text for name, text in texts.items() if text},
    }


def _launch(bound: BoundShader) -> dict[str, Any]:
    launch = bound.launch
    return {
        "entry": launch.entry,
        "grid": list(launch.grid),
        "buffers": list(bound.buffers),
        "ranges": [list(each) for each in bound.ranges],
        "written": list(launch.written),
        "copies": [[c.source, c.destination, c.offset, c.nbytes] for c in bound.copies],
    }


def _features(shaders: Sequence[str]) -> list[str]:
    enabled = {
        name.strip()
        for wgsl in shaders
        for names in _ENABLED.findall(wgsl)
        for name in names.split(",")
    }
    return sorted(_FEATURES.get(name, name) for name in enabled)
