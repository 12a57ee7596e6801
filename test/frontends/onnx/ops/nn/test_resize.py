# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resize and Upsample against onnxruntime; one test is many cases, compiled as one model each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import bytes_, normal, tolerance
from harness import check_compiled, check_node, node_model
from refusals import check_invalid, check_unsupported

TRANSFORMATIONS = [
    "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric",
]  # fmt: skip
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
TARGETS: list[dict[str, list[float]]] = [{"sizes": [1, 2, 9, 4]}, {"scales": [1, 1, 0.6, 1.7]}]


def check(
    x: np.ndarray,
    *,
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    roi: list[float] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    **options: Any,
) -> None:
    constants: dict[str, np.ndarray] = {}
    for name, values, dtype in (("roi", roi, "float32"), ("scales", scales, "float32")):
        if values is not None:
            constants[name] = np.array(values, dtype)
    if sizes is not None:
        constants["sizes"] = np.array(sizes, np.int64)
    names = ["x", *(name if name in constants else "" for name in ("roi", "scales", "sizes"))]
    while not names[-1]:
        names.pop()
    options = {"opset": 19} | options
    check_node(
        "Resize", {"x": x}, constants=constants, names=names, rtol=rtol, atol=atol, **options
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_nearest(transformation: str, rounding: str, target: dict[str, Any]) -> None:
    options = {"coordinate_transformation_mode": transformation, "nearest_mode": rounding}
    check(normal(1, 2, 5, 7), **options, **target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_weighted(transformation: str, mode: str, target: dict[str, Any]) -> None:
    options = {"coordinate_transformation_mode": transformation, "mode": mode}
    check(normal(1, 2, 5, 7), **options, **target)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [[1, 2, 2, 3], [1, 2, 8, 3], [1, 2, 9, 20]])
def test_antialias(mode: str, sizes: list[int]) -> None:
    check(normal(1, 2, 7, 9), sizes=sizes, mode=mode, antialias=1)


def test_antialias_over_many_elements() -> None:
    check(normal(1, 1, 60, 4), sizes=[1, 1, 3, 4], mode="linear", antialias=1)


@pytest.mark.parametrize("factor", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias_in_fused_kernels(mode: str, factor: int) -> None:
    """Filters of many taps are reductions, which fusion and its checker must see alike."""
    x, size = normal(1, 2, 64, 64), 64 // factor
    constants, names = {"sizes": np.array([1, 2, size, size])}, ["x", "", "", "sizes"]
    options = {"mode": mode, "antialias": 1, "opset": 19}
    model = node_model("Resize", {"x": x}, constants=constants, names=names, **options)
    for fuse in (True, False):
        check_compiled(model, {"x": x}, fuse=fuse)


def test_cubic_without_what_is_outside() -> None:
    options = {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}
    check(normal(1, 2, 5, 7), scales=[1, 1, 0.6, 1.7], **options)


@pytest.mark.parametrize("step", [2, 3])
def test_integer_factors(step: int) -> None:
    check(
        normal(1, 2, 3, 4),
        scales=[1, 1, step, step],
        opset=13,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_region_of_interest(mode: str) -> None:
    x = normal(1, 2, 5, 7)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": mode}
    roi = [0, 0, 0.2, 0.3, 1, 1, 0.8, 1.2]
    check(x, sizes=[1, 2, 6, 9], roi=roi, extrapolation_value=7.0, **options)
    check(x, sizes=[6, 9], axes=[2, 3], roi=[0.2, 0.3, 0.8, 0.9], **options)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_axes_and_aspect_ratio(mode: str) -> None:
    x = normal(1, 2, 5, 7)
    check(x, scales=[2, 3], axes=[3, 2], mode=mode)
    check(x, sizes=[6, 9], axes=[2, 3], mode=mode, keep_aspect_ratio_policy="not_larger")
    check(x, sizes=[6, 9], axes=[3, 2], mode=mode, keep_aspect_ratio_policy="not_smaller")


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [((3, 7), [5, 9]), ((7, 3, 4), [5, 4, 4]), ((1, 2, 3, 4, 5), [1, 2, 6, 5, 4])],
)
def test_ranks(shape: tuple[int, ...], sizes: list[int]) -> None:
    check(normal(*shape), sizes=sizes, mode="linear")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["float16", "uint8", "int8", "int32"])
def test_dtypes(dtype: str, mode: str) -> None:
    if dtype.endswith("int8"):
        x = bytes_(1, 2, 5, 7, dtype=dtype)
    else:
        x = (50 * normal(1, 2, 5, 7)).astype(dtype)
    allowed = tolerance(dtype) if dtype == "float16" else {}
    # These weights are exact, so that no rounding decides which integer is below.
    check(x, sizes=[1, 2, 10, 28], mode=mode, **allowed)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 2], [1, 1, 1.5, 2.5], [1, 1, 0.6, 0.7]])
def test_before_opset_11(scales: list[float], mode: str) -> None:
    x, constants = {"x": normal(1, 2, 5, 7)}, {"scales": np.array(scales, np.float32)}
    check_node("Resize", x, constants=constants, opset=10, mode=mode, rtol=1e-5)
    if min(scales) >= 1:
        check_node("Upsample", x, constants=constants, opset=9, mode=mode, rtol=1e-5)
        check_node("Upsample", x, opset=7, mode=mode, scales=[float(s) for s in scales])


def test_opset_11_marks_what_is_left_out_by_empty_arrays() -> None:
    empty = np.zeros(0, np.float32)
    constants = {"roi": empty, "scales": empty, "sizes": np.array([1, 2, 9, 4])}
    check_node("Resize", {"x": normal(1, 2, 5, 7)}, constants=constants, opset=11, mode="linear")


def test_half_pixels_for_nearest_neighbours() -> None:
    constants = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 1.5, 2], np.float32)}
    mode = {"coordinate_transformation_mode": "tf_half_pixel_for_nn"}
    check_node("Resize", {"x": normal(1, 2, 5, 7)}, constants=constants, opset=11, **mode)


@pytest.mark.parametrize(
    ("constants", "names", "options", "message"),
    [
        ({"s": [1, 1, 0, 1]}, ["x", "", "s"], {}, "not positive"),
        ({"s": [1, 1]}, ["x", "", "s"], {}, "2 scales"),
        ({}, ["x"], {}, "exactly one"),
        ({"s": [1, 1, 2, 2]}, ["x", "", "s"], {"mode": "area"}, "'mode'"),
        ({"s": [1, 1, 2, 2]}, ["x", "", "s"], {"nearest_mode": "up"}, "'up'"),
        ({"s": [2]}, ["x", "", "s"], {"axes": [4]}, "axis 4"),
        (
            {"s": [1, 1, 2, 2]},
            ["x", "", "s"],
            {"coordinate_transformation_mode": "corners"},
            "'corners'",
        ),
    ],
)
def test_invalid(
    constants: dict[str, list[float]], names: list[str], options: dict[str, Any], message: str
) -> None:
    arrays = {name: np.array(values, np.float32) for name, values in constants.items()}
    x = {"x": normal(1, 2, 3, 4)}
    check_invalid("Resize", x, message, constants=arrays, names=names, opset=19, **options)


def test_sizes_that_are_not_constant_are_unsupported() -> None:
    inputs = {"x": normal(1, 1, 2, 2), "sizes": np.array([1, 1, 4, 4])}
    check_unsupported("Resize", inputs, "must be a constant", names=["x", "", "", "sizes"])


def test_absurd_sizes_are_refused_before_any_memory_is_taken() -> None:
    constants = {"sizes": np.array([1, 1, 2**40, 2])}
    names = ["x", "", "", "sizes"]
    check_unsupported(
        "Resize", {"x": normal(1, 1, 2, 2)}, "2..40|elements", constants=constants, names=names
    )
