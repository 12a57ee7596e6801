# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the rows of `bench.webgpu run`: operations, and the ten benchmark models.

Five models are the networks of `bench.cuda`, whose weights are drawn from names on any machine;
five are files of wheels, which travel with the artifacts.
"""

from __future__ import annotations

from pathlib import Path

from bench.cuda.models import MODELS as NETWORKS
from bench.cuda.operations import OPERATIONS as CUDA_OPERATIONS
from bench.cuda.operations import Operation
from bench.models import REGISTRY

__all__ = ["ARCHITECTURES", "FILES", "MODELS", "NETWORKS", "OPERATIONS", "artifact"]

ARCHITECTURES = ("webgpu", "webgpu-discrete", "webgpu-discrete-subgroups")
"""What code is compiled for: any adapter, and graphics cards."""
_LARGE = (8192, 4096)
"""128 MiB of f32: the largest tensor that every adapter binds."""
_OWN = (Operation("chain 8192x4096 f32", "elementwise", "chain", "f32", (_LARGE,) * 4, _LARGE),)
_SHARED = (
    "softmax 8192x4096 f32",
    "layer_norm 8192x4096 f32",
    "rms_norm 8192x4096 f32",
    "matmul 4096x4096x4096 f32",
)
OPERATIONS = {
    **{each.name: each for each in _OWN},
    **{name: CUDA_OPERATIONS[name] for name in _SHARED},
}
MODELS = [name for name in NETWORKS if name.endswith(" b1 f32")]
FILES = [name for name, spec in REGISTRY.items() if spec.from_wheel]


def artifact(folder: Path, name: str, target: str) -> Path:
    """Return where the artifact of a row for an architecture of WebGPU, or for "cuda", is."""
    stem = name.removesuffix(".xyn").replace(" ", "_")
    return folder / f"{stem}.{target}.xyn"
