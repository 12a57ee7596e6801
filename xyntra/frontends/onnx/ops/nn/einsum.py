# SPDX-License-Identifier: MIT OR Apache-2.0
"""Einsum: sums of products of tensors, named by letters."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, digits, punctuation

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast

_BROADCAST = digits + punctuation
"""Stand for the dimensions of an ellipsis, the last dimension first."""


@handles("Einsum")
def einsum(node: Node) -> Tensor:
    operands = [node.tensor(i) for i in range(len(node.operands))]
    terms, out = _parse(node, str(node.required("equation")), operands)
    wide = accumulator_of(operands[0].dtype)
    b = node.b
    terms, operands = _take_diagonals(b, terms, operands)
    left, result = terms[0], operands[0]
    for position in range(1, len(terms)):
        needed = set(out).union(*terms[position + 1 :])
        right = terms[position]
        kept = "".join(c for c in dict.fromkeys(left + right) if c in needed)
        if position == len(terms) - 1:
            kept = out
        result = b.einsum(f"{left},{right}->{kept}", result, operands[position], wide)
        left = kept
    return cast(b, _sum_and_order(b, left, result, out, wide), operands[0].dtype)


def _parse(node: Node, equation: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, ellipses replaced by digits."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise node.invalid(f"'{equation}' is for {len(terms)} operands, there are {len(operands)}")
    expanded = [_expand(node, term, operand) for term, operand in zip(terms, operands, strict=True)]
    sizes: dict[str, int] = {}
    for term, operand in zip(expanded, operands, strict=True):
        for c, size in zip(term, operand.shape, strict=True):
            sizes[c] = broadcast_shapes((sizes.get(c, 1),), (size,))[0]
    dots = "".join(c for c in reversed(_BROADCAST) if c in sizes)
    if arrow:
        out = right.replace("...", dots)
    else:
        letters = "".join(expanded)
        out = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    if len(set(out)) != len(out) or not set(out) <= set(sizes):
        raise node.invalid(f"the result of '{equation}' names a dimension twice or none there is")
    return expanded, out


def _expand(node: Node, term: str, operand: Tensor) -> str:
    before, dots, after = term.partition("...")
    if set(before + after) - set(ascii_letters):
        raise node.invalid(f"'{term}' is not made of letters")
    count = operand.rank - len(before + after)
    if count < 0 or (count and not dots) or count > len(_BROADCAST):
        raise node.invalid(f"'{term}' does not name the dimensions of shape {operand.shape}")
    return before + _BROADCAST[:count][::-1] + after


def _take_diagonals(
    b: TensorBuilder, terms: Sequence[str], operands: Sequence[Tensor]
) -> tuple[list[str], list[Tensor]]:
    """Return the operands without letters that one of them repeats."""
    once, tensors = [], []
    for term, operand in zip(terms, operands, strict=True):
        letters = "".join(dict.fromkeys(term))
        once.append(letters)
        tensors.append(operand if letters == term else _diagonal(b, term, letters, operand))
    return once, tensors


def _diagonal(b: TensorBuilder, term: str, letters: str, operand: Tensor) -> Tensor:
    shape = [
        max(size for c, size in zip(term, operand.shape, strict=True) if c == letter)
        for letter in letters
    ]
    return b.view(operand, shape, lambda *d: [d[letters.index(c)] for c in term])


def _sum_and_order(b: TensorBuilder, left: str, x: Tensor, out: str, dtype: str) -> Tensor:
    """Sum over the letters that `out` lacks, and put the others in its order."""
    axes = [position for position, c in enumerate(left) if c not in out]
    if axes:
        x = b.reduce(x, axes, "sum", keepdims=False, accumulator=dtype)
        left = "".join(c for c in left if c in out)
    return b.transpose(x, [left.index(c) for c in out])
