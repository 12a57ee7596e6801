# SPDX-License-Identifier: MIT OR Apache-2.0
"""Terms of a pattern in the form in which they are matched.

Products and quotients become one `ProductForm` with a coefficient and exponents, sums and
differences one `Sum`: the order and the association of their parts no longer matter, nor whether a
constant multiplies or divides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from xyntra.passes.recognize.matching.terms import Term

__all__ = [
    "PRODUCTS",
    "ROOTS",
    "SUMS",
    "Apply",
    "ConstantForm",
    "Form",
    "Matmul",
    "ProductForm",
    "Reduce",
    "Sum",
    "Transpose",
    "VariableForm",
    "form_of",
    "inputs_of",
    "negated",
    "under_root",
]


class _Form:
    """A form of a pattern."""

    @cached_property
    def heads(self) -> frozenset[str] | None:
        """Opcodes that the root may have; None for any, or where it is no operation."""
        return _heads(self)


@dataclass(frozen=True)
class VariableForm(_Form):
    """Any tensor; the same one wherever the name occurs."""

    name: str


@dataclass(frozen=True)
class ConstantForm(_Form):
    """One number."""

    value: float


@dataclass(frozen=True)
class ProductForm(_Form):
    """coefficient * (numbers and factors) ** exponents, divided by the sizes of `counts`."""

    coefficient: float = 1.0
    factors: tuple[tuple[Form, float], ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()
    counts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum(_Form):
    """constant + numbers and terms, each with its sign."""

    constant: float = 0.0
    terms: tuple[tuple[Form, int], ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Apply(_Form):
    """Any other operation; `attributes` are those of a named op, as (name, wanted)."""

    opcode: str
    operands: tuple[Form, ...]
    attributes: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Reduce(_Form):
    """A reduction along the dimensions that the axis stands for."""

    opcode: str
    operand: Form
    axis: str


@dataclass(frozen=True)
class Matmul(_Form):
    """A product of matrices."""

    left: Form
    right: Form


@dataclass(frozen=True)
class Transpose(_Form):
    """A permutation of dimensions; None swaps the last two."""

    operand: Form
    permutation: tuple[int, ...] | None


Form = VariableForm | ConstantForm | ProductForm | Sum | Apply | Reduce | Matmul | Transpose

ROOTS = frozenset({"sqrt", "rsqrt"})
"""Square roots, which are factors with an exponent."""

SUMS = frozenset({"add", "sub", "neg"})
PRODUCTS = frozenset({"mul", "div", "neg", "pow"})
_MIRRORED = {"lt": "gt", "le": "ge"}
_MULTIPLICATIVE = frozenset(
    {"mul", "div", "neg", "ipow", "sqrt", "rsqrt", "inverse_count", "number"}
)


def form_of(term: Term) -> Form:
    """The form of a term."""
    operation = term.operation
    if operation in _MULTIPLICATIVE:
        return _simplest(_product(term))
    if operation in ("add", "sub"):
        return _sum(term)
    if operation == "variable":
        return VariableForm(term.data)
    if operation == "constant":
        return ConstantForm(term.data)
    operands = tuple(map(form_of, (each for each in term.operands if each.operation != "axis")))
    if operation.startswith("reduce_"):
        return Reduce(operation, operands[0], term.operands[1].data)
    if operation == "matmul":
        return Matmul(*operands)
    if operation == "transpose":
        return Transpose(operands[0], term.data)
    return Apply(operation, operands, tuple((term.data or {}).items()))


def negated(form: Form) -> Form:
    """The form of `-form`."""
    if isinstance(form, ProductForm):
        return _simplest(replace(form, coefficient=-form.coefficient))
    if isinstance(form, ConstantForm):
        return ConstantForm(-form.value)
    return ProductForm(-1.0, ((form, 1.0),))


def inputs_of(form: Form) -> tuple[Form, ...]:
    """The forms that a form reads."""
    if isinstance(form, ProductForm | Sum):
        parts = form.factors if isinstance(form, ProductForm) else form.terms
        return tuple(inner for inner, _ in parts)
    if isinstance(form, Apply):
        return form.operands
    if isinstance(form, Reduce | Transpose):
        return (form.operand,)
    return (form.left, form.right) if isinstance(form, Matmul) else ()


def under_root(form: Form) -> Form | None:
    """Return what a product needs the square root of."""
    if not isinstance(form, ProductForm):
        return None
    return next((inner for inner, power in form.factors if power in (0.5, -0.5)), None)


def _heads(form: _Form) -> frozenset[str] | None:
    if isinstance(form, ProductForm):
        return PRODUCTS if under_root(form) is None else PRODUCTS | ROOTS
    if isinstance(form, Sum):
        return SUMS
    if isinstance(form, Apply):
        return frozenset({form.opcode, _MIRRORED.get(form.opcode, form.opcode)})
    if isinstance(form, Reduce):
        return frozenset({form.opcode})
    return frozenset({"reduce_sum"}) if isinstance(form, Matmul) else None


def _simplest(product: ProductForm) -> Form:
    if product.numbers or product.counts:
        return product
    if not product.factors:
        return ConstantForm(product.coefficient)
    if product.coefficient == 1 and len(product.factors) == 1 and product.factors[0][1] == 1:
        return product.factors[0][0]
    return product


def _product(term: Term) -> ProductForm:
    operation = term.operation
    if operation == "constant":
        return ProductForm(term.data)
    if operation == "number":
        return ProductForm(numbers=((term.data, 1),))
    if operation == "inverse_count":
        return ProductForm(counts=(term.operands[0].data,))
    if operation in ("sqrt", "rsqrt"):
        exponent = 0.5 if operation == "sqrt" else -0.5
        return ProductForm(factors=((form_of(term.operands[0]), exponent),))
    if operation == "neg":
        product = _product(term.operands[0])
        return replace(product, coefficient=-product.coefficient)
    if operation == "ipow":
        return _raised(_product(term.operands[0]), term.data)
    if operation == "mul":
        return _multiplied(_product(term.operands[0]), _product(term.operands[1]))
    if operation == "div":
        return _multiplied(_product(term.operands[0]), _raised(_product(term.operands[1]), -1))
    return ProductForm(factors=((form_of(term), 1.0),))


def _multiplied(left: ProductForm, right: ProductForm) -> ProductForm:
    return ProductForm(
        left.coefficient * right.coefficient,
        _merged([*left.factors, *right.factors]),
        left.numbers + right.numbers,
        left.counts + right.counts,
    )


def _raised(product: ProductForm, exponent: int) -> ProductForm:
    if product.counts and exponent != 1:
        raise ValueError("a mean cannot divide or be raised to a power")
    if product.numbers and abs(exponent) != 1:
        raise ValueError("a Number cannot be raised to a power")
    factors = tuple((form, power * exponent) for form, power in product.factors)
    numbers = tuple((name, power * exponent) for name, power in product.numbers)
    return ProductForm(product.coefficient**exponent, factors, numbers, product.counts)


def _merged(factors: Iterable[tuple[Form, float]]) -> tuple[tuple[Form, float], ...]:
    powers: list[tuple[Form, float]] = []
    for form, power in factors:
        for index, (known, sum_) in enumerate(powers):
            if known == form:
                powers[index] = known, sum_ + power
                break
        else:
            powers.append((form, power))
    return tuple((form, power) for form, power in powers if power)


def _sum(term: Term) -> Sum:
    """The sum that an `add` or `sub` is, with the sums that it adds in it."""
    constant = 0.0
    terms: list[tuple[Form, int]] = []
    numbers: list[tuple[str, int]] = []
    signs = (1, -1 if term.operation == "sub" else 1)
    for operand, sign in zip(term.operands, signs, strict=True):
        if operand.operation == "constant":
            constant += sign * operand.data
        elif operand.operation == "number":
            numbers.append((operand.data, sign))
        elif operand.operation in ("add", "sub"):
            inner = _sum(operand)
            constant += sign * inner.constant
            numbers += [(name, sign * each) for name, each in inner.numbers]
            terms += [(form, sign * each) for form, each in inner.terms]
        else:
            terms.append(_signed(form_of(operand), sign))
    return Sum(constant, tuple(terms), tuple(numbers))


def _signed(form: Form, sign: int) -> tuple[Form, int]:
    if isinstance(form, ProductForm) and form.coefficient < 0:
        return negated(form), -sign
    return form, sign
