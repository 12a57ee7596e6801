# SPDX-License-Identifier: MIT OR Apache-2.0
"""Learns from the trials of a database which schedules to try first on other kernels.

Gradient-boosted trees (lightgbm) predict the time of a kernel with some schedules as a share of its
usual time. They see the shapes of the kernel's tensors, what each place was told, and how much of
the tiles would lie outside of the result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from xyntra.tune.records import Places, Trial, read_schedules
from xyntra.tune.space import KernelSpace

__all__ = ["LearnedModel"]

_LEAST_TRIALS = 100
_LEAST_KERNELS = 4
"""Fewer trials, or of fewer kernels, teach nothing about others."""
_WORST = 8.0
"""The share of the usual time that failures, and all that is slower, count as."""
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]+\d+)>")
_MOST_TENSORS, _MOST_DIMENSIONS, _MOST_PLACES = 4, 4, 2
_MISSING = -1.0
_TREES = {
    "objective": "regression",
    "learning_rate": 0.08,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "deterministic": True,
    "seed": 1,
    "verbosity": -1,
}
_ROUNDS = 200
Row = dict[str, float]


class LearnedModel:
    """Trees that were trained from trials.

    Args:
        trials: of kernels of one device; those of kernels without a text are left out.
        texts: of the kernels, by their keys.
    """

    def __init__(self, trials: Iterable[Trial], texts: Mapping[str, str]) -> None:
        known = [each for each in trials if each.kernel in texts]
        rows = [_features(texts[each.kernel], read_schedules(each.schedules)) for each in known]
        targets = [math.log(min(each.ratio, _WORST)) for each in known]
        self._columns = sorted({name for row in rows for name in row})
        self._trees = self._trained(rows, targets) if _is_enough(known) else None

    @property
    def is_trained(self) -> bool:
        """Whether there were enough trials, and lightgbm is installed."""
        return self._trees is not None

    def ratios(self, text: str, candidates: Sequence[Places]) -> list[float]:
        """Return the predicted times of a kernel as shares of its usual one.

        Args:
            text: the kernel's function.
            candidates: what it could be told.
        """
        if self._trees is None or not candidates:
            return [1.0] * len(candidates)
        table = self._table([_features(text, each) for each in candidates])
        return [math.exp(each) for each in self._trees.predict(table)]

    def first(self, space: KernelSpace, count: int) -> list[Places]:
        """Return the combinations that differ in one place and look best, the best first."""
        if not self.is_trained:
            return []
        candidates = list(_neighbours(space))
        ratios = self.ratios(space.text, candidates)
        order = sorted(range(len(candidates)), key=ratios.__getitem__)
        return [candidates[number] for number in order[:count]]

    def _trained(self, rows: Sequence[Row], targets: Sequence[float]) -> Any:
        try:
            import lightgbm
        except ImportError:
            return None
        import numpy as np

        data = lightgbm.Dataset(self._table(rows), np.array(targets), params={"verbosity": -1})
        return lightgbm.train(_TREES, data, _ROUNDS)

    def _table(self, rows: Sequence[Row]) -> Any:
        import numpy as np

        found = np.full((len(rows), len(self._columns)), _MISSING)
        places = {name: number for number, name in enumerate(self._columns)}
        for number, row in enumerate(rows):
            for name, value in row.items():
                if name in places:
                    found[number, places[name]] = value
        return found


def _is_enough(trials: Sequence[Trial]) -> bool:
    kernels = {each.kernel for each in trials}
    return len(trials) >= _LEAST_TRIALS and len(kernels) >= _LEAST_KERNELS


def _neighbours(space: KernelSpace) -> Iterator[Places]:
    for number in space.free:
        for each in space.places[number].legal:
            if each != space.places[number].chosen:
                yield (*space.default[:number], each, *space.default[number + 1 :])


def _features(text: str, places: Places) -> Row:
    """Return numbers that describe a kernel and what it is told."""
    row: Row = {}
    shapes = _shapes(text)
    for number, shape in enumerate(shapes[:_MOST_TENSORS]):
        row[f"tensor{number}.size"] = math.log2(1 + math.prod(shape))
        for position, size in enumerate(shape[::-1][:_MOST_DIMENSIONS]):
            row[f"tensor{number}.{position}"] = math.log2(1 + size)
    chosen = [each for each in places if each is not None]
    for number, schedule in enumerate(chosen[:_MOST_PLACES]):
        row[f"{number}.is {schedule.emitter}"] = 1.0
        for name, value in schedule.choices.items():
            parts = value if isinstance(value, tuple) else (value,)
            for position, part in enumerate(parts):
                if isinstance(part, int):
                    row[f"{number}.{name}.{position}"] = float(part)
        tile = schedule.choices.get("tile", ())
        if isinstance(tile, tuple):
            row.update(_outside(number, tile, shapes[-1] if shapes else ()))
    return row


def _outside(number: int, tile: Sequence[Any], shape: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Yield how much larger than the result's sizes whole tiles are, and how many there are."""
    rows = math.prod(shape[:-1])
    for position, (size, edge) in enumerate(zip((rows, *shape[-1:]), tile, strict=False)):
        if isinstance(edge, int) and edge > 0 and size > 0:
            count = -(-size // edge)
            yield f"{number}.outside.{position}", count * edge / size
            yield f"{number}.tiles.{position}", math.log2(count)


def _shapes(text: str) -> list[tuple[int, ...]]:
    """Return the shapes of a function's arguments and results, in order."""
    head = text.partition("{\n")[0]
    return [tuple(map(int, filter(None, sizes.split("x")))) for sizes, _ in _TENSOR.findall(head)]
