# SPDX-License-Identifier: MIT OR Apache-2.0
"""Predicts the time of a launch by the roofline model, from bytes moved and instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xyntra.passes.targets.target import Machine

__all__ = ["Bound", "Prediction", "launch_time", "predict", "scalar_cost"]

Bound = Literal["launch", "memory", "compute"]

_FREE = frozenset(
    {
        "arith.constant",
        "arith.extf",
        "arith.truncf",
        "arith.bitcast",
        "arith.index_cast",
        "linalg.index",
        "linalg.yield",
        "tensor.extract",
    }
)
_SLOW = {"arith.divf": 4, "math.sqrt": 4, "math.rsqrt": 4, "math.absf": 1, "math.copysign": 1}
_FUNCTION = 12  # a polynomial of about ten terms


def scalar_cost(name: str) -> int:
    """Arithmetic instructions that a scalar operation amounts to."""
    if name in _FREE:
        return 0
    if name.startswith("math."):
        return _SLOW.get(name, _FUNCTION)
    return _SLOW.get(name, 1)


@dataclass(frozen=True)
class Prediction:
    """Time of one launch, and what limits it."""

    nanoseconds: float
    bound: Bound


def launch_time(nbytes: int, matrix_flops: int, scalar_ops: int, machine: Machine) -> float:
    """Nanoseconds of one launch; arguments and source as for `predict`."""
    memory, compute = _memory_and_compute(nbytes, matrix_flops, scalar_ops, machine)
    return machine.launch_ns + (memory if memory >= compute else compute)


def predict(nbytes: int, matrix_flops: int, scalar_ops: int, machine: Machine) -> Prediction:
    """The roofline model with a launch cost (Williams, Waterman and Patterson, 2009).

    Args:
        nbytes: bytes read and written.
        matrix_flops: operations of contractions and convolutions.
        scalar_ops: other arithmetic instructions, as `scalar_cost` counts them.
        machine: where the kernel runs.
    """
    memory, compute = _memory_and_compute(nbytes, matrix_flops, scalar_ops, machine)
    work = max(memory, compute)
    bound: Bound = "memory" if memory >= compute else "compute"
    if work < machine.launch_ns:
        bound = "launch"
    return Prediction(machine.launch_ns + work, bound)


def _memory_and_compute(
    nbytes: int, matrix_flops: int, scalar_ops: int, machine: Machine
) -> tuple[float, float]:
    """Nanoseconds for what is moved, and for what is computed."""
    compute = matrix_flops / machine.flops_per_ns + scalar_ops / machine.scalar_flops_per_ns
    return nbytes / machine.bytes_per_ns, compute
