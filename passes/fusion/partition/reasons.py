# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the reasons why two operations stayed in separate kernels, as codes and as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

__all__ = ["CODES", "REASONS", "Reason"]

Reason = Literal[
    "two-anchors",
    "misaligned",
    "row-too-long",
    "window",
    "row-before-anchor",
    "factor-copied",
    "other-readers",
    "expensive-recompute",
    "once-at-load",
    "opaque",
    "cycle",
    "too-many-operations",
    "too-many-buffers",
    "not-faster",
    "norm-shared",
    "overwritten",
]

REASONS: Mapping[str, str] = {
    "two-anchors": "both kernels are built around a matrix product, convolution or attention",
    "misaligned": "the reader uses the tensor at other positions than those that it computes, so"
    " no part of it could be computed without the whole tensor",
    "row-too-long": "they share rows too long for one worker to keep",
    "window": "a convolution's or pooling's tile does not hold the row that the reader needs",
    "row-before-anchor": "a matrix product reads every row many times: computing the rows in it"
    " would repeat the reductions",
    "factor-copied": "the target copies what a matrix product or convolution reads, and computes"
    " nothing on the way",
    "other-readers": "the tensor has other readers, for which it has to be stored anyway, and a"
    " matrix product would gain nothing from computing it again",
    "expensive-recompute": "computing the tensor where it is read would repeat too much work",
    "once-at-load": "the tensor depends on weights alone and is computed once, at load",
    "opaque": "one of the operations has a kernel of its own, with nothing that could be merged",
    "cycle": "a third kernel needs the result of the first and feeds the second",
    "too-many-operations": "the kernel would hold more operations than the limit",
    "too-many-buffers": "the kernel would read and write more tensors than the target allows",
    "not-faster": "the cost model predicts no gain",
    "overwritten": "one of the operations writes over a tensor that another one reads",
    "norm-shared": "a norm of so few rows would mostly wait for its launch: the product before it"
    " gives statistics of its rows, and the product behind it normalises what it gives",
}

CODES: tuple[Reason, ...] = get_args(Reason)
