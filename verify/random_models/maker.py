# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects the leaves and operators of a random case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from random import Random
from typing import Any

from verify.random_models.case import Case, Leaf, Step

__all__ = ["FLOATS", "CaseMaker", "Value"]

FLOATS = ("float32", "float32", "float16", "bfloat16")
_SPECIAL_CASES = 0.2
"""Share of the cases that get NaN, infinities and zeros."""


class Value(str):
    """The name of a value, which knows its type.

    Attributes:
        dtype: numpy's name.
        shape: sizes.
    """

    dtype: str
    shape: tuple[int, ...]

    @staticmethod
    def of(name: str, dtype: str, shape: Sequence[int]) -> Value:
        """A value called `name`."""
        value = Value(name)
        value.dtype, value.shape = dtype, tuple(shape)
        return value


class CaseMaker:
    """A case under construction, and the choices of one `Random`.

    Args:
        kind: of the kernels.
        seed: decides everything.
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.kind = kind
        self.seed = seed
        self.random = Random(f"{kind}:{seed}")
        self.special = self.random.random() < _SPECIAL_CASES
        self.leaves: list[Leaf] = []
        self.steps: list[Step] = []
        self.precision = "f32"
        self.prefer = ""

    def chance(self, probability: float) -> bool:
        """True as often as `probability` says."""
        return self.random.random() < probability

    def pick(self, *choices: Any) -> Any:
        """One of `choices`."""
        return self.random.choice(choices)

    def leaf(self, dtype: str, shape: Sequence[int], role: str = "input", **fields: Any) -> Value:
        """A new array."""
        name = f"{role[0]}{len(self.leaves)}"
        seed = self.random.randrange(1 << 30)
        # Weights are taken to be finite: what folds them into one another counts on it.
        if role == "input" and self.special and "special" not in fields:
            fields["special"] = min(0.1, 2 / max(prod(shape) ** 0.5, 1))
        self.leaves.append(Leaf(name, role, dtype, tuple(shape), seed, **fields))
        return Value.of(name, dtype, shape)

    def step(
        self,
        op: str,
        inputs: Sequence[Value],
        shape: Sequence[int],
        result: str | None = None,
        constants: Mapping[str, list[int]] | None = None,
        **attributes: Any,
    ) -> Value:
        """An operator with one result, of dtype `result` or that of its first input."""
        name = f"v{len(self.steps)}"
        self.steps.append(Step(op, tuple(map(str, inputs)), (name,), attributes, constants or {}))
        return Value.of(name, result or inputs[0].dtype, shape)

    def finish(self, *outputs: Value, label: str) -> Case:
        """The case."""
        steps, leaves, names = tuple(self.steps), tuple(self.leaves), tuple(map(str, outputs))
        used = {name for step in steps for name in step.inputs} | set(names)
        leaves = tuple(leaf for leaf in leaves if leaf.name in used)
        return Case(self.kind, self.seed, label, leaves, steps, names, self.precision, self.prefer)
