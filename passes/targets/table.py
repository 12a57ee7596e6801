# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the targets that passes can be told, by the name that their options take."""

from __future__ import annotations

from typing import Literal

from xyntra.passes.targets import cpu, cuda, webgpu
from xyntra.passes.targets.target import Target

__all__ = ["DEFAULT", "TARGETS", "TargetName"]

TargetName = Literal["cpu", "cuda", "webgpu"]
DEFAULT: TargetName = "cpu"
"""The target that passes have in mind where they are not told one."""

TARGETS: dict[TargetName, Target] = {
    "cpu": cpu.TARGET,
    "cuda": cuda.TARGET,
    "webgpu": webgpu.TARGET,
}
