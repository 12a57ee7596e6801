# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fits the expected times of kernels to those that were measured on a device.

The time of a kernel is taken to be a sum: of a launch, of its loop nests, of its bytes as far as
they fit the second-level cache, the third, or neither, and of its operations. Each summand has a
coefficient for kernels of one kind and emitter, none below zero. Coefficients are those of least
relative error, by reweighted least squares (which a few bad measurements do not move), and are
drawn towards those of all kernels where there are few of a kind.

What is expected informs; fusion and schedules are chosen by constants of a typical machine, so that
what a compile does never depends on what a machine was busy with while somebody measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.plan.kernel import Kernel

__all__ = ["NEAR", "FittedCosts", "Sample", "fit_costs", "sample_of", "share_near"]

NEAR = 1.25
"""Times that differ by no larger factor are near to each other."""
_CACHES = (1 << 20, 32 << 20)
"""Bytes that the second and the third level hold about, of one core."""
_PLAIN = frozenset({"parallel-loops", "scalar-loops", "vector-rows"})
"""Emitters of what surrounds the nest that names the group of a kernel."""
_TERMS = 6
_ROUNDS, _SWEEPS = 20, 30
_FLOOR = 0.05  # relative errors below it weigh the same
_TOWARDS_ALL = 0.1
_NUDGE = 1e-6
Vector = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Sample:
    """A launch that was measured, by what the cost of its kernel depends on.

    Attributes:
        group: the kind of its kernel and the emitter that made most of its code.
        nests: loop nests, or launches on a GPU.
        bytes: that it reads and writes.
        flops: operations.
        nanoseconds: measured; 0 where it was not.
    """

    group: str
    nests: int
    bytes: int
    flops: int
    nanoseconds: float = 0.0

    @property
    def terms(self) -> Vector:
        """What the coefficients multiply."""
        second, third = _CACHES
        near = min(self.bytes, second)
        far = max(self.bytes - third, 0)
        return np.array(
            [1.0, self.nests, near, self.bytes - near - far, far, self.flops], dtype=np.float64
        )


@dataclass(frozen=True)
class FittedCosts:
    """Coefficients of the terms of `Sample`, in nanoseconds.

    Attributes:
        groups: by the group of a kernel.
        all: of kernels of other groups.
    """

    groups: Mapping[str, tuple[float, ...]]
    all: tuple[float, ...]

    def expected(self, kernel: Kernel) -> float:
        """Return the nanoseconds that a launch takes, as far as was measured on the device."""
        return self.of(sample_of(kernel))

    def of(self, sample: Sample) -> float:
        """Return the expected nanoseconds of a sample, whatever it took."""
        return float(sample.terms @ np.array(self.groups.get(sample.group, self.all)))

    def to_json(self) -> dict[str, Any]:
        """Return the coefficients as data."""
        return {"groups": {name: list(each) for name, each in self.groups.items()}, "all": self.all}

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> FittedCosts:
        """Rebuild it; TypeError, KeyError or ValueError where something else was written."""
        groups = {str(name): _coefficients(each) for name, each in entries["groups"].items()}
        return cls(groups, _coefficients(entries["all"]))


def sample_of(kernel: Kernel, nanoseconds: float = 0.0) -> Sample:
    """Return a launch as a sample."""
    emitters = [text.split(maxsplit=1)[0] for text in kernel.schedules if text]
    nests = [name for name in emitters if name != "parallel-loops"]
    main = next((name for name in nests if name not in _PLAIN), nests[0] if nests else "")
    group = f"{kernel.kind} {main}".rstrip()
    return Sample(group, len(nests), kernel.bytes, kernel.flops, nanoseconds)


def fit_costs(samples: Sequence[Sample]) -> FittedCosts:
    """Return the coefficients that fit measured launches best.

    Raises:
        ValueError: there are none.
    """
    timed = [each for each in samples if each.nanoseconds > 0]
    if not timed:
        raise ValueError("no launch was measured")
    terms = np.array([each.terms / each.nanoseconds for each in timed])
    scales = 1 / np.maximum(terms.mean(axis=0), 1e-30)  # coefficients of about 1
    scaled = terms * scales
    everything = _fitted(scaled, np.zeros(_TERMS), _NUDGE)
    by_group: dict[str, list[int]] = {}
    for number, each in enumerate(timed):
        by_group.setdefault(each.group, []).append(number)
    groups = {
        name: tuple(map(float, _fitted(scaled[rows], everything, _TOWARDS_ALL) * scales))
        for name, rows in sorted(by_group.items())
    }
    return FittedCosts(groups, tuple(map(float, everything * scales)))


def share_near(costs: FittedCosts, samples: Iterable[Sample]) -> float:
    """Return which share of measured launches takes about as long as expected."""
    ratios = [costs.of(each) / each.nanoseconds for each in samples if each.nanoseconds > 0]
    near = [1 / NEAR <= ratio <= NEAR for ratio in ratios]
    return sum(near) / len(near) if near else 0.0


def _fitted(terms: Vector, prior: Vector, pull: float) -> Vector:
    """Return coefficients c >= 0 for which `terms @ c` is about 1, by coordinate descent."""
    found, weights = prior.copy(), np.ones(len(terms))
    for _ in range(_ROUNDS):
        gram = terms.T @ (weights[:, None] * terms)
        aim = terms.T @ weights
        for _ in range(_SWEEPS):
            for each in range(_TERMS):
                rest = aim[each] - gram[each] @ found + gram[each, each] * found[each]
                divisor = gram[each, each] + pull
                found[each] = max((rest + pull * prior[each]) / divisor, 0.0)
        weights = 1 / np.maximum(np.abs(1 - terms @ found), _FLOOR)
    return found


def _coefficients(entries: Any) -> tuple[float, ...]:
    found = tuple(float(each) for each in entries)
    if len(found) != _TERMS or not all(0 <= each < float("inf") for each in found):
        raise ValueError(f"{entries} are no coefficients")
    return found
