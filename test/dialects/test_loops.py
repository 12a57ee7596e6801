# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops that carry tensors."""

from __future__ import annotations

import numpy as np
from evaluate import build_module, evaluate

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, insert, when


def test_loops_run_in_row_major_order() -> None:
    def build(b: TensorBuilder, counter: Tensor, places: Tensor) -> list[Tensor]:
        def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
            zero = constant(0, "index")
            seen = b.extract(state[0], [zero])
            return [insert(seen + 1, state[0], [zero]), insert(seen, state[1], indices)]

        return for_each(b, (2, 3), [counter, places], body)

    counter, places = evaluate(build, np.zeros(1, np.int64), np.zeros((2, 3), np.int64))
    assert counter.tolist() == [6]
    assert places.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_loop_reads_what_it_has_written() -> None:
    def build(b: TensorBuilder, x: Tensor) -> Tensor:
        def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
            here = indices[0] + 1
            return [insert(b.extract(state[0], indices) * 2, state[0], [here])]

        return for_each(b, (4,), [x], body)[0]

    x = np.array([3, 0, 0, 0, 0], np.int64)
    assert evaluate(build, x)[0].tolist() == [3, 6, 12, 24, 48]
    assert x.tolist() == [3, 0, 0, 0, 0]


def test_no_iterations() -> None:
    def build(b: TensorBuilder, x: Tensor) -> Tensor:
        return for_each(b, (3, 0), [x], lambda _, state: state)[0]

    assert evaluate(build, np.array([5.0]))[0].tolist() == [5.0]


def test_when() -> None:
    def build(b: TensorBuilder, x: Tensor) -> Tensor:
        def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
            value = b.extract(state[0], indices)
            return when(value < 0, state, lambda: [insert(-value, state[0], indices)])

        return for_each(b, (4,), [x], body)[0]

    assert evaluate(build, np.array([-1.0, 2.0, -3.0, 0.0]))[0].tolist() == [1, 2, 3, 0]


def test_loops_are_written_in_place() -> None:
    def build(b: TensorBuilder, x: Tensor) -> Tensor:
        def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
            return [insert(constant(1, "float64"), state[0], indices)]

        return for_each(b, (4,), [Tensor(b.fill((4,), "float64", 0), "float64")], body)[0]

    module, _ = build_module(build, np.zeros(1))
    assert str(module).count("scf.for") == 1
    assert evaluate(build, np.zeros(1))[0].tolist() == [1] * 4
