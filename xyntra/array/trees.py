# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes nested tuples, lists and dictionaries apart into leaves, and puts them together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["flatten", "map_tree", "structure", "unflatten"]

_BRANCHES = (tuple, list, dict)


def flatten(tree: Any) -> list[Any]:
    """Return the leaves of nested tuples, lists and dictionaries, in order; None holds none."""
    found: list[Any] = []
    _collect(tree, found)
    return found


def _collect(tree: Any, found: list[Any]) -> None:
    if isinstance(tree, dict):
        for each in tree.values():
            if isinstance(each, _BRANCHES):
                _collect(each, found)
            elif each is not None:
                found.append(each)
    elif isinstance(tree, tuple | list):
        for each in tree:
            if isinstance(each, _BRANCHES):
                _collect(each, found)
            elif each is not None:
                found.append(each)
    elif tree is not None:
        found.append(tree)


def structure(tree: Any) -> Any:
    """Return what two trees of one form have in common, as a key."""
    if isinstance(tree, dict):
        return (dict, tuple(tree), *[_form(each) for each in tree.values()])
    if isinstance(tree, tuple | list):
        return (type(tree), *[_form(each) for each in tree])
    return tree is None


def _form(tree: Any) -> Any:
    return structure(tree) if isinstance(tree, _BRANCHES) else tree is None


def unflatten(tree: Any, leaves: Sequence[Any]) -> Any:
    """Return a tree of the form of another, with other leaves."""
    return _filled(tree, iter(leaves))


def _filled(tree: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_filled(each, leaves) for each in tree])
    if isinstance(tree, tuple | list):
        return type(tree)([_filled(each, leaves) for each in tree])
    if isinstance(tree, dict):
        return {name: _filled(each, leaves) for name, each in tree.items()}
    return None if tree is None else next(leaves)


def map_tree(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a tree whose leaves a function makes of those of trees of one form."""
    rows = [flatten(each) for each in (tree, *others)]
    return unflatten(tree, [function(*leaves) for leaves in zip(*rows, strict=True)])
