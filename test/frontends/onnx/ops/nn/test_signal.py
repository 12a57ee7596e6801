# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fourier transforms against numpy's, windows and filters against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import normal, tolerance
from harness import check, check_compiled, node_model, run, run_compiled
from refusals import check_invalid, check_unsupported


def _dft(x: np.ndarray, axis: int, length: int | None, **flags: int) -> np.ndarray:
    """What DFT gives in the operator sets that have the axis as attribute and as input."""
    constants: dict[str, np.ndarray] = {} if length is None else {"l": np.array(length)}
    older = node_model("DFT", {"x": x}, opset=17, constants=constants, axis=axis, **flags)
    names = ["x", *(constants or [""]), "a"]
    constants["a"] = np.array(axis)
    newer = node_model("DFT", {"x": x}, opset=20, constants=constants, names=names, **flags)
    found = [run(model, {"x": x})[0] for model in (older, newer)]
    np.testing.assert_array_equal(*found)
    return found[0]


def _complex(x: np.ndarray) -> np.ndarray:
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


@pytest.mark.parametrize("length", [None, 1, 5, 8, 12])
@pytest.mark.parametrize(("parts", "inverse", "onesided"),
                         [(1, 0, 0), (2, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 0)])  # fmt: skip
def test_transforms(parts: int, inverse: int, onesided: int, length: int | None) -> None:
    x = normal(2, 6, 7, parts, dtype="float64")
    transform = np.fft.ifft if inverse else np.fft.rfft if onesided else np.fft.fft
    for axis in (1, -2, 0):
        place = axis - x.ndim if axis >= 0 else axis
        wanted = transform(_complex(x), length, place + 1)
        found = _dft(x, axis, length, inverse=inverse, onesided=onesided)
        np.testing.assert_allclose(_complex(found), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [None, 7, 8, 12, 5])
def test_from_half_a_spectrum_to_a_real_signal(length: int | None) -> None:
    """Imaginary parts at frequency 0 and at half the length do not count."""
    x = normal(3, 5, 2, dtype="float64")
    found = _dft(x, 1, length, inverse=1, onesided=1)
    wanted = np.fft.irfft(_complex(x), length, 1)
    np.testing.assert_allclose(found[..., 0], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes_and_fusion(dtype: str) -> None:
    x = normal(2, 30, 1, dtype=dtype)
    (found,) = run_compiled(node_model("DFT", {"x": x}, onesided=1), {"x": x})
    wanted = np.fft.rfft(x[..., 0].astype(np.float64))
    assert found.dtype == x.dtype
    allowed = tolerance(dtype) | {"atol": 10 * tolerance(dtype)["atol"]}
    np.testing.assert_allclose(_complex(found.astype(np.float64)), wanted, **allowed)


@pytest.mark.parametrize("window", [None, "constant", "input"])
@pytest.mark.parametrize(("parts", "onesided"), [(1, 1), (1, 0), (2, 0)])
def test_short_time_transforms(parts: int, onesided: int, window: str | None) -> None:
    feeds, constants = {"x": normal(2, 23, parts)}, {"s": np.array(3)}
    if window == "input":
        feeds["w"] = normal(6)
    elif window:
        constants["w"] = normal(6)
    else:
        constants["l"] = np.array(6)
    names = ["x", "s", "w" if window else "", *(["l"] if not window else [])]
    options = {"names": names, "constants": constants, "opset": 17, "onesided": onesided}
    check_compiled(node_model("STFT", feeds, **options), feeds)


def test_a_frame_that_is_the_signal() -> None:
    x = normal(1, 9, 1)
    model = node_model("STFT", {"x": x}, constants={"s": np.array(2)}, opset=17)
    (found,) = run(model, {"x": x})
    wanted = np.fft.rfft(x[..., 0].astype(np.float64))[:, None]
    np.testing.assert_allclose(_complex(found), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows(op: str) -> None:
    for options in ({}, {"periodic": 0}, {"output_datatype": 11}):
        model = node_model(op, {}, constants={"n": np.array(10)}, opset=17, **options)
        check(model, {}, rtol=1e-5, atol=1e-6)
    (one,) = run(node_model(op, {}, constants={"n": np.array(1)}, opset=17, periodic=0), {})
    np.testing.assert_array_equal(one, [1])


@pytest.mark.parametrize("sizes", [(8, 16, 8192), (80, 400, 16000), (5, 32, 8000)])
def test_mel_filters(sizes: tuple[int, int, int]) -> None:
    constants = {f"c{i}": np.array(size) for i, size in enumerate(sizes)}
    constants |= {"low": np.array(20, np.float32), "high": np.array(sizes[2] / 2, np.float32)}
    check(node_model("MelWeightMatrix", {}, constants=constants, opset=17), {})


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((2, 5, 3), {}, "no real or complex"),
        ((2, 5, 2), {"onesided": 1}, "the input is complex"),
        ((2, 5, 1), {"axis": 2}, "last dimension"),
        ((2, 5, 1), {"constants": {"l": np.array(0)}}, "0 points"),
    ],
)
def test_invalid(shape: tuple[int, ...], options: dict[str, Any], message: str) -> None:
    check_invalid("DFT", {"x": normal(*shape)}, message, opset=17, **options)


def test_tables_that_are_too_large() -> None:
    check_unsupported("DFT", {"x": normal(1, 8192, 2)}, "a table of", opset=17)
    invalid = {"constants": {"s": np.array(0)}, "opset": 17}
    check_invalid("STFT", {"x": normal(1, 9, 1)}, "every 0", **invalid)
