# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds up time by stacks of nested spans, or of the parts of a model that kernels come from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan

__all__ = ["Stacks", "stacks_of_call", "stacks_of_spans"]

Stacks = Mapping[tuple[str, ...], int]
"""Nanoseconds by stack, the outermost frame first; time of frames within is not counted twice."""
_PARTS = re.compile(r"[/.]|::")
_DEEPEST = 64


def stacks_of_spans(spans: Sequence[Mapping[str, Any]], roles: Mapping[int, str]) -> Stacks:
    """Return the time of spans by what they are nested in.

    Args:
        spans: as `Recording.spans` returns them.
        roles: what each process is, the first frame of its stacks.
    """
    threads: dict[tuple[int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for each in spans:
        threads[each["process"], each["thread"]].append(each)
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for (process, _), own in threads.items():
        _add_thread(found, roles[process], own)
    return found


def _add_thread(
    found: dict[tuple[str, ...], int], role: str, spans: Sequence[Mapping[str, Any]]
) -> None:
    """Add the spans of one thread, which begin one after another and are nested."""
    open_spans: list[tuple[int, tuple[str, ...]]] = []
    for each in spans:
        while open_spans and open_spans[-1][0] <= each["start"]:
            open_spans.pop()
        outer = open_spans[-1][1] if open_spans else (role,)
        stack = (*outer, each["name"])
        taken = each["end"] - each["start"]
        found[stack] += taken
        if open_spans:
            found[outer] -= taken
        open_spans.append((each["end"], stack))


def stacks_of_call(plan: Plan, nanoseconds: Sequence[int]) -> Stacks:
    """Return the time of kernels by the part of the model that their operations share.

    A kernel of `layers/3/attention/query` and `layers/3/attention/key` is in the frames `layers`,
    `3` and `attention`; its own frame, the last one, names its kind and its operations.

    Args:
        plan: what was run.
        nanoseconds: time of each kernel of a call.
    """
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for kernel, taken in zip(kernels_of(plan), nanoseconds, strict=True):
        paths = [_PARTS.split(name.strip("/")) for name in kernel.fused]
        shared = _shared(paths)[:_DEEPEST]
        rest = ", ".join("/".join(path[len(shared) :]) for path in paths[:4])
        found[(*shared, f"{kernel.kind}: {rest}" if rest else kernel.name)] += taken
    return found


def _shared(paths: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the longest common beginning of paths, which leaves each its last part."""
    if not paths:
        return ()
    found = []
    for parts in zip(*(path[:-1] for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        found.append(parts[0])
    return tuple(found)
