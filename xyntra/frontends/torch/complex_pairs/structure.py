# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for operators that move, repeat or add elements: each does the same to both parts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from xyntra.frontends.torch.complex_pairs.pair import PARTS, Pair, Rule, as_pair
from xyntra.frontends.torch.reducing.traces import TooHardError

__all__ = ["STRUCTURE", "on_both_parts"]

_ON_BOTH = """
    alias cat clone constant_pad_nd contiguous copy cumsum detach diag_embed diagonal expand flip
    gather index index_add index_put index_select lift_fresh_copy mean neg permute repeat roll
    scatter scatter_add select select_backward select_scatter slice slice_backward slice_scatter
    split split_with_sizes squeeze stack sum t transpose tril triu unbind unfold unsqueeze where
    zeros_like new_zeros empty_like new_empty new_empty_strided
""".split()
"""Operators that are linear in the elements of their complex arguments."""


def on_both_parts(op: torch._ops.OpOverload) -> Rule:
    """Return the rule of an operator that computes each part of the result of the same part."""
    numbers = [a.name for a in op._schema.arguments if str(a.type) == "number"]
    names = [argument.name for argument in op._schema.arguments]

    def rule(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        for name in set(numbers) - {"alpha"} & given.keys():
            given[name] = complex(given[name])
        real, imaginary = (_of_part(given, place) for place in (0, 1))
        first, second = op(**real), op(**imaginary)
        if isinstance(first, Tensor):
            return Pair(first, second)
        return [Pair(re, im) for re, im in zip(first, second, strict=True)]

    return rule


def _of_part(arguments: dict[str, Any], place: int) -> dict[str, Any]:
    """Return arguments with one part for each complex one; real elements have no imaginary part."""

    def chosen(value: Any) -> Any:
        if isinstance(value, Pair):
            return value[place]
        if isinstance(value, complex):
            return (value.real, value.imag)[place]
        is_real = isinstance(value, Tensor) and value.is_floating_point()
        return torch.zeros_like(value) if is_real and place else value

    found: dict[str, Any] = pytree.tree_map(
        chosen, arguments, is_leaf=lambda each: isinstance(each, Pair)
    )
    return found


def _reshaped(op: torch._ops.OpOverload) -> Rule:
    """Return the rule of `view`: the parts may lie where the complex tensor would not."""

    def rule(x: Pair, size: Any) -> Any:
        if op._overloadname == "dtype":
            return _bits(x, size)
        return Pair(x.re.reshape(size), x.im.reshape(size))

    return rule


def _bits(x: Pair, dtype: torch.dtype) -> Any:
    """Return a complex tensor's memory, where it is read as real parts beside imaginary ones."""
    if dtype != x.re.dtype or x.re.dim() == 0:
        raise TooHardError
    return torch.stack(x, -1).flatten(-2)


def _filled(op: torch._ops.OpOverload) -> Rule:
    """Return the rule of what fills a tensor with a number."""

    def rule(like: Any, value: Any, **kwargs: Any) -> Any:
        shape_of = like.re if isinstance(like, Pair) else like
        re, im = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
        return Pair(op(shape_of, re, **kwargs), op(shape_of, im, **kwargs))

    return rule


def _number(op: torch._ops.OpOverload) -> Rule:
    return lambda value, **kwargs: Pair(op(value.real, **kwargs), op(value.imag, **kwargs))


def _ones(op: torch._ops.OpOverload) -> Rule:
    def rule(like: Pair, *args: Any, **kwargs: Any) -> Any:
        return as_pair(op(like.re, *args, **kwargs))

    return rule


def _cast(op: torch._ops.OpOverload) -> Rule:
    """Return the rule of a conversion, whose dtype is complex where the result is."""

    def rule(x: Any, *, dtype: torch.dtype | None = None, **kwargs: Any) -> Any:
        if not isinstance(x, Pair):
            return as_pair(op(x, dtype=PARTS[dtype], **kwargs))
        if dtype is None or dtype in PARTS:
            real = dtype and PARTS[dtype]
            return Pair(*(op(part, dtype=real, **kwargs) for part in x))
        if dtype == torch.bool:
            return (x.re != 0) | (x.im != 0)
        return op(x.re, dtype=dtype, **kwargs)

    return rule


def _stacked(_: torch._ops.OpOverload) -> Rule:
    return lambda x: torch.stack(x, -1)


def _unstacked(_: torch._ops.OpOverload) -> Rule:
    return lambda x: Pair(x.select(-1, 0), x.select(-1, 1))


def _made(_: torch._ops.OpOverload) -> Rule:
    return lambda re, im: Pair(re, im)


def _part(place: int) -> Any:
    return lambda _: lambda x: x[place]


STRUCTURE: dict[str, Any] = {
    **dict.fromkeys(_ON_BOTH, on_both_parts),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "view_copy"), _reshaped),
    **dict.fromkeys(("full", "full_like"), _filled),
    "scalar_tensor": _number,
    "ones_like": _ones,
    "_to_copy": _cast,
    "view_as_real": _stacked,
    "view_as_real_copy": _stacked,
    "view_as_complex": _unstacked,
    "view_as_complex_copy": _unstacked,
    "complex": _made,
    "real": _part(0),
    "imag": _part(1),
}
"""What makes a rule of an operator, by its name."""
