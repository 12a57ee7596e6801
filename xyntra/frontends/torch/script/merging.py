# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses between the values of two branches where the values of tensors decide which is taken."""

from __future__ import annotations

from typing import Any

import torch

from xyntra.frontends.torch.script.aliases import Aliases
from xyntra.frontends.torch.script.places import data_dependent
from xyntra.frontends.torch.script.values import UNINITIALIZED, Instance, Unknown, as_tensor

__all__ = ["Journal", "merge_changes", "merged", "restore"]

_NUMBERS = (bool, int, float)


def merged(condition: torch.Tensor, taken: Any, other: Any, aliases: Aliases) -> Any:
    """Return `taken` where a boolean of rank 0 is true, else `other`.

    Args:
        condition: the boolean.
        taken: a value of a graph.
        other: another.
        aliases: takes note of tensors that are chosen.

    Raises:
        UnsupportedError: their types or shapes differ, so that no one value can be both.
    """
    if taken is other or other is UNINITIALIZED:
        return taken
    if taken is UNINITIALIZED:
        return other
    if isinstance(taken, torch.Tensor) and isinstance(other, torch.Tensor):
        return _merged_tensors(condition, taken, other, aliases)
    kinds = [each.kind if isinstance(each, Unknown) else type(each) for each in (taken, other)]
    if kinds[0] is kinds[1] and kinds[0] in _NUMBERS:
        if not isinstance(taken, Unknown) and not isinstance(other, Unknown) and taken == other:
            return taken
        chosen = torch.where(condition, as_tensor(taken), as_tensor(other))
        return Unknown(chosen, kinds[0])
    if kinds[0] is kinds[1] and isinstance(taken, (list, tuple)) and len(taken) == len(other):
        pairs = zip(taken, other, strict=True)
        return kinds[0](merged(condition, a, b, aliases) for a, b in pairs)
    if isinstance(taken, dict) and isinstance(other, dict) and list(taken) == list(other):
        return {key: merged(condition, taken[key], other[key], aliases) for key in taken}
    if kinds[0] is kinds[1] and kinds[0] in (str, torch.device) and taken == other:
        return taken
    raise data_dependent(f"two branches give {_shown(taken)} and {_shown(other)}")


def _merged_tensors(
    condition: torch.Tensor, taken: torch.Tensor, other: torch.Tensor, aliases: Aliases
) -> torch.Tensor:
    if taken.shape != other.shape or taken.dtype != other.dtype:
        raise data_dependent(
            f"two branches give {_shown(taken)} and {_shown(other)}",
            "give both branches results of one shape and dtype",
        )
    return aliases.choose(condition, taken, other)


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {value.dtype} {list(value.shape)}".replace("torch.", "")
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {value.kind.__name__}" if isinstance(value, Unknown) else repr(value)[:40]


class Journal:
    """What lists, dictionaries and objects held before a branch has changed them."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Any, Any]] = {}

    def record(self, container: Any) -> None:
        """Keep the content of a container that is about to be changed."""
        if id(container) not in self._before:
            self._before[id(container)] = (container, _content(container))

    def undo(self) -> dict[int, tuple[Any, Any]]:
        """Give all containers their old content; return each by identity, with its new one."""
        changed = {}
        for key, (container, before) in self._before.items():
            changed[key] = (container, _content(container))
            restore(container, before)
        return changed


def restore(container: Any, content: Any) -> None:
    """Give a container other content."""
    held = container.attributes if isinstance(container, Instance) else container
    held.clear()
    if isinstance(held, dict):
        held.update(content)
    else:
        held.extend(content)


def merge_changes(
    condition: torch.Tensor,
    taken: dict[int, tuple[Any, Any]],
    other: dict[int, tuple[Any, Any]],
    aliases: Aliases,
) -> list[tuple[Any, Any]]:
    """Return the containers that one of two branches has changed, with their merged content."""
    found = []
    for key in {**taken, **other}:
        container = (taken.get(key) or other[key])[0]
        now = _content(container)
        first, second = (side.get(key, (container, now))[1] for side in (taken, other))
        found.append((container, merged(condition, first, second, aliases)))
    return found


def _content(container: Any) -> Any:
    held = container.attributes if isinstance(container, Instance) else container
    return dict(held) if isinstance(held, dict) else list(held)
