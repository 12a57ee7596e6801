# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns functions of arrays into functions that return their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xyntra.array.arrays import Array, as_node, node_of, wrap
from xyntra.array.autograd.registry import zeros_of
from xyntra.array.autograd.reverse import gradients, pin
from xyntra.array.recorded.graph import LazyNode, RecordState
from xyntra.array.recorded.places import user_place
from xyntra.array.trees import flatten, unflatten
from xyntra.errors import InputError

__all__ = ["grad", "jvp", "stop_gradient", "value_and_grad", "vjp"]


def stop_gradient(x: Any, /) -> Array:
    """Return the array as one that gradients do not go through."""
    node = as_node(x)
    return wrap(LazyNode("stop", (node,), (), node.meta))


def _marked(leaves: Sequence[Any]) -> tuple[list[Any], list[LazyNode]]:
    """Return arguments as arrays of their own, and the nodes that gradients are taken of."""
    arrays, nodes = [], []
    for each in leaves:
        node = as_node(each)
        if node.meta.dtype.kind != "f":
            raise InputError(
                "array-gradient",
                f"gradients are of floats, not of {node.meta.dtype.name}",
                place=user_place(),
                hint="x.astype(xa.float32), or leave the argument out of argnums",
            )
        own = LazyNode("identity", (node,), (), node.meta)
        arrays.append(wrap(own))
        nodes.append(own)
    return arrays, nodes


def _recorded(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a function records; nodes that it computes keep what they were made of."""
    RecordState.keep += 1
    try:
        return function(*arguments, **named)
    finally:
        RecordState.keep -= 1


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that returns what `function` does, and its gradients.

    Args:
        function: returns an array of one element; with `has_aux` a pair of it and anything else.
        argnums: the arguments to differentiate by, each an array, or arrays in tuples, lists and
            dictionaries; the gradients have the same form.
        has_aux: whether `function` returns a pair.
    """
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @wraps(function)
    def found(*arguments: Any, **named: Any) -> Any:
        chosen = [arguments[place] for place in places]
        arrays, nodes = _marked(flatten(chosen))
        given = list(arguments)
        for place, tree in zip(places, unflatten(chosen, arrays), strict=True):
            given[place] = tree
        result = _recorded(function, *given, **named)
        value = result[0] if has_aux else result
        if not isinstance(value, Array) or value.size != 1 or value.dtype.kind != "f":
            shape = list(value.shape) if isinstance(value, Array) else type(value).__name__
            raise InputError(
                "array-gradient",
                f"gradients are of a function that returns one float, not {shape}",
                place=user_place(),
                hint="sum it: x.sum(), or use xa.vjp",
            )
        upstream = zeros_of(value) + 1.0
        own = [
            zeros_of(array) if g is None else g
            for g, array in zip(gradients([value], [upstream], nodes), arrays, strict=True)
        ]
        slopes = unflatten(chosen, own)
        return result, slopes[0] if isinstance(argnums, int) else tuple(slopes)

    return found


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that returns the gradients of `function`; see `value_and_grad`.

    With `has_aux` it returns a pair of the gradients and what `function` returns beside its value.
    """
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @wraps(function)
    def found(*arguments: Any, **named: Any) -> Any:
        result, slopes = both(*arguments, **named)
        return (slopes, result[1]) if has_aux else slopes

    return found


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return what a function returns, and one that takes the gradients of that to its arguments.

    Args:
        function: takes arrays, or arrays in tuples, lists and dictionaries, and returns such.
        primals: its arguments.
    """
    arrays, nodes = _marked(flatten(primals))
    result = _recorded(function, *unflatten(primals, arrays))
    outputs = flatten(result)
    pin(outputs, nodes)

    def pull(cotangents: Any) -> Any:
        upstream = [wrap(as_node(each)) for each in flatten(cotangents)]
        shapes = [each.shape for each in outputs]
        if [each.shape for each in upstream] != shapes:
            raise InputError(
                "array-gradient",
                f"gradients of the shapes {[list(each.shape) for each in upstream]} for results"
                f" of {[list(each) for each in shapes]}",
                place=user_place(),
            )
        found = [
            zeros_of(array) if g is None else g
            for g, array in zip(gradients(outputs, upstream, nodes), arrays, strict=True)
        ]
        return unflatten(primals, found)

    return result, pull


def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Return what a function returns, and how that changes with its arguments along tangents.

    It is the gradient of the gradient by what is given to it, in which that is linear: nothing of
    it but the change itself is computed.
    """
    arrays, nodes = _marked(flatten(tuple(primals)))
    result = _recorded(function, *unflatten(tuple(primals), arrays))
    outputs = flatten(result)
    moved = [node_of(wrap(as_node(each))) for each in flatten(tuple(tangents))]
    if [each.meta.shape for each in moved] != [each.shape for each in arrays]:
        raise InputError(
            "array-gradient", "tangents have the shapes of the arguments", place=user_place()
        )
    probes = [
        LazyNode("identity", (node_of(zeros_of(each)),), (), each._node.meta) for each in outputs
    ]
    slopes = _recorded(gradients, outputs, [wrap(each) for each in probes], nodes)
    kept = [
        (slope, wrap(move)) for slope, move in zip(slopes, moved, strict=True) if slope is not None
    ]
    found = gradients([slope for slope, _ in kept], [move for _, move in kept], probes)
    changes = [
        zeros_of(each) if change is None else change
        for change, each in zip(found, outputs, strict=True)
    ]
    return result, unflatten(result, changes)
