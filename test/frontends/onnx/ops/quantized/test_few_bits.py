# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with packed weights, against weights dequantized in float64 and onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  # numpy then knows bfloat16
import numpy as np
import pytest
from few_bits import DOMAIN, FewBits
from harness import reference, run_compiled
from refusals import check_invalid, check_unsupported

import xyntra
from xyntra.observe.precision.costs import memory_of

TOLERANCE = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}

CASES = [
    FewBits(1, 64, 9, block=16),
    FewBits(1, 2048, 130),
    FewBits(3, 1000, 67, block=128, zeros="packed", bias=True),
    FewBits(5, 700, 65, block=256, zeros="packed", scale="float16", activation="float16"),
    FewBits(40, 320, 70, block=64, zeros="packed"),
    FewBits(2, 512, 70, zeros="floats"),
    FewBits(1, 1024, 50, bits=8, zeros="packed", bias=True),
    FewBits(7, 333, 120, bits=8, block=16, scale="float16"),
    FewBits(33, 256, 90, bits=8, block=128),
    FewBits(2, 512, 80, activation="bfloat16", scale="bfloat16"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_few_bits(case: FewBits) -> None:
    inputs, constants = case.arrays()
    model = case.model(inputs, constants)
    (found,) = run_compiled(model, inputs)
    wanted, size = case.result(inputs, constants), case.size(inputs, constants)
    error = np.abs(found.astype(np.float64) - wanted)
    scale = np.abs(wanted) if case.activation != "float32" else 0
    assert (error <= 1e-6 * size + TOLERANCE[case.activation] * scale).all()
    if case.activation == case.scale != "bfloat16" and case.zeros != "floats":
        (other,) = reference(model, inputs)
        assert (np.abs(found.astype(np.float64) - other) <= 2e-3 * size).all()


@pytest.mark.parametrize("rows", [1, 20])
def test_nan_and_infinity_stay_in_their_rows(rows: int) -> None:
    case = FewBits(rows, 512, 66)
    inputs, constants = case.arrays()
    constants["b"] |= 17  # an infinity times a weight of 0 would not be one
    inputs["a"][0, 3] = np.inf
    (found,) = run_compiled(case.model(inputs, constants), inputs)
    weights = case.weight(constants)[:, 3]
    np.testing.assert_array_equal(found[0], np.where(weights > 0, np.inf, -np.inf))
    assert np.isfinite(found[1:]).all()
    inputs["a"][0, 500] = np.nan
    (found,) = run_compiled(case.model(inputs, constants), inputs)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1:]).all()


@pytest.mark.parametrize(
    "case",
    [
        FewBits(1, 2048, 130, level=4),
        FewBits(3, 1000, 67, block=128, zeros="packed", bias=True, level=4),
        FewBits(8, 700, 65, block=64, scale="float16", activation="float16", level=4),
    ],
    ids=str,
)
def test_rows_that_may_be_rounded(case: FewBits) -> None:
    inputs, constants = case.arrays()
    inputs["a"][0, 64:192] = 0
    (found,) = run_compiled(case.model(inputs, constants), inputs)
    rounded = case.rounded(inputs)
    wanted, size = case.result(rounded, constants), case.size(rounded, constants)
    error = np.abs(found.astype(np.float64) - wanted)
    # A value half-way between two integers may become either.
    assert (error <= 2e-4 * size + TOLERANCE[case.activation] * np.abs(wanted)).all()
    exact = case.result(inputs, constants)
    assert np.sqrt(np.square(found - exact).mean()) < 0.01 * np.sqrt(np.square(exact).mean())


@pytest.mark.parametrize(
    "case",
    [
        FewBits(9, 512, 130, level=4),  # many rows
        FewBits(2, 512, 130, level=1),
        FewBits(2, 512, 130, zeros="floats", level=4),
        FewBits(2, 512, 130, bits=8, level=4),
    ],
    ids=str,
)
def test_rows_that_stay_as_they_are(case: FewBits) -> None:
    inputs, constants = case.arrays()
    (found,) = run_compiled(case.model(inputs, constants), inputs)
    error = np.abs(found - case.result(inputs, constants))
    assert (error <= 1e-6 * case.size(inputs, constants)).all()


@pytest.mark.parametrize("special", [np.nan, np.inf, 1e-38, 3e38])
def test_rounded_rows_with_extreme_values(special: float) -> None:
    case = FewBits(2, 512, 66, level=4)
    inputs, constants = case.arrays()
    inputs["a"][0, 3] = special
    if special == 1e-38:
        inputs["a"][0] = special
    (found,) = run_compiled(case.model(inputs, constants), inputs)
    if special < 1:
        np.testing.assert_allclose(found[0], 0, atol=1e-30)
    elif not np.isfinite(special):
        assert not np.isfinite(found[0]).any()
    inputs["a"][0] = 0
    wanted = case.result(inputs, constants)[1]
    assert np.abs(found[1] - wanted).max() < 0.02 * np.abs(wanted).max()


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_stay_packed(bits: int, tmp_path: Any) -> None:
    case = FewBits(1, 1024, 512, bits=bits, scale="float16")
    inputs, constants = case.arrays()
    shapes = {"a": (1, 1024)}
    executable = xyntra.compile(case.model(inputs, constants), inputs=shapes)
    packed = 1024 * 512 * bits // 8
    scales = 2 * 1024 * 512 // 32
    executable.save(tmp_path / "m.xyn")
    assert (tmp_path / "m.xyn").stat().st_size < 1.1 * (packed + scales) + 65536
    held = memory_of(executable.plan)
    assert packed + scales <= held < 1.05 * (packed + scales)
    loaded = xyntra.load(tmp_path / "m.xyn")
    np.testing.assert_array_equal(loaded(inputs["a"]), executable(inputs["a"]))


def _options(**changes: Any) -> dict[str, Any]:
    return {"K": 64, "N": 6, "bits": 4, "block_size": 32, "domain": DOMAIN} | changes


def _arrays(**changes: np.ndarray) -> dict[str, np.ndarray]:
    arrays, constants = FewBits(2, 64, 6).arrays()
    return {**arrays, **constants, **changes}


@pytest.mark.parametrize(
    ("changes", "options", "match"),
    [
        ({}, {"block_size": 24}, "blocks of 24"),
        ({}, {"block_size": 0}, "block_size is 0"),
        ({}, {"K": -64}, "K is -64"),
        ({}, {"N": 1 << 40}, "N is 1099511627776"),
        ({}, {"K": 2048}, "input 1 has shape"),
        ({"a": np.ones((2, 63), np.float32)}, {}, "input 0 has shape"),
        ({"b": np.ones((6, 2, 15), np.uint8)}, {}, "input 1 has shape"),
        ({"b": np.ones((6, 2, 16), np.int8)}, {}, "dtype int8"),
        ({"scales": np.ones(11, np.float32)}, {}, "input 2"),
        ({"scales": np.ones(12, np.int32)}, {}, "input 2"),
        ({"zeros": np.ones(5, np.uint8)}, {}, "input 3"),
        ({"zeros": np.ones(11, np.float32)}, {}, "input 3"),
    ],
)
def test_damaged_weights(
    changes: dict[str, np.ndarray], options: dict[str, Any], match: str
) -> None:
    check_invalid("MatMulNBits", _arrays(**changes), match, **_options(**options))


def test_permuted_steps_are_unsupported() -> None:
    inputs = _arrays(g_idx=np.zeros(64, np.int32))
    names = ["a", "b", "scales", "", "g_idx"]
    check_unsupported("MatMulNBits", inputs, "g_idx", names=names, **_options())


@pytest.mark.parametrize("precision", ["w4", "w4a8"])
def test_scales_become_narrow(precision: str, tmp_path: Any) -> None:
    case = FewBits(1, 1024, 512, zeros="packed")
    inputs, constants = case.arrays()
    model = case.model(inputs, constants)
    executable = xyntra.compile(model, inputs={"a": (1, 1024)}, precision=precision)
    size = 1024 * 512 // 2 + (2 + 1) * 1024 * 512 // 32
    assert size <= memory_of(executable.plan) < 1.04 * size
    found = executable(inputs["a"])
    narrow = constants | {"scales": constants["scales"].astype(np.float16)}
    wanted = case.result(case.rounded(inputs) if precision == "w4a8" else inputs, narrow)
    tolerance = 2e-4 if precision == "w4a8" else 1e-6  # a value half-way may become either integer
    assert (np.abs(found - wanted) <= tolerance * case.size(inputs, constants)).all()
    executable.save(tmp_path / "m.xyn", weights=False)
    loaded = xyntra.load(tmp_path / "m.xyn", weights=constants)
    np.testing.assert_array_equal(loaded(inputs["a"]), found)


@pytest.mark.parametrize("factor", [1e6, 1e-6, np.nan])
def test_scales_that_f16_does_not_hold(factor: float) -> None:
    case = FewBits(2, 256, 80)
    inputs, constants = case.arrays()
    constants["scales"] *= np.float32(factor)
    executable = xyntra.compile(
        case.model(inputs, constants), inputs={"a": (2, 256)}, precision="w4"
    )
    found, wanted = executable(inputs["a"]), case.result(inputs, constants)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * abs(factor))
