# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products and Einsum against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import integers, normal, tolerance
from harness import check_node, node_model, run
from refusals import check_invalid, check_unsupported

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 1, 5, 4), (2, 4, 7)),
        ((4,), (4,)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4,)),
        ((2, 0), (0, 3)),
        ((0, 4), (4, 3)),
    ],
)
def test_matmul(a: Shape, b: Shape) -> None:
    check_node("MatMul", {"a": normal(*a), "b": normal(*b, seed=1)})


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_float_dtypes(op: str, dtype: str) -> None:
    inputs = {"a": normal(3, 9, dtype=dtype), "b": normal(9, 5, dtype=dtype, seed=1)}
    check_node(op, inputs, **tolerance(dtype))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_integer_products_wrap(dtype: str) -> None:
    a, b = integers(0, 2**31, 3, 4, dtype=dtype), integers(0, 2**31, 4, 5, dtype=dtype, seed=1)
    (found,) = run(node_model("MatMul", {"a": a, "b": b}), {"a": a, "b": b})
    np.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_16_bits_accumulate_in_float32(op: str) -> None:
    a = np.ones((1, 65), np.float16)
    a[0, 0] = 2048
    inputs = {"a": a, "b": np.ones((65, 1), np.float16)}
    (found,) = run(node_model(op, inputs), inputs)
    assert float(found.item()) == 2112


@pytest.mark.parametrize("c", [None, (7,), (4, 1), (1,), (), (4, 7)])
def test_gemm_broadcasts_its_addend(c: Shape | None) -> None:
    inputs = {"a": normal(4, 5), "b": normal(5, 7, seed=1)}
    if c is not None:
        inputs["c"] = normal(*c, seed=2)
    check_node("Gemm", inputs)


@pytest.mark.parametrize("options", [{"alpha": 0.5}, {"beta": 2.0}, {"alpha": 0.3, "beta": 0.0}])
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_options(options: dict[str, float], trans_a: int, trans_b: int) -> None:
    a, b = normal(*((5, 4) if trans_a else (4, 5))), normal(*((7, 5) if trans_b else (5, 7)))
    inputs = {"a": a, "b": b, "c": normal(7)}
    check_node("Gemm", inputs, transA=trans_a, transB=trans_b, **options)


def test_scaled_integer_products_are_unsupported() -> None:
    inputs = {"a": integers(0, 9, 2, 3), "b": integers(0, 9, 3, 2)}
    check_unsupported("Gemm", inputs, "factors", alpha=0.5)


EQUATIONS: list[tuple[str, list[Shape]]] = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij->ji", [(3, 4)]),
    ("ij->i", [(3, 4)]),
    ("ij", [(3, 4)]),
    ("ba", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("...ii->...i", [(2, 4, 4)]),
    ("bij, bjk -> bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(6, 3, 4), (6, 4, 5)]),
    ("i,i", [(4,), (4,)]),
    ("i,j->ij", [(4,), (3,)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
    ("abc,cd,def->af", [(2, 3, 4), (4, 5), (5, 2, 3)]),
    ("bhwc,hkc->bhwk", [(2, 3, 4, 5), (3, 6, 5)]),
    ("ij,ij->", [(3, 4), (3, 4)]),
    ("ba,cd->ab", [(2, 3), (4, 5)]),
    ("...", [(3, 4)]),
    ("i...->...", [(3, 4)]),
    ("Ab,bA->A", [(3, 4), (4, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation: str, shapes: list[Shape]) -> None:
    inputs = {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}
    check_node("Einsum", inputs, equation=equation, **tolerance("float32"))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_dtypes_of_einsum(dtype: str) -> None:
    inputs = {
        "a": (9 * normal(3, 4)).astype(dtype),
        "b": (9 * normal(4, 5)).astype(dtype),
    }
    check_node("Einsum", inputs, equation="ij,jk->ik")


@pytest.mark.parametrize(
    ("op", "shapes", "options", "message"),
    [
        ("MatMul", [(3, 4), (5, 6)], {}, "no matrix product"),
        ("MatMul", [(2, 3, 4), (3, 4, 5)], {}, "do not broadcast"),
        ("MatMul", [(), (3, 4)], {}, "scalars"),
        ("Gemm", [(3, 4), (3, 4)], {}, "no matrix product"),
        ("Gemm", [(2, 3, 4), (4, 5)], {}, "matrices"),
        ("Gemm", [(3, 4), (4, 5), (3,)], {}, "broadcast"),
        ("Einsum", [(3, 4)], {"equation": "ij,jk"}, "2 operands"),
        ("Einsum", [(3, 4)], {"equation": "ijk"}, "does not name"),
        ("Einsum", [(3, 4)], {"equation": "i1"}, "letters"),
        ("Einsum", [(3, 4)], {"equation": "ij->ik"}, "names a dimension"),
        ("Einsum", [(3, 4), (5, 6)], {"equation": "ij,jk->ik"}, "do not broadcast"),
    ],
)
def test_invalid(op: str, shapes: list[Shape], options: dict[str, Any], message: str) -> None:
    inputs = {f"x{i}": normal(*shape) for i, shape in enumerate(shapes)}
    check_invalid(op, inputs, message, **options)
