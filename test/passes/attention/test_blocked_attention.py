# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.attention` as the CPU computes it, in blocks, against float64."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import (
    Case,
    evaluate_module,
    expected,
    heads_first,
    module_of,
    parse_positions,
    run,
)

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.passes.lower.cpu import LoweringOptions

HIDDEN = 3 * 4 * 16
CASES = {
    "one": heads_first(1, 1, 1, 1, 1, 1),
    "one query": heads_first(1, 3, 1, 129, 64, 64),
    "one key": heads_first(1, 2, 7, 1, 5, 80),
    "seven": heads_first(2, 3, 7, 7, 5, 5),
    "size 1": heads_first(1, 2, 33, 40, 1, 1),
    "ragged": heads_first(1, 2, 129, 129, 64, 80),
    "size 80": heads_first(1, 1, 50, 48, 80, 64),
    "five keys": heads_first(1, 2, 64, 5, 64, 64),
    "wide heads, few keys": heads_first(1, 1, 128, 16, 160, 160, scale=0.08),
    "size 40": heads_first(1, 2, 100, 77, 40, 40, bias=((100, 77), "s, t")),
    "size 40, chunks": heads_first(1, 1, 100, 300, 40, 40, causal_offset=200),
    "several chunks": heads_first(1, 2, 70, 600, 16, 16),
    "ragged chunks": heads_first(1, 1, 13, 523, 9, 20),
    "causal": heads_first(1, 2, 129, 129, 8, 8, causal_offset=0),
    "causal chunks": heads_first(1, 1, 600, 600, 8, 8, causal_offset=0),
    "causal, more keys": heads_first(1, 1, 7, 300, 8, 8, causal_offset=293),
    "causal, more queries": heads_first(1, 1, 300, 40, 8, 8, causal_offset=0),
    "causal with fill": heads_first(1, 1, 40, 300, 8, 8, causal_offset=2, fill=-3.0),
    "keys before all": heads_first(
        1, 1, 40, 300, 8, 8, causal_offset=-20, masked_rows="zero", scale=1.0
    ),
    "keep": heads_first(2, 3, 20, 37, 8, 8, keep=((2, 37), "b, t")),
    "keep for each query": heads_first(2, 3, 20, 300, 8, 8, keep=((20, 300), "s, t")),
    "bias": heads_first(2, 3, 20, 37, 8, 8, bias=((2, 3, 20, 37), "b, h, s, t")),
    "bias of queries": heads_first(1, 3, 20, 300, 8, 8, bias=((3, 20, 1), "h, s, 0")),
    "both": heads_first(2, 2, 20, 37, 8, 8, keep=((37,), "t"), bias=((20, 37), "s, t"), fill=-1e9),
    "fill last": heads_first(
        2,
        2,
        20,
        37,
        8,
        8,
        keep=((37,), "t"),
        bias=((20, 37), "s, t"),
        fill=-2.0,
        fill_last=True,
        causal_offset=9,
    ),
    "half": heads_first(1, 2, 9, 21, 16, 16, dtype="float16", bias=((9, 21), "s, t")),
    "bfloat16": heads_first(1, 2, 9, 21, 16, 16, dtype="bfloat16"),
    "float64": heads_first(1, 2, 9, 21, 16, 16, dtype="float64"),
    "heads last": Case(
        (2, 3, 20, 30, 16, 16),
        ((2, 20, 3, 16), "b, s, h, d"),
        ((2, 30, 3, 16), "b, t, h, d"),
        ((2, 30, 3, 16), "b, t, h, e"),
        ((2, 20, 48), "b, s, h * 16 + e"),
    ),
    "merged, grouped": Case(
        (2, 8, 33, 33, 16, 16),
        ((2, 33, 16 * 16), "b, s, h * 16 + d"),
        ((2, 33, 16 * 16), "b, t, (h floordiv 2) * 16 + d + 128"),
        ((2, 33, 16 * 16), "b, t, (h floordiv 2) * 16 + e + 192"),
        ((2, 33, 128), "b, s, h * 16 + e"),
    ),
    "one key for all heads": Case(
        (2, 4, 9, 20, 8, 8),
        ((2, 4, 9, 8), "b, h, s, d"),
        ((2, 20, 8), "b, t, d"),
        ((2, 20, 8), "b, t, e"),
        ((2, 4, 9, 8), "b, h, s, e"),
    ),
    "keys shared by four, values by two": Case(
        (1, 8, 9, 20, 8, 8),
        ((8, 9, 8), "h, s, d"),
        ((2, 20, 8), "h floordiv 4, t, d"),
        ((4, 20, 8), "h floordiv 2, t, e"),
        ((8, 9, 8), "h, s, e"),
    ),
    "strided sizes": Case(
        (1, 2, 20, 30, 12, 10),
        ((2, 12, 20), "h, d, s"),
        ((2, 12, 30), "h, d, t"),
        ((2, 10, 30), "h, e, t"),
        ((2, 10, 20), "h, e, s"),
    ),
    "batches of heads": Case(
        (1, 6, 9, 11, 8, 8),
        ((2, 9, 24), "h floordiv 3, s, (h mod 3) * 8 + d"),
        ((6, 8, 11), "h, d, t"),
        ((6, 11, 8), "h, t, e"),
        ((2, 9, 24), "h floordiv 3, s, (h mod 3) * 8 + e"),
    ),
}
TOLERANCE = {"float32": 3e-6, "float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-12}


def check(case: Case, arrays: list[np.ndarray]) -> None:
    """Compare with the definition."""
    limit = TOLERANCE[case.dtype]
    result = run(case, arrays).astype("f8")
    np.testing.assert_allclose(result, expected(case, arrays), rtol=limit, atol=limit)


@pytest.mark.parametrize("name", CASES)
def test_blocks(name: str) -> None:
    """Random numbers of every layout and size."""
    check(CASES[name], CASES[name].random(11))


@pytest.mark.parametrize(("bits", "registers"), [(128, 16), (128, 32), (512, 32)])
@pytest.mark.parametrize("name", ["ragged", "ragged chunks", "both", "strided sizes"])
def test_other_vectors(name: str, bits: int, registers: int) -> None:
    """Other widths and numbers of vector registers, whatever this processor has."""
    case = CASES[name]
    arrays = case.random(17)
    result = run(case, arrays, options=LoweringOptions(bits, registers))
    np.testing.assert_allclose(result, expected(case, arrays), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("masked_rows", ["nan", "zero", "zero_if_empty"])
@pytest.mark.parametrize("keys", [21, 600])
def test_rows_without_keys(masked_rows: str, keys: int) -> None:
    """Two rows see nothing, one few keys, and another holds a NaN."""
    case = heads_first(1, 2, 9, keys, 4, 4, keep=((9, keys), "s, t"), masked_rows=masked_rows)
    arrays = case.random(12)
    arrays[0][0, 0, 7, 1] = np.nan
    arrays[3][2:4] = False
    arrays[3][5, 2:] = False
    check(case, arrays)


@pytest.mark.parametrize("masked_rows", ["nan", "zero", "zero_if_empty"])
@pytest.mark.parametrize("queries", [4, 6, 49])
def test_rows_divided_in_registers(masked_rows: str, queries: int) -> None:
    """Values fill whole panels: rows without keys, and rows with a NaN or infinite score."""
    mask, bias = ((queries, 21), "s, t"), ((queries, 21), "s, t")
    case = heads_first(1, 2, queries, 21, 8, 32, keep=mask, bias=bias, masked_rows=masked_rows)
    arrays = case.random(11)
    arrays[3][0] = False
    arrays[4][1, 3] = np.nan
    arrays[4][2] = -np.inf
    arrays[4][3, 5] = np.inf
    arrays[3][1:4] = True
    check(case, arrays)


@pytest.mark.parametrize("bias", [float("-inf"), float("inf"), float("nan"), -3.4e38, 1e30])
@pytest.mark.parametrize("keys", [21, 600])
def test_unusual_biases(bias: float, keys: int) -> None:
    """A bias that stands out in some rows, and fills one."""
    case = heads_first(1, 2, 9, keys, 4, 4, bias=((9, keys), "s, t"))
    arrays = case.random(13)
    arrays[3][1] = arrays[3][4, 3] = arrays[3][5, keys - 1] = bias
    check(case, arrays)


@pytest.mark.parametrize("operand", [0, 1, 2])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_unusual_operands(operand: int, value: float) -> None:
    """NaN appears where, and only where, the definition has it."""
    case = heads_first(1, 1, 20, 300, 4, 4)
    arrays = case.random(14)
    arrays[operand][0, 0, 3, 1] = value
    check(case, arrays)


def test_large_scores_do_not_overflow() -> None:
    case = heads_first(1, 1, 20, 600, 4, 4, scale=100.0)
    arrays = case.random(15)
    result, wanted = run(case, arrays), expected(case, arrays)
    np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


def test_views_and_neighbours_in_one_kernel() -> None:
    """Slices of one tensor are read in place; what precedes and follows attention stays around."""
    heads, size, rows = 2, 8, 20
    hidden = heads * size

    def build(b: TensorBuilder, x: Tensor, bias: Tensor) -> Tensor:
        parts = [b.slice(x, [0, i * hidden], [rows, hidden], [1, 1]) for i in range(3)]
        query, key, value = (b.reshape(part, [rows, heads, size]) for part in parts)
        doubled = b.map(lambda y: y + y, query, dtype="float32")
        loops = (1, heads, rows, rows, size, size)
        maps = ("s, h, d", "t, h, d", "t, h, e", "s, t", f"s, h * {size} + e")
        with b.location:
            read = [parse_positions(text, loops) for text in maps]
        operands = [doubled, key, value, bias]
        access = [Access(tensor.value, at) for tensor, at in zip(operands, read, strict=False)]
        op = Attention(*access[:3], None, access[3], read[-1], loops, 0.5)
        result = op.create([rows, hidden], b.location, b.insertion_point).results[0]
        return b.map(lambda y: y + 1.0, Tensor(result, "float32"), dtype="float32")

    source = np.random.default_rng(16)
    x = source.standard_normal((rows, 3 * hidden)).astype("f4")
    bias = source.standard_normal((rows, rows)).astype("f4")
    (found,) = evaluate_module(module_of(build, x, bias), x, bias, decompose=False)
    query, key, value = x.astype("f8").reshape(rows, 3, heads, size).transpose(1, 2, 0, 3)
    scores = np.exp(query @ key.transpose(0, 2, 1) + bias)
    wanted = (scores / scores.sum(-1, keepdims=True) @ value).transpose(1, 0, 2) + 1.0
    np.testing.assert_allclose(found, wanted.reshape(rows, hidden), rtol=1e-5, atol=1e-5)
