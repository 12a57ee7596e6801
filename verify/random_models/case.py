# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models as data: what `verify.random_models` compiles on one machine and runs on another.

A case is a list of ONNX operators and a seed for every array, so that the machine with the GPU
can make the arrays and the expectation anew, with neither ONNX nor a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes  # noqa: F401  (numpy learns bfloat16)
import numpy as np

from xyntra.dialects.dtypes import is_float

__all__ = ["Case", "Leaf", "Step", "contents", "from_json"]

Array = np.ndarray[Any, Any]
_SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])


@dataclass(frozen=True)
class Leaf:
    """An array that a model is given.

    Attributes:
        name: of the value.
        role: "input", or "weight" for what is known when the model is compiled.
        dtype: numpy's name.
        shape: sizes.
        seed: of its contents.
        special: share of the elements that are NaN, an infinity or a zero.
        low: least integer, where the contents are integers.
        high: one more than the largest; booleans are true with a chance of `high` percent.
        scale: standard deviation of floats.
    """

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    seed: int
    special: float = 0.0
    low: int = -9
    high: int = 10
    scale: float = 1.0


@dataclass(frozen=True)
class Step:
    """One operator.

    Attributes:
        op: its name in ONNX.
        inputs: names of values; "" for one that is left out.
        outputs: names of results.
        attributes: as in ONNX.
        constants: inputs of integers known when the model is compiled, by position.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A model.

    Attributes:
        kind: of the kernels that it is about.
        seed: what it was drawn from.
        label: says in short what it is.
        leaves: its inputs and weights.
        steps: operators in order.
        outputs: names of values.
        precision: "f32", or "tf32" where factors of f32 may be rounded.
        prefer: "warpgroups" or "threads" where those shall compute what they can, whatever is
            faster; "" for the compiler's choice.
    """

    kind: str
    seed: int
    label: str
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    precision: str = "f32"
    prefer: str = ""

    @property
    def name(self) -> str:
        """A name that no other case has."""
        return f"{self.kind}-{self.seed}"

    def arrays(self, role: str) -> dict[str, Array]:
        """The contents of all leaves of a role, by name."""
        return {leaf.name: contents(leaf) for leaf in self.leaves if leaf.role == role}


def from_json(fields: Mapping[str, Any]) -> Case:
    """Rebuild a case from what `asdict` and JSON make of it."""
    leaves = [Leaf(**{**each, "shape": tuple(each["shape"])}) for each in fields["leaves"]]
    steps = [
        Step(**{**each, "inputs": tuple(each["inputs"]), "outputs": tuple(each["outputs"])})
        for each in fields["steps"]
    ]
    lists = {"leaves": tuple(leaves), "steps": tuple(steps), "outputs": tuple(fields["outputs"])}
    return Case(**{**fields, **lists})


def contents(leaf: Leaf) -> Array:
    """The array of a leaf; equal on every machine with numpy's default generator."""
    generator = np.random.default_rng(leaf.seed)
    if leaf.dtype == "bool":
        return np.asarray(generator.random(leaf.shape) * 100 < leaf.high)
    if not is_float(leaf.dtype):
        return np.asarray(generator.integers(leaf.low, leaf.high, leaf.shape), leaf.dtype)
    data = np.asarray(generator.standard_normal(leaf.shape)) * leaf.scale
    if leaf.special and prod(leaf.shape):
        chosen = generator.random(leaf.shape) < leaf.special
        data = np.where(chosen, generator.choice(_SPECIAL, leaf.shape), data)
    return np.asarray(data).astype(np.dtype(leaf.dtype))
