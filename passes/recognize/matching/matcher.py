# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matches the forms of a pattern against expressions.

A matcher is a generator of the states in which the match holds; it backtracks where products, sums
and commutative operations leave a choice. All dimensions are those of the root: the dimensions of
its result, and behind them those that reductions inside bring along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, inf, prod

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.chains import Parts, products, sums
from xyntra.passes.recognize.matching.expressions import UNIT, Dims, Expression, Read
from xyntra.passes.recognize.matching.forms import (
    Apply,
    ConstantForm,
    Form,
    Matmul,
    ProductForm,
    Reduce,
    Sum,
    Transpose,
    VariableForm,
    negated,
)
from xyntra.passes.recognize.matching.terms import Term

__all__ = ["Bound", "Matcher", "State", "can_be"]

_COMMUTATIVE = frozenset({"maximum", "minimum", "eq", "ne"})
_MIRRORED = {"gt": "lt", "ge": "le"}


@dataclass(frozen=True, slots=True)
class Bound:
    """The expression that a variable stands for.

    Attributes:
        value: the tensor.
        read: its expression, and the dimensions of the root at which it is read.
        frame: the dimensions, in the order in which the pattern sees them; None if it cannot tell.
    """

    value: ir.Value
    read: Read
    frame: Dims | None


@dataclass(frozen=True, slots=True)
class State:
    """A partial match: what names stand for, the expressions covered, and the sizes of all dims.

    A binding is a `Bound`, the dimensions of an axis, or a number.
    """

    bindings: Mapping[str, Bound | Dims | float]
    covered: tuple[Expression, ...]
    sizes: tuple[int, ...]

    def bind(self, name: str, value: Bound | Dims | float) -> State:
        """This state with one more name."""
        return State({**self.bindings, name: value}, self.covered, self.sizes)

    def cover(self, *expressions: Expression) -> State:
        """This state with more expressions covered."""
        return State(self.bindings, self.covered + expressions, self.sizes)

    def extend(self, sizes: tuple[int, ...]) -> tuple[State, Dims]:
        """This state with new dimensions, and their numbers (`UNIT` for size 1)."""
        first = len(self.sizes)
        fresh = tuple(UNIT if n == 1 else first + i for i, n in enumerate(sizes))
        return State(self.bindings, self.covered, self.sizes + sizes), fresh


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches with constants that differ by `tolerance`, relative to the larger, or less."""

    tolerance: float

    def root(self, form: Form, expression: Expression) -> Iterator[State]:
        """Yield the ways in which `form` is `expression`."""
        state, dims = State({}, (), ()).extend(expression.shape)
        yield from self.match(form, Read(expression, dims), dims, state)

    def match(self, form: Form, read: Read, frame: Dims | None, state: State) -> Iterator[State]:
        """Yield `state`, extended by each way in which `form` is what is read."""
        if isinstance(form, VariableForm):
            yield from _variable(form.name, read, frame, state)
        elif isinstance(form, ConstantForm):
            if read.source.number is not None and self._equal(form.value, read.source.number):
                yield state
        elif not can_be(form, read.source):
            return
        elif isinstance(form, ProductForm):
            yield from self._product(form, read, frame, state)
        elif isinstance(form, Sum):
            yield from self._sum(form, read, frame, state)
        elif isinstance(form, Reduce):
            yield from self._reduce(form, read, frame, state)
        elif isinstance(form, Matmul):
            yield from self._matmul(form, read, frame, state)
        elif isinstance(form, Transpose):
            if frame is not None and len(frame) >= 2:
                inner = _permuted(frame, form.permutation)
                yield from self.match(form.operand, read, inner, state)
        else:
            yield from self._apply(form, read, frame, state)

    def _equal(self, wanted: float, found: float) -> bool:
        if wanted == found:
            return True
        return abs(wanted - found) <= self.tolerance * max(abs(wanted), abs(found))

    def _product(
        self, form: ProductForm, read: Read, frame: Dims | None, state: State
    ) -> Iterator[State]:
        budget = sum(ceil(abs(power)) for _, power in form.factors)
        for cut in products(read, budget):
            if len(cut.parts) != len(form.factors) or not cut.between:
                continue
            exact = not form.numbers and not form.counts
            if exact and not self._equal(form.coefficient, cut.number):
                continue
            covered = state.cover(*cut.between)
            for found in self._parts(form.factors, cut.parts, frame, covered):
                yield from self._coefficient(form, cut.number, found)

    def _coefficient(self, form: ProductForm, number: float, state: State) -> Iterator[State]:
        wanted = form.coefficient
        for axis in form.counts:
            dims = state.bindings.get(axis)
            if not isinstance(dims, tuple):
                return
            wanted /= prod(state.sizes[d] for d in dims)
        if not wanted:
            return
        value = number / wanted
        if form.numbers and form.numbers[0][1] < 0:
            value = 1 / value if value else inf
        yield from self._number(form.numbers, wanted, number, value, state)

    def _number(
        self,
        names: tuple[tuple[str, int], ...],
        wanted: float,
        found: float,
        value: float,
        state: State,
    ) -> Iterator[State]:
        """Bind the one name to `value`, or compare without a name."""
        if not names:
            if self._equal(wanted, found):
                yield state
            return
        if len(names) > 1:
            return
        name = names[0][0]
        known = state.bindings.get(name)
        if known is None:
            yield state.bind(name, value)
        elif isinstance(known, float) and self._equal(known, value):
            yield state

    def _sum(self, form: Sum, read: Read, frame: Dims | None, state: State) -> Iterator[State]:
        for cut in sums(read, len(form.terms)):
            if len(cut.parts) != len(form.terms) or not cut.between:
                continue
            if not form.numbers and not self._equal(form.constant, cut.number):
                continue
            sign = form.numbers[0][1] if form.numbers else 1
            rest = sign * (cut.number - form.constant)
            covered = state.cover(*cut.between)
            for found in self._parts(form.terms, cut.parts, frame, covered, signs=True):
                yield from self._number(form.numbers, form.constant, cut.number, rest, found)

    def _parts(
        self,
        wanted: tuple[tuple[Form, float], ...],
        parts: Parts,
        frame: Dims | None,
        state: State,
        *,
        signs: bool = False,
    ) -> Iterator[State]:
        """Yield the ways to give each of `wanted` a part of its own.

        Exponents have to agree; a part with the other sign has to be the negated form.
        """
        if not wanted:
            yield state
            return
        # Variables take anything: what they stand for is known better once the rest is found.
        index = next((i for i, (f, _) in enumerate(wanted) if not isinstance(f, VariableForm)), 0)
        form, power = wanted[index]
        rest = wanted[:index] + wanted[index + 1 :]
        for position, (part, found) in enumerate(parts):
            if found != power and not (signs and found == -power):
                continue
            looked_for = form if found == power else negated(form)
            others = parts[:position] + parts[position + 1 :]
            for each in self.match(looked_for, part, frame, state):
                yield from self._parts(rest, others, frame, each, signs=signs)

    def _apply(self, form: Apply, read: Read, frame: Dims | None, state: State) -> Iterator[State]:
        source = read.source
        opcode, operands = source.opcode, source.operands
        if opcode in _MIRRORED:
            opcode, operands = _MIRRORED[opcode], operands[::-1]
        if opcode != form.opcode or len(operands) != len(form.operands):
            return
        checked = self._attributes(form, read, state.cover(source))
        if checked is None:
            return
        orders = [operands]
        if opcode in _COMMUTATIVE and form.operands[0] != form.operands[1]:
            orders.append(operands[::-1])
        for order in orders:
            yield from self._operands(form.operands, order, read, frame, checked)

    def _operands(
        self,
        forms: tuple[Form, ...],
        operands: tuple[Read, ...],
        read: Read,
        frame: Dims | None,
        state: State,
    ) -> Iterator[State]:
        if not forms:
            yield state
            return
        if read.source.aligned:
            inner = operands[0].through(read.dims)
        else:
            state, frame = state.extend(operands[0].source.shape)
            inner = operands[0].through(frame)
        for found in self.match(forms[0], inner, frame, state):
            yield from self._operands(forms[1:], operands[1:], read, frame, found)

    def _attributes(self, form: Apply, read: Read, state: State) -> State | None:
        """The state with what the attributes of a named op stand for; None if one is wrong."""
        operation = read.source.operation
        for name, wanted in form.attributes:
            if operation is None or name not in operation.attributes:
                return None
            value = operation.attributes[name].value
            if name == "axis":
                value = _axis_dims(read, value)
            if not isinstance(wanted, Term) or wanted.operation == "constant":
                expected = wanted.data if isinstance(wanted, Term) else wanted
                if expected != value:
                    return None
                continue
            if state.bindings.get(wanted.data, value) != value:
                return None
            state = state.bind(wanted.data, value)
        return state

    def _reduce(
        self, form: Reduce, read: Read, frame: Dims | None, state: State
    ) -> Iterator[State]:
        source = read.source
        if source.opcode != form.opcode:
            return
        sizes = source.domain[len(source.shape) :]
        known = state.bindings.get(form.axis)
        reduced = [size for size in sizes if size != 1]
        taken = {UNIT, *read.dims}
        around = range(len(state.sizes)) if frame is None else sorted(frame)
        free = tuple(d for d in around if d not in taken and state.sizes[d] != 1)
        axis = known if isinstance(known, tuple) else free
        if not reduced or taken.intersection(axis):
            return
        if not axis:
            state, fresh = state.extend(tuple(reduced))
            axis, frame = fresh, None
        if [state.sizes[d] for d in axis] != reduced:
            return
        rest = iter(axis)
        inner = (*read.dims, *(UNIT if size == 1 else next(rest) for size in sizes))
        state = state.bind(form.axis, axis).cover(source)
        yield from self.match(form.operand, source.operands[0].through(inner), frame, state)

    def _matmul(
        self, form: Matmul, read: Read, frame: Dims | None, state: State
    ) -> Iterator[State]:
        source = read.source
        factors = source.contraction
        sizes = source.domain[len(source.shape) :]
        if factors is None or frame is None or len(frame) < 2 or len(sizes) != 1 or 1 in sizes:
            return
        state, (k,) = state.cover(source, source.operands[0].source).extend(sizes)
        *batch, m, n = frame
        frames = (*batch, m, k), (*batch, k, n)
        for pair in (factors, factors[::-1]):
            left, right = (each.through((*read.dims, k)) for each in pair)
            if not (set(left.dims) <= {*frames[0], UNIT} and set(right.dims) <= {*frames[1], UNIT}):
                continue
            for found in self.match(form.left, left, frames[0], state):
                yield from self.match(form.right, right, frames[1], found)


def can_be(form: Form, expression: Expression) -> bool:
    """Tell whether the operation at the root of `form` may be the one of `expression`."""
    return form.heads is None or expression.opcode in form.heads


def _variable(name: str, read: Read, frame: Dims | None, state: State) -> Iterator[State]:
    source = read.source
    if source.value is None or source.number is not None:
        return
    known = state.bindings.get(name)
    if known is None:
        yield state.bind(name, Bound(source.value, read, frame))
    elif isinstance(known, Bound) and known.read.source is source and known.read.dims == read.dims:
        yield state


def _permuted(frame: Dims, permutation: tuple[int, ...] | None) -> Dims | None:
    """The frame of what is transposed into `frame`."""
    if permutation is None:
        return (*frame[:-2], frame[-1], frame[-2])
    if len(permutation) != len(frame):
        return None
    inner = [UNIT] * len(frame)
    for position, axis in enumerate(permutation):
        inner[axis] = frame[position]
    return tuple(inner)


def _axis_dims(read: Read, axis: int) -> Dims:
    """The dimensions of the root that the `axis` of a named op is about."""
    name = read.source.opcode
    at = read.dims[axis : axis + 1] if name.endswith("softmax") else read.dims[axis:]
    return tuple(d for d in at if d != UNIT)
