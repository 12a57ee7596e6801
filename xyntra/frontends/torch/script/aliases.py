# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps tensors alike that are one tensor in TorchScript, depending on which branch is taken.

Where the values of tensors decide, `x = a if condition else b` becomes a new tensor that is chosen
element by element. In TorchScript, `x` is `a` or `b`: an assignment into one of them has to be seen
in the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from xyntra.frontends.torch.script.places import data_dependent

__all__ = ["Aliases"]


@dataclass(frozen=True)
class _Choice:
    """One tensor that is one of two others.

    Attributes:
        chosen: the tensor.
        condition: whether it is `taken`, a boolean of rank 0.
        taken: one of the others.
        other: the other one.
    """

    chosen: torch.Tensor
    condition: torch.Tensor
    taken: torch.Tensor
    other: torch.Tensor


@dataclass(frozen=True)
class _Row:
    """A copy of a row that stands for the row itself.

    Attributes:
        chosen: the copy.
        source: the tensor that the row is in.
        dimension: the one that is selected from.
        position: of the row, a tensor of rank 0.
    """

    chosen: torch.Tensor
    source: torch.Tensor
    dimension: int
    position: torch.Tensor

    def read(self) -> torch.Tensor:
        """Return the row as it is now."""
        found = torch.index_select(self.source, self.dimension, self.position.reshape(1))
        return found.squeeze(self.dimension)


class Aliases:
    """The choices that have been made so far."""

    def __init__(self) -> None:
        self._choices: list[_Choice | _Row] = []
        self._by_memory: dict[int, list[int]] = {}

    def choose(
        self, condition: torch.Tensor, taken: torch.Tensor, other: torch.Tensor
    ) -> torch.Tensor:
        """Return `taken` where a boolean of rank 0 is true, else `other`, which have one type."""
        chosen = torch.where(condition, taken, other)
        self._keep(_Choice(chosen, condition, taken, other), (chosen, taken, other))
        return chosen

    def row(self, source: torch.Tensor, dimension: int, position: torch.Tensor) -> torch.Tensor:
        """Return the row at a position that is not known, which is in range."""
        at = dimension % source.dim()
        chosen = _Row(source, source, at, position).read()
        self._keep(_Row(chosen, source, at, position), (chosen, source))
        return chosen

    def _keep(self, choice: _Choice | _Row, tensors: tuple[torch.Tensor, ...]) -> None:
        for tensor in tensors:
            self._by_memory.setdefault(_memory(tensor), []).append(len(self._choices))
        self._choices.append(choice)

    def written(self, tensor: torch.Tensor) -> None:
        """Pass an assignment into a tensor on to those that are the same one."""
        pending, done = [tensor], set[int]()
        while pending:
            memory = _memory(pending.pop())
            for number in self._by_memory.get(memory, ()):
                if number not in done:
                    done.add(number)
                    pending += _passed_on(self._choices[number], memory)


def _passed_on(choice: _Choice | _Row, memory: int) -> list[torch.Tensor]:
    """Write what has changed in one tensor of a choice into the others; return these."""
    if isinstance(choice, _Row):
        return _passed_on_row(choice, memory)
    chosen, condition, taken, other = (
        choice.chosen,
        choice.condition,
        choice.taken,
        choice.other,
    )
    if memory == _memory(chosen):
        _write(taken, torch.where(condition, chosen, taken))
        _write(other, torch.where(condition, other, chosen))
        return [taken, other]
    if memory == _memory(taken):
        _write(chosen, torch.where(condition, taken, chosen))
    if memory == _memory(other):
        _write(chosen, torch.where(condition, chosen, other))
    return [chosen]


def _passed_on_row(row: _Row, memory: int) -> list[torch.Tensor]:
    if memory != _memory(row.chosen):
        _write(row.chosen, row.read())
        return [row.chosen]
    shape = [1] * row.source.dim()
    shape[row.dimension] = row.source.shape[row.dimension]
    is_row = torch.arange(shape[row.dimension]).reshape(shape) == row.position
    _write(row.source, torch.where(is_row, row.chosen.unsqueeze(row.dimension), row.source))
    return [row.source]


def _write(tensor: torch.Tensor, value: torch.Tensor) -> None:
    if type(tensor) is torch.Tensor or any(
        step == 0 and size > 1 for size, step in zip(tensor.shape, tensor.stride(), strict=True)
    ):
        raise data_dependent(
            "an assignment goes into a constant or an expanded tensor, or not, by the values of"
            " tensors",
            "assign into a copy: tensor.clone()",
        )
    tensor.copy_(value)


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
