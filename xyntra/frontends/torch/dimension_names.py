# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what `dynamic_shapes` calls the dimensions of a module's inputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

__all__ = ["dimension_names"]


def dimension_names(
    module: torch.nn.Module, exported: torch.export.ExportedProgram, shapes: Any
) -> dict[tuple[int, int], str]:
    """Return names by the number of the input and the axis; those of `Dim.AUTO` have none.

    Args:
        module: what was exported.
        exported: the program.
        shapes: as `torch.export.export` takes them: by name or in order, nested as the arguments
            are, for each tensor its dimensions by axis or in order.
    """
    parameters = list(inspect.signature(module.forward).parameters)
    named = shapes if isinstance(shapes, Mapping) else dict(zip(parameters, shapes, strict=False))
    spec = exported.call_spec.in_spec
    if spec is None:
        return {}
    arguments = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    leaves, _ = pytree.tree_flatten_with_path(arguments)
    found: dict[tuple[int, int], str] = {}
    for number, (path, _) in enumerate(leaves):
        kind, first, *rest = [_key(part) for part in path]
        name = parameters[min(first, len(parameters) - 1)] if kind == 0 else first
        dimensions = _at(named.get(name), rest)
        pairs = dimensions.items() if isinstance(dimensions, Mapping) else enumerate(dimensions)
        for axis, dimension in pairs:
            if isinstance(dimension, type(torch.export.Dim("n"))):
                found[number, axis] = dimension.__name__
    return found


def _at(shapes: Any, path: Sequence[Any]) -> Any:
    """Return the dimensions of the tensor that a path leads to; none where nothing is said."""
    for key in path:
        is_known = key in shapes if isinstance(shapes, Mapping) else _has(shapes, key)
        if not is_known:
            return ()
        shapes = shapes[key]
    return shapes if isinstance(shapes, (Mapping, Sequence)) else ()


def _has(shapes: Any, key: Any) -> bool:
    return isinstance(shapes, Sequence) and isinstance(key, int) and key < len(shapes)


def _key(part: Any) -> Any:
    return next(getattr(part, at) for at in ("key", "name", "idx") if hasattr(part, at))
