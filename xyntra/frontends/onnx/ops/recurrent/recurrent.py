# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recurrent operators: what one step of each computes."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.recurrent.layer import Direction, Products, States, import_layer


@handles("RNN")
def rnn(node: Node) -> list[Tensor]:
    return import_layer(node, 1, 1, ["Tanh"], _rnn_cell)


def _rnn_cell(layer: Direction, x: Tensor, states: States) -> States:
    (f,) = layer.functions
    recurrent = layer.project(states[0])
    bias = _biases(layer, [0])
    return layer.combine(
        lambda a, h, *more: [f(_sum(a, h, *more))], [(x, 0), (recurrent, 0)], [], bias, 1
    )


@handles("LSTM")
def lstm(node: Node) -> list[Tensor]:
    return lstm_layer(node)


def lstm_layer(node: Node, products: Products | None = None) -> list[Tensor]:
    """An LSTM, with float weights unless `products` multiply by others."""
    coupled = bool(node.attribute("input_forget", 0))

    def cell(layer: Direction, x: Tensor, states: States) -> States:
        return _lstm_cell(layer, x, states, coupled)

    return import_layer(node, 4, 2, ["Sigmoid", "Tanh", "Tanh"], cell, products)


def _lstm_cell(layer: Direction, x: Tensor, states: States, coupled: bool) -> States:
    """The gates are those for input, output, forgetting and the cell, in this order."""
    f, g, h = layer.functions
    recurrent = layer.project(states[0])
    biases = _biases(layer, range(4))
    peepholes = [] if layer.peepholes is None else [(layer.peepholes, i) for i in range(3)]

    def body(*scalars: Scalar) -> list[Scalar]:
        gates, cell = list(scalars[:4]), scalars[8]
        for i in range(4):
            gates[i] = _sum(gates[i], scalars[4 + i], *scalars[9 + i : 10 + i][: len(biases)])
        peep = scalars[9 + len(biases) :]

        def look(gate: int, at: Scalar) -> Scalar:
            return gates[gate] + peep[gate] * at if peep else gates[gate]

        take = f(look(0, cell))
        keep = constant(1, cell.dtype) - take if coupled else f(look(2, cell))
        new = keep * cell + take * g(gates[3])
        return [f(look(1, new)) * h(new), new]

    inputs = [(x, i) for i in range(4)] + [(recurrent, i) for i in range(4)]
    return layer.combine(body, inputs, [states[1]], [*biases, *peepholes], 2)


@handles("GRU")
def gru(node: Node) -> list[Tensor]:
    cell = _gru_cell_linear if node.attribute("linear_before_reset", 0) else _gru_cell
    return import_layer(node, 3, 1, ["Sigmoid", "Tanh"], cell)


def _gru_cell_linear(layer: Direction, x: Tensor, states: States) -> States:
    """The reset gate is applied to the projected state; gates: update, reset, hidden."""
    f, g = layer.functions
    recurrent = layer.project(states[0])
    biases = _biases(layer, range(3))

    def body(*scalars: Scalar) -> list[Scalar]:
        xs, hs, old, bias = scalars[:3], scalars[3:6], scalars[6], scalars[7:]
        update, reset = (f(_sum(xs[i], hs[i], *bias[i : i + 1])) for i in range(2))
        return [_mix(update, old, g(xs[2] + reset * _sum(hs[2], *bias[2:])))]

    inputs = [(x, i) for i in range(3)] + [(recurrent, i) for i in range(3)]
    return layer.combine(body, inputs, states, biases, 1)


def _gru_cell(layer: Direction, x: Tensor, states: States) -> States:
    """The reset gate is applied to the state before its projection."""
    f, g = layer.functions
    recurrent = layer.project(states[0], 0, 2)

    def reset(a: Scalar, h: Scalar, old: Scalar, *bias: Scalar) -> list[Scalar]:
        return [f(_sum(a, h, *bias)) * old]

    kept = layer.combine(reset, [(x, 1), (recurrent, 1)], states, _biases(layer, [1]), 1)[0]
    hidden = layer.project(kept, 2, 1)
    biases = _biases(layer, [0, 2])

    def body(*scalars: Scalar) -> list[Scalar]:
        xz, hz, xh, hh, old, *bias = scalars
        update = f(_sum(xz, hz, *bias[:1]))
        return [_mix(update, old, g(_sum(xh, hh, *bias[1:])))]

    inputs = [(x, 0), (recurrent, 0), (x, 2), (hidden, 0)]
    return layer.combine(body, inputs, states, biases, 1)


def _mix(update: Scalar, old: Scalar, new: Scalar) -> Scalar:
    return (constant(1, update.dtype) - update) * new + update * old


def _sum(first: Scalar, *others: Scalar) -> Scalar:
    for other in others:
        first = first + other
    return first


def _biases(layer: Direction, gates: Sequence[int]) -> list[tuple[Tensor, int]]:
    bias = layer.recurrence_bias
    return [] if bias is None else [(bias, gate) for gate in gates]
