# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds layers of recurrent operators: directions, initial states, the loop over a sequence.

Sequences are unrolled over a length that is known at compile time. The projections of all inputs
are one contraction; a step adds the projection of the state and ends in an elementwise operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.slices import concatenate
from xyntra.dialects.tensors.vector_maps import map_vectors
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.recurrent.activations import Activation, read_activations

MAX_STEPS = 512
"""Longest sequence that is unrolled."""

_DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}

States = list[Tensor]
Product = Callable[[Tensor], Tensor]
"""Multiplies rows [m, k] by weights; the result is [m, gates * hidden]."""
Products = Callable[[int], tuple[Product, Product]]
"""Of a direction, what multiplies inputs and what multiplies states."""


@dataclass(frozen=True)
class Direction:
    """One direction of a layer, in the accumulator's dtype, or both of them.

    Of both, all tensors have a dimension of two in front, those of inputs behind their steps: of
    the first step in one direction and the last one in the other, and so on.

    Attributes:
        b: where to build.
        reverse: whether the sequence is read from its end.
        functions: the activations.
        inputs: projections of all inputs with their biases, [steps, batch, gates, hidden]; of both
            directions [steps, 2, batch, gates, hidden].
        recurrence: [gates, hidden, hidden], or what multiplies a state by all of it.
        recurrence_bias: [gates, hidden].
        peepholes: [3, hidden] or None.
        initial: states before the first step, each [batch, hidden].
    """

    b: TensorBuilder
    reverse: bool
    functions: list[Activation]
    inputs: Tensor
    recurrence: Tensor | Product
    recurrence_bias: Tensor | None
    peepholes: Tensor | None
    initial: States

    @property
    def dtype(self) -> str:
        """Return what is computed in."""
        return self.inputs.dtype

    @property
    def is_both(self) -> bool:
        """Tell whether these are both directions."""
        return self.inputs.rank == 5

    @property
    def steps(self) -> int:
        """Length of the sequence."""
        return self.inputs.shape[0]

    def input(self, step: int) -> Tensor:
        """The projections of one step, [batch, gates, hidden]: contiguous, as at every step."""
        size = [1, *self.inputs.shape[1:]]
        starts = [step] + [0] * (self.inputs.rank - 1)
        part = self.b.slice(self.inputs, starts, size, [1] * self.inputs.rank)
        return self.b.reshape(part, size[1:])

    def project(self, state: Tensor, first: int = 0, count: int | None = None) -> Tensor:
        """The projections of a state for `count` gates from `first` on, [batch, count, hidden]."""
        if not isinstance(self.recurrence, Tensor):
            _, batch, gates, hidden = self.inputs.shape
            return self.b.reshape(self.recurrence(state), [batch, gates, hidden])
        gates, hidden, _ = self.recurrence.shape[-3:]
        count = gates if count is None else count
        if self.is_both:
            sizes = [2, count, hidden, hidden]
            weight = self.b.slice(self.recurrence, [0, first, 0, 0], sizes, [1] * 4)
            return self.b.einsum("dbh,dgjh->dbgj", state, weight, self.dtype)
        weight = self.b.slice(self.recurrence, [first, 0, 0], [count, hidden, hidden], [1] * 3)
        return self.b.einsum("bh,gjh->bgj", state, weight, self.dtype)

    def combine(
        self,
        body: Callable[..., Sequence[Scalar]],
        gates: Sequence[tuple[Tensor, int]],
        states: Sequence[Tensor],
        rows: Sequence[tuple[Tensor, int]],
        results: int,
    ) -> list[Tensor]:
        """Compute new states elementwise.

        Args:
            body: scalars of `gates`, `states` and `rows` in order -> one scalar a result.
            gates: tensors [batch, gates, hidden] and which gate to read.
            states: tensors [batch, hidden].
            rows: tensors [rows, hidden] and which row to read for the whole batch.
            results: number of tensors [batch, hidden] to compute.
        """
        shape = self.initial[0].shape
        rank = len(shape)
        with self.b.location:
            *lead, batch, unit = (ir.AffineDimExpr.get(i) for i in range(rank))

            def at(index: int, *outer: ir.AffineExpr) -> ir.AffineMap:
                return ir.AffineMap.get(rank, 0, [*outer, ir.AffineConstantExpr.get(index), unit])

            inputs = [(t, at(i, *lead, batch)) for t, i in gates]
            inputs += [(state, self.b.identity(rank)) for state in states]
            inputs += [(t, at(i, *lead)) for t, i in rows]
        outputs = [
            (self.b.empty(shape, self.dtype), self.dtype, self.b.identity(rank))
            for _ in range(results)
        ]
        count = len(inputs)
        return self.b.generic(inputs, outputs, ["parallel"] * rank, lambda *s: body(*s[:count]))


Cell = Callable[[Direction, Tensor, States], States]


def import_layer(
    node: Node,
    gates: int,
    states: int,
    defaults: Sequence[str],
    cell: Cell,
    products: Products | None = None,
) -> list[Tensor]:
    """All directions of a recurrent operator: the outputs of every step, then the last states.

    Args:
        node: the operator.
        gates: how many gates a cell has.
        states: how many states it has; the first is its output.
        defaults: the activations of one direction.
        cell: builds one step.
        products: multiply by weights that are not floats; these have their gates last.
    """
    x, dtype = node.tensor(0), node.tensor(0).dtype
    batch_first = bool(node.attribute("layout", 0))
    if x.rank != 3:
        raise node.invalid(f"the input has shape {x.shape}, expected three dimensions")
    if batch_first:
        x = node.b.transpose(x, [1, 0, 2])
    if x.shape[0] > MAX_STEPS:
        raise node.unsupported(f"sequences of {x.shape[0]} steps (up to {MAX_STEPS} are unrolled)")
    layers = _directions(node, x, gates, states, defaults, batch_first, products)
    lengths = _lengths(node, x)
    b = node.b
    if layers[0].is_both:
        steps, last = _unroll(layers[0], cell, None)
        results = [_in_time(b, steps), *last]
    else:
        outputs, finals = [], []
        for layer in layers:
            steps, last = _unroll(layer, cell, lengths)
            outputs.append(steps)
            finals.append(last)
        results = [_stack(b, outputs, 1)]
        results += [_stack(b, [final[i] for final in finals], 0) for i in range(states)]
    if batch_first:
        results[0] = b.transpose(results[0], [2, 0, 1, 3])
        results[1:] = [b.transpose(state, [1, 0, 2]) for state in results[1:]]
    return [cast(b, result, dtype) for result in results]


def _directions(
    node: Node,
    x: Tensor,
    gates: int,
    states: int,
    defaults: Sequence[str],
    batch_first: bool,
    products: Products | None,
) -> list[Direction]:
    reversed_ = _DIRECTIONS.get(str(node.attribute("direction", "forward")))
    if reversed_ is None:
        raise node.invalid(f"attribute 'direction' is '{node.attribute('direction')}'")
    count = len(reversed_)
    hidden = node.tensor(2).shape[-1] if products is None else node.tensor(2).shape[1]
    if node.attribute("hidden_size", hidden) != hidden:
        raise node.invalid(f"hidden_size is not {hidden}, the size of the recurrence weights")
    functions = read_activations(node, defaults, count)
    batch, wide = x.shape[1], accumulator_of(x.dtype)
    shapes = [(count, gates * hidden, size) for size in (x.shape[2], hidden)]
    if products is not None:
        shapes = [(count, size, outputs) for _, outputs, size in shapes]
    weight, recurrence = (_checked(node, 1 + i, shape) for i, shape in enumerate(shapes))
    bias = _optional(node, 3, (count, 2 * gates * hidden))
    peepholes = _optional(node, 7, (count, 3 * hidden)) if states == 2 else None
    shape = (batch, count, hidden) if batch_first else (count, batch, hidden)
    initial = [_optional(node, 5 + i, shape) for i in range(states)]
    if count == 2 and products is None and x.shape[0] and _are_alike(node):
        turned = [
            node.b.transpose(each, [1, 0, 2]) if each is not None and batch_first else each
            for each in initial
        ]
        return [_both(node, x, functions[0], (weight, recurrence), bias, peepholes, turned)]
    layers = []
    for i, reverse in enumerate(reversed_):
        bias_part = _part(node.b, bias, i)
        recurrent: Tensor | Product
        if products is None:
            projected = node.b.einsum("tbi,gi->tbg", x, _take(node.b, weight, i), wide)
            matrix = _take(node.b, recurrence, i)
            recurrent = node.b.reshape(matrix, [gates, hidden, hidden])
        else:
            product, recurrent = products(i)
            projected = product(node.b.reshape(x, [prod(x.shape[:2]), x.shape[2]]))
            projected = node.b.reshape(projected, [*x.shape[:2], gates * hidden])
        inputs = _with_bias(node.b, projected, bias_part, gates)
        layers.append(
            Direction(
                node.b,
                reverse,
                functions[i],
                inputs,
                recurrent,
                _widened(node.b, _recurrence_bias(node.b, bias_part, gates), wide),
                _widened(node.b, _rows(node.b, _part(node.b, peepholes, i), 3), wide),
                [_initial(node.b, t, i, batch_first, (batch, hidden), wide) for t in initial],
            )
        )
    return layers


def _both(
    node: Node,
    x: Tensor,
    functions: list[Activation],
    weights: tuple[Tensor, Tensor],
    bias: Tensor | None,
    peepholes: Tensor | None,
    initial: Sequence[Tensor | None],
) -> Direction:
    """Both directions of a layer at once; arguments have a dimension of two in front."""
    b, wide = node.b, accumulator_of(x.dtype)
    weight, recurrence = weights
    size, hidden = recurrence.shape[1:]
    gates = size // hidden
    steps, batch, width = x.shape
    turned = b.slice(x, [steps - 1, 0, 0], [steps, batch, width], [-1, 1, 1])
    each = [b.reshape(part, [steps, 1, batch, width]) for part in (x, turned)]
    projected = b.einsum("tdbi,dgi->tdbg", concatenate(b, each, 1), weight, wide)
    recurrence_bias = None
    if bias is not None:
        own, other = (b.slice(bias, [0, start], [2, size], [1, 1]) for start in (0, size))
        own = b.reshape(own, [2, 1, size])
        projected = b.map(lambda v, c: v + c.cast(wide), projected, own, dtype=wide)
        recurrence_bias = cast(b, b.reshape(other, [2, gates, hidden]), wide)
    if peepholes is not None:
        peepholes = cast(b, b.reshape(peepholes, [2, 3, hidden]), wide)
    shape = [2, batch, hidden]
    return Direction(
        b,
        reverse=False,
        functions=functions,
        inputs=b.reshape(projected, [steps, 2, batch, gates, hidden]),
        recurrence=b.reshape(recurrence, [2, gates, hidden, hidden]),
        recurrence_bias=recurrence_bias,
        peepholes=peepholes,
        initial=[
            Tensor(b.fill(shape, wide, 0), wide) if each is None else cast(b, each, wide)
            for each in initial
        ],
    )


def _are_alike(node: Node) -> bool:
    """Whether both directions have the same activations, and sequences are as long as the input."""
    names = list(node.attribute("activations") or [])
    half = len(names) // 2
    given = node.attribute("activation_alpha") or node.attribute("activation_beta")
    return names[:half] == names[half:] and not given and node.optional(4) is None


def _in_time(b: TensorBuilder, steps: Tensor) -> Tensor:
    """The outputs of both directions, the second of which begins at the end of the sequence."""
    count, _, batch, hidden = steps.shape
    size = [count, 1, batch, hidden]
    first = b.slice(steps, [0] * 4, size, [1] * 4)
    second = b.slice(steps, [count - 1, 1, 0, 0], size, [-1, 1, 1, 1])
    return concatenate(b, [first, second], 1)


def _optional(node: Node, position: int, shape: tuple[int, ...]) -> Tensor | None:
    return _checked(node, position, shape) if node.has(position) else None


def _checked(node: Node, position: int, shape: tuple[int, ...]) -> Tensor:
    tensor = node.tensor(position)
    if tensor.shape != shape:
        raise node.invalid(f"input {position} has shape {tensor.shape}, expected {shape}")
    return tensor


def _take(b: TensorBuilder, x: Tensor, index: int) -> Tensor:
    """`x[index]`."""
    starts = [index] + [0] * (x.rank - 1)
    return b.reshape(b.slice(x, starts, [1, *x.shape[1:]], [1] * x.rank), x.shape[1:])


def _part(b: TensorBuilder, x: Tensor | None, index: int) -> Tensor | None:
    return None if x is None else _take(b, x, index)


def _widened(b: TensorBuilder, x: Tensor | None, wide: str) -> Tensor | None:
    return None if x is None else cast(b, x, wide)


def _rows(b: TensorBuilder, vector: Tensor | None, count: int) -> Tensor | None:
    """A vector [count * hidden] as [count, hidden]."""
    return None if vector is None else b.reshape(vector, [count, vector.shape[0] // count])


def _with_bias(b: TensorBuilder, projected: Tensor, bias: Tensor | None, gates: int) -> Tensor:
    """The inputs of all steps times the weights plus the inputs' half of the biases."""
    wide = projected.dtype
    if bias is not None:
        own = b.slice(bias, [0], [projected.shape[2]], [1])
        projected = map_vectors(
            b, lambda v, c: v + c.cast(wide), [(own, 2)], projected.shape, wide, whole=[projected]
        )
    steps, batch, size = projected.shape
    return b.reshape(projected, [steps, batch, gates, size // gates])


def _recurrence_bias(b: TensorBuilder, bias: Tensor | None, gates: int) -> Tensor | None:
    """The states' half of the biases, [gates, hidden]."""
    if bias is None:
        return None
    half = bias.shape[0] // 2
    return _rows(b, b.slice(bias, [half], [half], [1]), gates)


def _initial(
    b: TensorBuilder,
    given: Tensor | None,
    direction: int,
    batch_first: bool,
    shape: tuple[int, int],
    wide: str,
) -> Tensor:
    if given is None:
        return Tensor(b.fill(shape, wide, 0), wide)
    if batch_first:
        given = b.transpose(given, [1, 0, 2])
    return cast(b, _take(b, given, direction), wide)


def _lengths(node: Node, x: Tensor) -> Tensor | None:
    """The length of every sequence, or None where all are as long as the input."""
    lengths = node.optional(4)
    if lengths is None:
        return None
    if lengths.shape != (x.shape[1],):
        raise node.invalid(f"sequence_lens has shape {lengths.shape}, expected ({x.shape[1]},)")
    if isinstance(lengths, np.ndarray) and bool((lengths == x.shape[0]).all()):
        return None
    return node.b.tensor(lengths)


def _unroll(layer: Direction, cell: Cell, lengths: Tensor | None) -> tuple[Tensor, States]:
    """The outputs of all steps, [steps, batch, hidden], and the states after the last."""
    b, count = layer.b, layer.steps
    states, outputs = layer.initial, [layer.initial[0]] * count
    for step in range(count - 1, -1, -1) if layer.reverse else range(count):
        new = cell(layer, layer.input(step), states)
        outputs[step] = new[0]
        if lengths is not None:
            outputs[step] = _where_running(layer, step, lengths, new[0], None)
            new = [
                _where_running(layer, step, lengths, a, old)
                for a, old in zip(new, states, strict=True)
            ]
        states = new
    if not outputs:
        return Tensor(b.empty([0, *layer.initial[0].shape], layer.dtype), layer.dtype), states
    return concatenate(b, [b.reshape(y, [1, *y.shape]) for y in outputs], 0), states


def _where_running(
    layer: Direction, step: int, lengths: Tensor, new: Tensor, old: Tensor | None
) -> Tensor:
    """`new` for sequences longer than `step`; for the others `old`, or zero without it."""

    def body(value: Scalar, *rest: Scalar) -> Scalar:
        *otherwise, length = rest
        return (length > step).select(value, otherwise[0] if otherwise else 0)

    whole = [new] if old is None else [new, old]
    return map_vectors(layer.b, body, [(lengths, 0)], new.shape, layer.dtype, whole=whole)


def _stack(b: TensorBuilder, parts: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors of all directions in a new dimension `axis`."""
    shapes = [[*part.shape[:axis], 1, *part.shape[axis:]] for part in parts]
    wide = [b.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]
    return concatenate(b, wide, axis)
