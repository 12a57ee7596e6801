# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs steps of training, each of them one executable: loss, gradients, and the optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.nn.module import Module
from xyntra.optim.optimisers import Optimizer, clip_by_norm

__all__ = ["TrainStep"]


class TrainStep:
    """A step of training: one executable, recorded once for each set of shapes of a batch.

    Parameters and the state of the optimiser are written over where they lie; arrays of theirs that
    are held elsewhere are copied before.

    Args:
        model: whose parameters are trained; the same arrays hold the new ones after each step.
        loss: takes the model and what a step is called with, and returns an array of one element.
        optimizer: what it makes of the gradients.
        clip: the largest norm of all gradients together; None for any.
    """

    def __init__(
        self,
        model: Module,
        loss: Callable[..., Array],
        optimizer: Optimizer,
        *,
        clip: float | None = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.state = optimizer.init(model.parameters())
        self.steps = 0
        self._loss = loss
        self._clip = clip
        self._rate: tuple[float, Any] = (0.0, xa.asarray(0.0))
        self._step = xa.jit(self._recorded, donate=(0, 1, 2))

    def __call__(self, *batch: Any) -> Array:
        """Train on a batch and return the loss before the step."""
        rate = self.optimizer.rate(self.steps)
        if rate != self._rate[0]:
            self._rate = rate, xa.asarray(rate)
        given = (self.model.parameters(), self.model.buffers(), self.state, self._rate[1], batch)
        value, parameters, buffers, self.state = self._step(*given)
        self.model.update({**parameters, **buffers})
        self.steps += 1
        found: Array = value
        return found

    def _recorded(
        self, parameters: Any, buffers: Any, state: Any, rate: Any, batch: Any
    ) -> tuple[Any, ...]:
        def of(values: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
            with self.model.holding({**values, **buffers}):
                value = self._loss(self.model, *batch)
                return value, self.model.buffers()

        (value, moved), slopes = xa.value_and_grad(of, has_aux=True)(parameters)
        if self._clip is not None:
            slopes = clip_by_norm(slopes, self._clip)
        new, kept = self.optimizer.update(parameters, slopes, state, rate)
        return value, new, moved, kept
