# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds candidate roots of a pattern, by way of its rarest operation.

Sums and products are everywhere, so trying every pattern at every operation that could be its root
would look into most of a graph. Each spelling instead names an operation that it cannot do without
and that programs have few of; only where one occurs, and what is around it fits, is the graph
climbed from it to the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from xyntra.passes.recognize.matching.forms import (
    ROOTS,
    ConstantForm,
    Form,
    Matmul,
    ProductForm,
    Sum,
    Transpose,
    VariableForm,
    inputs_of,
    under_root,
)

__all__ = ["Anchor", "FormStage", "anchor_of"]

_COMMON = ("abs", "cast", "maximum", "minimum", "reduce_max", "reduce_sum", "mul", "add")
"""Operations that programs have many of, the most frequent last."""


_NO_OPERATION = (VariableForm, ConstantForm, Transpose)


@dataclass(frozen=True)
class FormStage:
    """Operations that one form consists of.

    `chain` tells whether there can be several in a row; `joins` is how many of them there can be
    that join two tensors.
    """

    opcodes: frozenset[str]
    chain: bool
    joins: int


@dataclass(frozen=True)
class Anchor:
    """The operation at which a spelling is looked for.

    Attributes:
        opcodes: what the operation is.
        inner: the form of which the operation is the root, or, for a square root, its operand's.
        below: whether `inner` is the operand's.
        alone: whether a square root is all that its form consists of.
        stages: what leads from the operation to the root of the spelling.
    """

    opcodes: frozenset[str]
    inner: Form
    below: bool
    alone: bool
    stages: tuple[FormStage, ...]


def anchor_of(form: Form) -> Anchor:
    """The rarest operation of a form, and the shortest way from it.

    Raises:
        ValueError: the form has no operation.
    """
    paths = [path for path in _paths((form,)) if not isinstance(path[-1], _NO_OPERATION)]
    if not paths:
        raise ValueError("a pattern needs at least one operation")
    best = min(paths, key=lambda path: (_frequency(path[-1]), len(path)))
    stages = tuple(_stage(each) for each in reversed(best) if not isinstance(each, _NO_OPERATION))
    root = under_root(best[-1])
    if root is not None:
        return Anchor(ROOTS, root, True, len(inputs_of(best[-1])) == 1, stages)
    return Anchor(stages[0].opcodes, best[-1], False, False, stages)


def _stage(form: Form) -> FormStage:
    if not isinstance(form, ProductForm | Sum):
        return FormStage(form.heads or frozenset(), False, 1)
    parts = form.factors if isinstance(form, ProductForm) else form.terms
    joins = sum(ceil(abs(power)) for _, power in parts) - 1
    return FormStage(form.heads or frozenset(), True, joins)


def _paths(path: tuple[Form, ...]) -> Iterator[tuple[Form, ...]]:
    yield path
    for inner in inputs_of(path[-1]):
        yield from _paths((*path, inner))


def _frequency(form: Form) -> int:
    """A rank: how many operations like the root of `form` are to be expected."""
    if isinstance(form, VariableForm | ConstantForm | Transpose):
        return len(_COMMON) + 1
    if isinstance(form, ProductForm):
        name = "mul" if under_root(form) is None else ""
    elif isinstance(form, Matmul):
        name = "reduce_sum"
    else:
        name = "add" if isinstance(form, Sum) else form.opcode
    return _COMMON.index(name) + 1 if name in _COMMON else 0
