# SPDX-License-Identifier: MIT OR Apache-2.0
"""Optimisers as functions of parameters, gradients and a state, by PyTorch's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.optim.schedules import Schedule

__all__ = ["SGD", "Adam", "AdamW", "Lion", "Optimizer", "clip_by_norm"]

Arrays = dict[str, Array]


def clip_by_norm(gradients: Mapping[str, Array], largest: float) -> Arrays:
    """Return gradients, all of them scaled where the norm of all exceeds `largest`."""
    squares = [
        xa.sum(xa.square(each.astype(xa.float32, copy=False))) for each in gradients.values()
    ]
    norm = xa.sqrt(sum(squares[1:], squares[0]))
    scale = xa.minimum(largest / (norm + 1e-6), 1.0)
    return {name: each * scale.astype(each.dtype, copy=False) for name, each in gradients.items()}


class Optimizer:
    """What a step makes of parameters and gradients.

    Args:
        lr: the rate of learning, or a function that returns it for the number of a step.
        weight_decay: how much of a parameter is taken from it.
    """

    def __init__(self, lr: float | Schedule, weight_decay: float = 0.0) -> None:
        self.lr = lr
        self.weight_decay = weight_decay

    def rate(self, step: int) -> float:
        """Return the rate of a step."""
        return float(self.lr(step) if callable(self.lr) else self.lr)

    def init(self, parameters: Mapping[str, Array]) -> dict[str, Any]:
        """Return the state before the first step."""
        return {
            "step": xa.zeros((), dtype=xa.float32),
            **{slot: {n: xa.zeros_like(p) for n, p in parameters.items()} for slot in self.slots()},
        }

    def slots(self) -> tuple[str, ...]:
        """Return the names of what is kept for each parameter."""
        return ()

    def update(
        self,
        parameters: Mapping[str, Array],
        gradients: Mapping[str, Array],
        state: Mapping[str, Any],
        rate: Any,
    ) -> tuple[Arrays, dict[str, Any]]:
        """Return parameters and state after a step.

        Args:
            parameters: by name.
            gradients: by the same names.
            state: what `init` or the last step returned.
            rate: of learning, a number or an array of rank 0.
        """
        step = state["step"] + 1.0
        kept: dict[str, Any] = {"step": step, **{slot: {} for slot in self.slots()}}
        found = {}
        for name, parameter in parameters.items():
            slots = [state[slot][name] for slot in self.slots()]
            own = rate.astype(parameter.dtype, copy=False) if isinstance(rate, Array) else rate
            found[name], new = self.one(parameter, gradients[name], slots, own, step)
            for slot, value in zip(self.slots(), new, strict=True):
                kept[slot][name] = value.astype(parameter.dtype, copy=False)
        return found, kept

    def one(
        self, parameter: Array, gradient: Array, slots: list[Array], rate: Any, step: Array
    ) -> tuple[Array, list[Array]]:
        """Return one parameter, and what is kept for it, after a step."""
        raise NotImplementedError


class SGD(Optimizer):
    """Descent along the gradient, with momentum.

    Args:
        lr: as `Optimizer`.
        momentum: how much of the last direction is kept.
        nesterov: whether the gradient is added to the direction ahead.
        weight_decay: added to the gradient, times the parameter.
    """

    def __init__(
        self,
        lr: float | Schedule,
        momentum: float = 0.0,
        *,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(lr, weight_decay)
        self.momentum, self.nesterov = momentum, nesterov

    def slots(self) -> tuple[str, ...]:
        """Return the names of what is kept for each parameter."""
        return ("momentum",) if self.momentum else ()

    def one(
        self, parameter: Array, gradient: Array, slots: list[Array], rate: Any, step: Array
    ) -> tuple[Array, list[Array]]:
        """Return one parameter, and its direction, after a step."""
        del step
        if self.weight_decay:
            gradient = gradient + parameter * self.weight_decay
        if not slots:
            return parameter - gradient * rate, []
        direction = slots[0] * self.momentum + gradient
        moved = gradient + direction * self.momentum if self.nesterov else direction
        return parameter - moved * rate, [direction]


class Adam(Optimizer):
    """Adaptive moments; `weight_decay` is added to the gradient.

    Args:
        lr: as `Optimizer`.
        betas: how much of the moments is kept.
        eps: added to the root of the second moment.
        weight_decay: as said.
    """

    decoupled = False

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(lr, weight_decay)
        self.betas, self.eps = betas, eps

    def slots(self) -> tuple[str, ...]:
        """Return the names of what is kept for each parameter."""
        return "first", "second"

    def one(
        self, parameter: Array, gradient: Array, slots: list[Array], rate: Any, step: Array
    ) -> tuple[Array, list[Array]]:
        """Return one parameter, and its moments, after a step."""
        one, two = self.betas
        if self.weight_decay and self.decoupled:
            parameter = parameter * (1.0 - rate * self.weight_decay)
        elif self.weight_decay:
            gradient = gradient + parameter * self.weight_decay
        first = slots[0] * one + gradient * (1.0 - one)
        second = slots[1] * two + xa.square(gradient) * (1.0 - two)
        corrected = xa.sqrt(second / (1.0 - xa.pow(two, step))) + self.eps
        moved = first / (1.0 - xa.pow(one, step)) / corrected
        return parameter - (moved * rate).astype(parameter.dtype, copy=False), [first, second]


class AdamW(Adam):
    """Adaptive moments; parameters decay by themselves, not through the gradient."""

    decoupled = True

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(lr, betas, eps, weight_decay)


class Lion(Optimizer):
    """Descent by the sign of a momentum (Chen et al. 2023).

    Args:
        lr: as `Optimizer`.
        betas: how much of the momentum counts in the step, and is kept.
        weight_decay: parameters decay by themselves.
    """

    def __init__(
        self,
        lr: float | Schedule = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(lr, weight_decay)
        self.betas = betas

    def slots(self) -> tuple[str, ...]:
        """Return the names of what is kept for each parameter."""
        return ("momentum",)

    def one(
        self, parameter: Array, gradient: Array, slots: list[Array], rate: Any, step: Array
    ) -> tuple[Array, list[Array]]:
        """Return one parameter, and its momentum, after a step."""
        del step
        one, two = self.betas
        moved = xa.sign(slots[0] * one + gradient * (1.0 - one))
        if self.weight_decay:
            moved = moved + parameter * self.weight_decay
        return parameter - moved * rate, [slots[0] * two + gradient * (1.0 - two)]
