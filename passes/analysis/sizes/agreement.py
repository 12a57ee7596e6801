# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the sizes in a kernel: numbers that differ between samples, and the expressions of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xyntra.dialects.attributes.schedule import SCHEDULE
from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import Expr
from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.fit import Fitter
from xyntra.passes.analysis.sizes.session import not_free

__all__ = ["OPERATIONS_DIFFER", "Agreement", "agree", "operations_of"]

_NUMBER = re.compile(r"(?<![a-wyzA-Z0-9_.])(\d{1,18})(?!\d)")
"""Longer runs of digits are the bytes of a constant."""
_UNREAD = frozenset({SCHEDULE, "sym_name"})
_CONSTANT = "arith.constant"
_Unfitted = tuple[str, list[int]]
"""What an operation is called, and a number of it at each sample."""
OPERATIONS_DIFFER = "operations-differ"
_SHOWN = 60
_ROUNDING = {32: 2.0**-22, 64: 2.0**-51}
"""Of constants that were computed in two steps, by the bits of the type."""


@dataclass
class Agreement:
    """The sizes that kernels of several samples have in common.

    Attributes:
        numbers: for the first samples, the expressions of the numbers in types and attributes
            that are sizes.
        constants: the constants that are sizes, each by the number of its operation in a walk, with
            the expression that its value has and None, or for floats the expression that a number
            is divided by, and this number.
        fixed: the numbers that are no sizes.
    """

    numbers: list[dict[int, Expr]]
    constants: dict[int, tuple[Expr, float | None]] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)


def agree(
    modules: Sequence[ir.Operation], samples: Sequence[Mapping[str, int]], told: int = 2
) -> Agreement:
    """Compare the kernels, or the models, of several samples.

    Args:
        modules: what is compared.
        samples: the sizes of each.
        told: at how many of them, the first ones, numbers are to be read as sizes.

    Raises:
        CompileError: `operations-differ`, they have other operations; `kernel-not-free`, they
            have numbers that are no values of an expression, or a number is a size here and
            something else there.
    """
    fitter = Fitter(samples)
    found = Agreement([{} for _ in range(told)])
    fixed = found.fixed
    later: list[_Unfitted] = []
    walks = [operations_of(module) for module in modules]
    if len({len(walk) for walk in walks}) != 1:
        raise _other_operations("its operations depend on the sizes")
    for number, ops in enumerate(zip(*walks, strict=True)):
        later += _compare(number, ops, fitter, found, fixed)
    for name, values in later:  # products of sizes that have been found meanwhile
        _note(name, values, fitter.fit(values), found)
    for numbers in found.numbers:
        if both := fixed & set(numbers):
            raise not_free(f"{min(both)} is a size at one place and a number at another")
    return found


def _other_operations(message: str) -> CompileError:
    return CompileError(OPERATIONS_DIFFER, message)


def operations_of(module: ir.Operation) -> list[ir.Operation]:
    """Return all operations below `module`, in the order of a walk."""
    found: list[ir.Operation] = []

    def add(op: ir.Operation) -> ir.WalkResult:
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.walk(add, ir.WalkOrder.PRE_ORDER)
    return found


def _compare(
    number: int,
    ops: Sequence[ir.Operation],
    fitter: Fitter,
    found: Agreement,
    fixed: set[int],
) -> list[_Unfitted]:
    """Note the sizes of an operation; returns numbers that nothing is found for yet."""
    name = ops[0].name
    if any(op.name != name for op in ops):
        names = " or ".join(dict.fromkeys(op.name for op in ops))
        raise _other_operations(f"what is one operation is {names}")
    if name == _CONSTANT and not isinstance(ops[0].result.type, ir.ShapedType):
        values = [str(op.attributes["value"]) for op in ops]
        if len(set(values)) > 1:
            found.constants[number] = _constant(ops, fitter)
        return []
    later: list[_Unfitted] = []
    for texts in zip(*map(_texts, ops), strict=False):
        later += _agree_texts(texts, fitter, found, fixed, name)
    return later


def _texts(op: ir.Operation) -> Iterator[str]:
    """Yield what the operation says that numbers may stand in."""
    yield " ".join(str(result.type) for result in op.results)
    yield " ".join(
        str(argument.type)
        for region in op.regions
        for block in region.blocks
        for argument in block.arguments
    )
    for each in sorted(op.attributes, key=str):
        name = each if isinstance(each, str) else each.name
        yield name if name in _UNREAD else f"{name} {op.attributes[name]}"


def _agree_texts(
    texts: Sequence[str],
    fitter: Fitter,
    found: Agreement,
    fixed: set[int],
    name: str,
) -> list[_Unfitted]:
    pieces = [_NUMBER.split(text) for text in texts]
    if len({tuple(each[::2]) for each in pieces}) != 1:
        other = next(
            text for text, each in zip(texts, pieces, strict=True) if each[::2] != pieces[0][::2]
        )
        raise _other_operations(f"{name} differs: {_difference(texts[0], other)}")
    later: list[_Unfitted] = []
    for words in zip(*(each[1::2] for each in pieces), strict=True):
        values = [int(word) for word in words]
        if len(set(values)) == 1:
            fixed.add(values[0])
            continue
        expression = fitter.fit(values)
        if expression is None:
            later.append((name, values))
        else:
            _note(name, values, expression, found)
    return later


def _note(name: str, values: Sequence[int], expression: Expr | None, found: Agreement) -> None:
    if expression is None:
        raise not_free(f"{name} has {_listed(values)}, which is no simple expression of sizes")
    for numbers, value in zip(found.numbers, values, strict=False):
        if numbers.setdefault(value, expression) != expression:
            raise not_free(f"{value} is both {expression} and {numbers[value]}")


def _difference(one: str, other: str) -> str:
    """Return where two texts begin to differ."""
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    first = max(0, same - _SHOWN // 2)
    return f"…{one[first : first + _SHOWN]} and …{other[first : first + _SHOWN]}"


def _constant(ops: Sequence[ir.Operation], fitter: Fitter) -> tuple[Expr, float | None]:
    """Return the expression of a constant and None, or of what divides a number, and this one."""
    kind = ops[0].result.type
    values = [op.attributes["value"] for op in ops]
    if isinstance(kind, ir.IndexType | ir.IntegerType):
        expression = fitter.fit([ir.IntegerAttr(each).value for each in values])
        if expression is not None:
            return expression, None
    if isinstance(kind, ir.F32Type | ir.F64Type):
        numbers = [ir.FloatAttr(each).value for each in values]
        if all(each == int(each) for each in numbers):
            expression = fitter.fit([int(each) for each in numbers])
            if expression is not None:
                return expression, None
        inverses = [round(1 / each) for each in numbers if each]
        precise = [_rounded(1 / each, kind) for each in inverses if each]
        expression = fitter.fit(inverses) if precise == numbers else None
        if expression is not None:
            return expression, 1.0
        found = fitter.fit_quotients(numbers, _ROUNDING[kind.width])
        if found is not None:
            return found[0], _rounded(found[1], kind)
    shown = _listed([str(each)[:_SHOWN] for each in values])
    raise not_free(f"a constant is {shown}, which is no simple expression of sizes")


def _rounded(value: float, kind: ir.Type) -> float:
    return float(ir.FloatAttr.get(kind, value, loc=ir.Location.unknown(kind.context)).value)


def _listed(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))
