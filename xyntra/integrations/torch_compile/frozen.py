# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls parts whose parameters are weights, prepared once, for as long as these do not change.

A parameter counts as changed where it is another tensor, lies elsewhere, or PyTorch has counted a
write to it (`_version`). PyTorch does not count writes through `.data`; they are found by samples
of elements that cover every row and every column of a matrix, of thousands of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from xyntra.frontends.torch.arrays import array_of
from xyntra.frontends.torch.parts import BorderTensor

__all__ = ["FrozenPart"]

_Array = np.ndarray[Any, Any]
_PartCall = Callable[..., list[torch.Tensor]]
_MOST_SAMPLES = 4096
_FEW_CALLS = 4
_MOST_RELOADS = 3
"""How often parameters may change after few calls, until they are taken as inputs for good."""


class FrozenPart:
    """A part with weights that are replaced when the tensors behind them change.

    Args:
        names: of the weights, by the positions of the tensors that a call is given.
        borders: those tensors.
        load: takes weights by name and returns the call of the other tensors.
        unfrozen: returns the call of all tensors, for parameters that change all the time.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        borders: Sequence[BorderTensor],
        load: Callable[[Mapping[str, _Array]], _PartCall],
        unfrozen: Callable[[], _PartCall],
    ) -> None:
        self._names = dict(names)
        self._borders = borders
        self._load = load
        self._unfrozen = unfrozen
        self._lock = threading.Lock()
        self._state: _State | None = None
        self._plain: _PartCall | None = None
        self._calls = self._reloads = 0

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Compute the part's outputs."""
        plain = self._plain
        if plain is None:
            names = self._names
            call = self._call_with([tensors[place] for place in names])
            if call is not None:
                return call(*(each for place, each in enumerate(tensors) if place not in names))
            plain = self._plain = self._unfrozen()
        return plain(*tensors)

    def _call_with(self, held: Sequence[torch.Tensor]) -> _PartCall | None:
        """Return the call for these weights; None where they are inputs from now on."""
        state = self._state
        if state is None or not state.holds(held):
            with self._lock:
                state = self._renewed(held)
        if state is None:
            return None
        self._calls += 1
        return state.call

    def _renewed(self, held: Sequence[torch.Tensor]) -> _State | None:
        """Prepare weights anew; None where that would have to be done all the time."""
        if self._state is not None:
            if self._state.holds(held):  # by another thread
                return self._state
            self._reloads = self._reloads + 1 if self._calls < _FEW_CALLS else 0
        if self._reloads >= _MOST_RELOADS or any(each.is_inference() for each in held):
            return None  # nobody counts writes to tensors of inference_mode
        borders = [self._borders[place] for place in self._names]
        arrays = [_in_memory(*each) for each in zip(held, borders, strict=True)]
        state = _State(held, arrays)
        state.call = self._load(dict(zip(self._names.values(), arrays, strict=True)))
        self._state, self._calls = state, 0
        return state


class _State:
    """What is known of the tensors whose elements were prepared; it keeps their memory.

    Attributes:
        call: of the part with these weights.

    Args:
        tensors: as they are before their elements are prepared.
        arrays: their elements.
    """

    call: _PartCall

    def __init__(self, tensors: Sequence[torch.Tensor], arrays: Sequence[_Array]) -> None:
        self._memory = [tensor.detach() for tensor in tensors]
        self._marks = [(tensor.data_ptr(), tensor._version) for tensor in tensors]
        self._samples = [_Sample(array) for array in arrays]

    def holds(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether nothing has changed."""
        for tensor, mark in zip(tensors, self._marks, strict=True):
            if tensor.is_inference() or (tensor.data_ptr(), tensor._version) != mark:
                return False
        return all(sample.holds() for sample in self._samples)


class _Sample:
    """Some elements of an array, as they were."""

    def __init__(self, array: _Array) -> None:
        self._words = array.reshape(-1).view(f"u{array.dtype.itemsize}")
        self._places = _spread(array.shape)
        self._were = self._words.take(self._places)

    def holds(self) -> bool:
        """Tell whether they are still the same, bit by bit."""
        return bool((self._words.take(self._places) == self._were).all())


def _spread(shape: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return positions in an array that lie in every row and in every column of it."""
    rows = int(shape[0]) if shape else 1
    columns = int(np.prod(shape[1:], dtype=np.int64))
    count = min(max(rows, columns), _MOST_SAMPLES)
    along_rows = np.linspace(0, rows - 1, count).astype(np.int64) if rows > count else None
    each = np.arange(count)
    row = each % rows if along_rows is None else along_rows
    column = each % columns if columns <= count else np.linspace(0, columns - 1, count)
    return row * columns + column.astype(np.int64)


def _in_memory(tensor: torch.Tensor, border: BorderTensor) -> _Array:
    """Return the elements in the order of the memory, without a copy where there are no gaps."""
    plain = tensor.detach()
    if plain.stride() != border.stride:
        plain = torch.empty_strided(border.shape, border.stride, dtype=border.dtype).copy_(plain)
    found = array_of(plain.permute(border.order)).view()
    found.flags.writeable = False
    return found
