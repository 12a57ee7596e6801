# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts the weights and constants of a model into files that a browser fetches one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.plan.plan import Plan
from xyntra.plan.storage.stored import contents
from xyntra.targets.webgpu.bound_plan import BoundPlan, whole_words

__all__ = ["CHUNK_BYTES", "WeightSpan", "chunks", "named", "parts"]

CHUNK_BYTES = 4 << 20
"""Of a file, but for the last one: it is held in memory until its hash is known."""


@dataclass(frozen=True)
class WeightSpan:
    """Where the bytes of a buffer of the GPU lie in all chunks, one after the other.

    Attributes:
        buffer: its number.
        offset: of its first byte.
        nbytes: whole words.
    """

    buffer: int
    offset: int
    nbytes: int


def parts(bound: BoundPlan) -> list[WeightSpan]:
    """Return where the contents of every buffer that has some when it is loaded lie."""
    found, offset = [], 0
    for number, buffer in enumerate(bound.buffers):
        if buffer.source is not None:
            found.append(WeightSpan(number, offset, buffer.nbytes))
            offset += buffer.nbytes
    return found


def chunks(plan: Plan, bound: BoundPlan, weights: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks in order.

    Raises:
        CompileError: a weight is missing, or has another size.
    """
    return _cut(_contents(plan, bound, weights))


def named(folder: str, data: bytes, suffix: str) -> tuple[str, str]:
    """Return the name of a file, which changes with what it holds, and its SHA-256."""
    digest = hashlib.sha256(data).hexdigest()
    return f"{folder}{digest[:16]}{suffix}", digest


def _contents(plan: Plan, bound: BoundPlan, weights: Mapping[str, Any]) -> Iterator[memoryview]:
    for buffer in bound.buffers:
        if buffer.source is None:
            continue
        array = contents(plan.buffers[buffer.source], weights)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        yield flat.data
        yield memoryview(bytes(whole_words(flat.nbytes) - flat.nbytes))


def _cut(pieces: Iterable[memoryview]) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        start = 0
        while start < len(piece):
            taken = piece[start : start + CHUNK_BYTES - len(held)]
            held += taken
            start += len(taken)
            if len(held) == CHUNK_BYTES:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)
