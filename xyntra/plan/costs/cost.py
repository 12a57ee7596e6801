# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stores predicted costs, and the reasons why kernels stayed apart, as plain data of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, get_args

Bound = Literal["memory", "compute", "launch"]


@dataclass(frozen=True)
class Cost:
    """The predicted cost of one launch.

    Attributes:
        bytes: bytes that it reads and writes.
        flops: floating-point operations.
        nanoseconds: time.
        bound: what the time goes into: moving bytes, computing, or the launch itself.

    Raises:
        ValueError: a number is negative or not finite, or `bound` is none of the three.
    """

    bytes: int
    flops: int
    nanoseconds: float
    bound: Bound

    def __post_init__(self) -> None:
        _check(self.bytes, self.flops, self.nanoseconds)
        if self.bound not in get_args(Bound):
            raise ValueError(f"bound is '{self.bound}', not one of {', '.join(get_args(Bound))}")


@dataclass(frozen=True)
class Boundary:
    """A tensor that one kernel writes and another reads, because they were not fused.

    Attributes:
        source: the node that produces the tensor.
        target: the node that reads it.
        reason: why the two are in different kernels, a code of
            `xyntra.passes.fusion.partition.reasons`.
        bytes: size of the tensor.
        nanoseconds: predicted time that writing and reading it costs.
        slower: where they were apart for no other reason, the nanoseconds that one kernel was
            predicted to take more than both; None for other reasons.

    Raises:
        ValueError: a number is negative or not finite, or a text is none.
    """

    source: str
    target: str
    reason: str
    bytes: int
    nanoseconds: float
    slower: float | None = None

    def __post_init__(self) -> None:
        _check(self.bytes, self.nanoseconds, self.slower or 0.0)
        if not all(isinstance(text, str) for text in (self.source, self.target, self.reason)):
            raise ValueError("the nodes and the reason of a boundary are texts")


@dataclass(frozen=True)
class Unfused:
    """The predicted cost of the model with one kernel an operation.

    Attributes:
        kernels: launches of a call.
        bytes: bytes that a call reads and writes.
        nanoseconds: predicted time of a call.

    Raises:
        ValueError: a number is negative or not finite.
    """

    kernels: int
    bytes: int
    nanoseconds: float

    def __post_init__(self) -> None:
        _check(self.kernels, self.bytes, self.nanoseconds)


def _check(*numbers: float) -> None:
    for number in numbers:
        if not isfinite(number) or number < 0:
            raise ValueError(f"{number} is no count and no time")


def cost_from_json(entry: Mapping[str, Any] | None) -> Cost | None:
    """The cost that `asdict` described; TypeError or ValueError if it is none."""
    return None if entry is None else Cost(**entry)


def boundaries_from_json(
    entries: Sequence[Mapping[str, Any]] | None,
) -> tuple[Boundary, ...] | None:
    """The boundaries that `asdict` described; TypeError or ValueError if they are none."""
    return None if entries is None else tuple(Boundary(**entry) for entry in entries)


def unfused_from_json(entry: Mapping[str, Any] | None) -> Unfused | None:
    """The totals that `asdict` described; TypeError or ValueError if they are none."""
    return None if entry is None else Unfused(**entry)
