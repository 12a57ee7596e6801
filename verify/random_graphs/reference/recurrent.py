# SPDX-License-Identifier: MIT OR Apache-2.0
"""RNN, GRU and LSTM in numpy with default activations; sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from verify.random_graphs.reference.call import Call, kernel

__all__: list[str] = []

Array = np.ndarray


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _layer(call: Call, gates: int, states: int, cell: Callable[..., list[Array]]) -> list[Array]:
    """Run `cell(x W + Wb, state, R, Rb, state 2, peepholes)` along each direction."""
    x, weight, recurrence = call.inputs[:3]
    steps, batch, _ = x.shape
    hidden = recurrence.shape[-1]
    direction = call.get("direction", "forward")
    backwards = {"forward": [0], "reverse": [1], "bidirectional": [0, 1]}[direction]
    lengths = call.input(4, np.full(batch, steps))
    outputs = np.zeros((steps, len(backwards), batch, hidden))
    finals = np.zeros((states, len(backwards), batch, hidden))
    for d, back in enumerate(backwards):
        bias = call.inputs[3][d] if call.has(3) else np.zeros(2 * gates * hidden)
        own, theirs = np.split(bias, 2)
        for n in range(batch):
            state = [
                call.inputs[5 + i][d, n] if call.has(5 + i) else np.zeros(hidden)
                for i in range(states)
            ]
            order = range(int(lengths[n]))
            for t in reversed(order) if back else order:
                projected = (
                    call.rough(np.abs(x[t, n]) @ np.abs(weight[d]).T) + x[t, n] @ weight[d].T + own
                )
                size = np.abs(recurrence[d]) @ np.abs(state[0]) + np.abs(own) + np.abs(theirs)
                state = cell(projected + call.rough(size), state, recurrence[d], theirs)
                outputs[t, d, n] = state[0]
            finals[:, d, n] = state
    return [outputs, *finals][: call.outputs]


@kernel("RNN")
def rnn(call: Call) -> list[Array]:
    def cell(x: Array, state: list[Array], r: Array, b: Array) -> list[Array]:
        return [np.tanh(x + r @ state[0] + b)]

    return _layer(call, 1, 1, cell)


@kernel("LSTM")
def lstm(call: Call) -> list[Array]:
    def cell(x: Array, state: list[Array], r: Array, b: Array) -> list[Array]:
        i, o, f, c = np.split(x + r @ state[0] + b, 4)
        new = _sigmoid(f) * state[1] + _sigmoid(i) * np.tanh(c)
        return [_sigmoid(o) * np.tanh(new), new]

    return _layer(call, 4, 2, cell)


@kernel("GRU")
def gru(call: Call) -> list[Array]:
    linear = call.get("linear_before_reset", 0)

    def cell(x: Array, state: list[Array], r: Array, b: Array) -> list[Array]:
        (xz, xr, xh), (rz, rr, rh), (bz, br, bh) = np.split(x, 3), np.split(r, 3), np.split(b, 3)
        h = state[0]
        z, reset = _sigmoid(xz + rz @ h + bz), _sigmoid(xr + rr @ h + br)
        # Where the gate is nearly 1, little is left of its digits in 1 - z.
        z = z + call.rough(z)
        inner = reset * (rh @ h + bh) if linear else rh @ (reset * h) + bh
        return [(1 - z) * np.tanh(xh + inner) + z * h]

    return _layer(call, 3, 1, cell)
