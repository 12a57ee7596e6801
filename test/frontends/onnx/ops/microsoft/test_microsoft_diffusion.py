# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators of com.microsoft that onnxruntime has on GPUs alone, against numpy in float64."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest
from arrays import normal
from harness import node_model, reference, run, run_compiled
from refusals import check_invalid, check_unsupported

DOMAIN = "com.microsoft"


def test_bias_split_gelu() -> None:
    x = {"x": normal(2, 3, 8), "b": normal(8)}
    (found,) = run_compiled(node_model("BiasSplitGelu", x, domain=DOMAIN), x)
    left, right = np.split((x["x"] + x["b"]).astype(np.float64), 2, -1)
    gelu = right * 0.5 * (1 + np.vectorize(erf)(right / np.sqrt(2)))
    np.testing.assert_allclose(found, left * gelu, rtol=1e-5, atol=1e-6)


def _group_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, silu: bool) -> np.ndarray:
    """Two groups of the last dimension."""
    wide = x.astype(np.float64).reshape(*x.shape[:3], 2, -1)
    centred = wide - wide.mean((1, 2, 4), keepdims=True)
    spread = np.sqrt((centred**2).mean((1, 2, 4), keepdims=True) + 1e-5)
    result = (centred / spread).reshape(x.shape) * scale + bias
    return result / (1 + np.exp(-result)) if silu else result


@pytest.mark.parametrize("silu", [0, 1])
@pytest.mark.parametrize("channels_last", [0, 1])
def test_group_norm(channels_last: int, silu: int) -> None:
    x, vectors = normal(2, 3, 5, 6), {"g": normal(6), "b": normal(6, seed=1)}
    wanted = _group_norm(x, *vectors.values(), bool(silu))
    order = [0, 1, 2, 3] if channels_last else [0, 3, 1, 2]
    feeds = {"x": x.transpose(order).copy()} | vectors
    options = {"groups": 2, "activation": silu, "channels_last": channels_last}
    (found,) = run_compiled(node_model("GroupNorm", feeds, domain=DOMAIN, **options), feeds)
    np.testing.assert_allclose(found, wanted.transpose(order), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("skip_shape", [(2, 3, 5, 6), (2, 1, 1, 6), (2, 6)])
def test_skip_group_norm(skip_shape: tuple[int, ...]) -> None:
    x = normal(2, 3, 5, 6)
    feeds = {"x": x, "g": normal(6), "b": normal(6, seed=1), "s": normal(*skip_shape)}
    feeds["c"] = normal(6, seed=2)
    model = node_model("SkipGroupNorm", feeds, domain=DOMAIN, groups=2, outputs=2)
    found, total = run_compiled(model, feeds)
    skip = feeds["s"].reshape(2, 1, 1, 6) if len(skip_shape) == 2 else feeds["s"]
    np.testing.assert_allclose(total, x + skip + feeds["c"], rtol=1e-5, atol=1e-6)
    wanted = _group_norm(total, feeds["g"], feeds["b"], False)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_nhwc_conv() -> None:
    feeds = {"x": normal(2, 7, 6, 4), "w": normal(6, 3, 2, 2), "b": normal(6)}
    options = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1]}
    (found,) = run_compiled(node_model("NhwcConv", feeds, domain=DOMAIN, **options), feeds)
    turned = {n: a.transpose(0, 3, 1, 2).copy() if a.ndim == 4 else a for n, a in feeds.items()}
    (wanted,) = reference(node_model("Conv", turned, **options), turned)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


def test_refusals() -> None:
    x = {"x": normal(2, 3, 5, 6), "g": normal(6), "b": normal(6)}
    check_invalid("GroupNorm", x, "4 groups", domain=DOMAIN, groups=4)
    check_invalid("BiasSplitGelu", {"x": normal(2, 3), "b": normal(3)}, "halves", domain=DOMAIN)
    check_invalid("NhwcConv", {"x": normal(2, 3, 4), "w": normal(2, 3, 4)}, "four", domain=DOMAIN)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_gather_block_quantized(with_zeros: bool, bits: int) -> None:
    generator = np.random.default_rng(0)
    rows, columns, block = 7, 64, 16
    table = generator.integers(0, 1 << bits, (rows, columns))
    zeros = generator.integers(0, 1 << bits, (rows, columns // block))
    scales = normal(rows, columns // block)
    constants = {"t": _packed(table, bits), "s": scales}
    if with_zeros:
        constants["z"] = _packed(zeros, bits)
    else:
        zeros = np.full_like(zeros, 1 << (bits - 1))
    feeds = {"i": np.array([[3, -1, 0]])}
    options = {"names": ["t", "i", *list(constants)[1:]], "bits": bits, "block_size": block}
    model = node_model(
        "GatherBlockQuantized", feeds, constants=constants, domain=DOMAIN, **options
    )  # fmt: skip
    whole = (table - np.repeat(zeros, block, 1)) * np.repeat(scales, block, 1)
    for found in (run(model, feeds)[0], run_compiled(model, feeds)[0]):
        np.testing.assert_allclose(found, whole[feeds["i"]], rtol=1e-5)
    if bits == 4:
        np.testing.assert_allclose(reference(model, feeds)[0], whole[feeds["i"]], rtol=1e-5)


def _packed(values: np.ndarray, bits: int) -> np.ndarray:
    if bits == 8:
        return values.astype(np.uint8)
    return (values[:, ::2] | values[:, 1::2] << 4).astype(np.uint8)


def test_tables_of_other_layouts() -> None:
    feeds = {"t": np.zeros((4, 16), np.uint8), "i": np.array([0]), "s": normal(4, 2)}
    options = {"domain": DOMAIN, "block_size": 16}
    check_unsupported("GatherBlockQuantized", feeds, "axes", gather_axis=1, **options)
    check_unsupported("GatherBlockQuantized", feeds, "2 bits", bits=2, **options)
    check_invalid("GatherBlockQuantized", feeds, "scales", bits=8, **options)
