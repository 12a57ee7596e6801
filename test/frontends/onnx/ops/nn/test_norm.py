# SPDX-License-Identifier: MIT OR Apache-2.0
"""Normalisations and dropout against onnxruntime, in several dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import normal, positive, tolerance
from harness import check_node, compare, node_model, run, run_compiled
from refusals import check_invalid, check_unsupported

DTYPES = ["float32", "float16", "float64"]


def parameters(x: np.ndarray, *shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The input and random parameters of the same dtype."""
    dtype = x.dtype.name
    rest = {f"p{i}": normal(*shape, dtype=dtype, seed=i + 1) for i, shape in enumerate(shapes)}
    return {"x": x, **rest}


@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_norm(dtype: str) -> None:
    inputs = parameters(normal(2, 3, 4, 5, dtype=dtype), (3,), (3,), (3,))
    inputs["var"] = positive(3, dtype=dtype)
    check_node("BatchNormalization", inputs, **tolerance(dtype))


@pytest.mark.parametrize(
    ("shape", "options"),
    [((2, 3), {"epsilon": 0.1}), ((2, 3, 4), {"opset": 9}), ((2, 3, 4), {"opset": 7})],
)
def test_batch_norm_of_other_ranks(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    inputs = parameters(normal(*shape), (3,), (3,), (3,)) | {"var": positive(3)}
    check_node("BatchNormalization", inputs, **options)


def test_batch_norm_in_training_gives_running_statistics() -> None:
    inputs = parameters(normal(2, 3, 4), (3,), (3,), (3,)) | {"var": positive(3)}
    check_node("BatchNormalization", inputs, training_mode=1, momentum=0.7, outputs=3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [-1, 2, 1])
def test_layer_norm(dtype: str, axis: int) -> None:
    x = normal(2, 3, 4, 5, dtype=dtype)
    shape = x.shape[axis:]
    inputs = parameters(x, shape, shape)
    check_node("LayerNormalization", inputs, axis=axis, opset=17, **tolerance(dtype))


def test_layer_norm_broadcasts_scale_and_bias() -> None:
    inputs = parameters(normal(2, 3, 4, 5), (4, 5), (5,))
    check_node("LayerNormalization", inputs, axis=-2, opset=17, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_gives_its_statistics(dtype: str) -> None:
    inputs = parameters(normal(3, 8, dtype=dtype), (8,))
    check_node("LayerNormalization", inputs, outputs=3, opset=17, **tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm(dtype: str) -> None:
    inputs = parameters(normal(2, 3, 4, 5, dtype=dtype), (4, 5))
    check_node("RMSNormalization", inputs, axis=2, opset=23, **tolerance(dtype))


def test_rms_norm_with_a_scale_of_another_dtype() -> None:
    x, scale = normal(3, 5, dtype="float16"), normal(5)
    model = node_model("RMSNormalization", {"x": x, "scale": scale}, opset=23)
    (found,) = run(model, {"x": x, "scale": scale})
    wide = x.astype(np.float32)
    wanted = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
    compare([found], [wanted.astype(np.float16) * scale], 1e-3, 1e-3)


def _normalised(x: np.ndarray, axes: tuple[int, ...], *, centred: bool = True) -> np.ndarray:
    wide = x.astype(np.float64)
    wide = wide - wide.mean(axes, keepdims=True) if centred else wide
    return wide / np.sqrt((wide * wide).mean(axes, keepdims=True) + 1e-5)


LONG = [(1, 24, 60, 61), (1, 3, 7, 9973), (2, 16, 128, 150)]  # one of them in no equal parts


@pytest.mark.parametrize("shape", LONG, ids=str)
@pytest.mark.parametrize("mean", [0.0, 30.0])
def test_norms_of_rows_that_no_cache_holds(shape: tuple[int, ...], mean: float) -> None:
    generator = np.random.default_rng()
    x = (generator.standard_normal(shape) + mean).astype(np.float32)
    scale, bias = (generator.standard_normal(shape[1]).astype(np.float32) for _ in range(2))
    inputs = {"x": x, "scale": scale, "bias": bias}
    model = node_model("GroupNormalization", inputs, num_groups=1, opset=21)
    axes = (1, 2, 3)
    per_channel = [each.reshape(-1, 1, 1).astype(np.float64) for each in (scale, bias)]
    wanted = _normalised(x, axes) * per_channel[0] + per_channel[1]
    np.testing.assert_allclose(run_compiled(model, inputs)[0], wanted, rtol=1e-4, atol=2e-5)
    whole = {"x": x, "scale": np.ones(shape[1:], np.float32)}
    for operator, centred in (("LayerNormalization", True), ("RMSNormalization", False)):
        model = node_model(operator, whole, axis=1, opset=23)
        wanted = _normalised(x, axes, centred=centred)
        np.testing.assert_allclose(run_compiled(model, whole)[0], wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_no_number_is_left_of_a_long_row_with_a_nan_or_an_infinity(special: float) -> None:
    x = np.random.default_rng().standard_normal((2, 8, 256, 160)).astype(np.float32)
    x[1, 7, 255, 159] = special
    inputs = {"x": x, "scale": np.ones(8, np.float32), "bias": np.zeros(8, np.float32)}
    model = node_model("GroupNormalization", inputs, num_groups=1, opset=21)
    (found,) = run_compiled(model, inputs)
    np.testing.assert_allclose(found[0], _normalised(x[:1], (1, 2, 3))[0], rtol=1e-4, atol=2e-5)
    assert np.isnan(found[1, 7, 255, 159])
    assert not found[1][np.isfinite(found[1])].any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_instance_norm(dtype: str) -> None:
    inputs = parameters(normal(2, 3, 4, 5, dtype=dtype), (3,), (3,))
    check_node("InstanceNormalization", inputs, **tolerance(dtype) | {"atol": 5e-3})


@pytest.mark.parametrize(("opset", "size"), [(18, 3), (21, 6)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_group_norm(opset: int, size: int, dtype: str) -> None:
    inputs = parameters(normal(2, 6, 4, 5, dtype=dtype), (size,), (size,))
    # onnxruntime computes the statistics of float64 in float32, as stash_type says.
    allowed = tolerance("float32" if dtype == "float64" else dtype)
    check_node("GroupNormalization", inputs, num_groups=3, opset=opset, **allowed)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_norm(order: int, axis: int) -> None:
    check_node("LpNormalization", {"x": normal(2, 6, 4)}, p=order, axis=axis)


def test_lp_norm_of_zeros_is_zero() -> None:
    check_node("LpNormalization", {"x": np.zeros((2, 3), np.float32)})


def test_mean_variance_norm() -> None:
    x = {"x": normal(2, 6, 4, 3)}
    check_node("MeanVarianceNormalization", x, opset=13)
    check_node("MeanVarianceNormalization", x, axes=[1, -1], opset=13, rtol=1e-4, atol=1e-4)


def test_local_response_norm() -> None:
    check_node("LRN", {"x": normal(2, 6, 4, 3)}, size=3)
    check_node("LRN", {"x": normal(2, 6, 4, 1)}, size=5, alpha=0.5, beta=0.3, bias=0.2)


def test_local_response_norm_of_even_size_sees_more_channels_behind() -> None:
    x = np.array([1, 2, 3], np.float32).reshape(1, 3, 1)
    found = run(node_model("LRN", {"x": x}, size=2, alpha=2.0, beta=1.0), {"x": x})
    compare(found, [np.array([1 / 6, 2 / 14, 3 / 10], np.float32).reshape(1, 3, 1)], 1e-6, 0)


@pytest.mark.parametrize("options", [{}, {"opset": 10}, {"opset": 7, "ratio": 0.3}])
def test_dropout_does_nothing(options: dict[str, Any]) -> None:
    check_node(
        "Dropout", {"x": normal(3, 4)}, outputs=1 if options.get("opset") == 7 else 2, **options
    )


def test_dropout_in_training_is_unsupported() -> None:
    constants = {"ratio": np.float32(0.5)[...], "training": np.bool_(True)[...]}
    check_unsupported("Dropout", {"x": normal(3, 4)}, "random", constants=constants)
    constants["ratio"] = np.float32(0)[...]
    check_node("Dropout", {"x": normal(3, 4)}, constants=constants)


@pytest.mark.parametrize(
    ("op", "shapes", "options", "message"),
    [
        ("LayerNormalization", [(2, 4), (3,)], {}, "do not broadcast"),
        ("LayerNormalization", [(2, 4), (3, 2, 4)], {}, "does not broadcast"),
        ("LayerNormalization", [(2, 4), (4,)], {"axis": 2}, "axis 2"),
        ("InstanceNormalization", [(2, 3, 4), (2,), (3,)], {}, "expected \\(3,\\)"),
        ("GroupNormalization", [(2, 6, 4), (6,), (6,)], {"num_groups": 4, "opset": 21}, "4 groups"),
        ("LpNormalization", [(2, 3)], {"p": 3}, "'p'"),
        ("LRN", [(2, 3, 4)], {"size": 0}, "size 0"),
        ("BatchNormalization", [(2, 3), (3,), (3,), (3,), (2,)], {}, "input 4"),
    ],
)
def test_invalid(
    op: str, shapes: list[tuple[int, ...]], options: dict[str, Any], message: str
) -> None:
    inputs = {f"x{i}": normal(*shape) for i, shape in enumerate(shapes)}
    check_invalid(op, inputs, message, **options)


def test_a_stash_in_16_bits_is_unsupported() -> None:
    inputs = {"x": normal(2, 4), "scale": normal(4)}
    check_unsupported("LayerNormalization", inputs, "stash_type 10", stash_type=10)
