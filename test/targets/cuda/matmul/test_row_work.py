# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products that compute what belongs to rows: statistics of their results, values of norms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from emulator import run_image
from emulator.types import Array
from gpu_code import assemble, compiled
from norm_kernels import COLUMNS, producer, reader

from xyntra.passes.lower.cuda.matmul import select
from xyntra.passes.lower.cuda.matmul.wgmma import plan as wgmma_plan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.targets.cuda.code.kernel_image import KernelImage

_TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
_ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8}
_TILES = [
    Tile(64, 64), Tile(128, 64), Tile(128, 128), Tile(64, 64, split=2), Tile(64, 64, turns=True),
    Tile(128, 64, turns=True),
]  # fmt: skip


def _random(shape: Sequence[int], dtype: str, seed: int) -> Array:
    values = np.random.default_rng(seed).normal(0.5, 2.0, shape)
    return values.astype(_TYPES.get(dtype, np.dtype(np.float32)))


def _statistics(x: Array) -> tuple[Array, Array]:
    parts = x.astype(np.float64).reshape(len(x), -1, COLUMNS)
    sums = parts.sum(axis=2)
    squares = ((parts - sums[..., None] / COLUMNS) ** 2).sum(axis=2)
    return sums.T.astype(np.float32), squares.T.astype(np.float32)


def _row_values(x: Array) -> tuple[Array, Array]:
    exact = x.astype(np.float64)
    mean = exact.mean(axis=1, keepdims=True)
    return mean, 1 / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)


def _run(image: KernelImage, arrays: Sequence[Array]) -> None:
    run_image(image, [each.reshape(-1).view(np.uint8) for each in arrays])


def _check_reader(
    image: KernelImage, m: int, sizes: Sequence[int], k: int, dtype: str, *,
    special: float = 1.0, keeps: bool = False,
) -> None:  # fmt: skip
    n = sum(sizes)
    x, w = _random((m, k), dtype, 1), _random((k, n), dtype, 2)
    x[m // 2, 5] *= special
    u, b = _random((n,), "f32", 3), _random((n,), "f32", 4)
    found = [np.zeros((m, size), _TYPES[dtype]) for size in sizes]
    mean, deviation = _row_values(x)
    means = [np.zeros(m, np.float32)] * keeps
    _run(image, [x, w, *_statistics(x), u, b, *found, *means])
    assert all(np.allclose(each, mean[:, 0], rtol=1e-5) for each in means)
    sums = x.astype(np.float64) @ w.astype(np.float64)
    wanted = (sums - mean * u) * deviation + b
    scale = (np.abs(sums) + np.abs(mean * u)) * deviation + np.abs(b)
    got = np.concatenate(found, axis=1).astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    error = np.abs(got - wanted) / (_ROUNDING[dtype] * np.abs(wanted) + 1e-4 * scale)
    assert np.nanmax(error) <= 1


def _check_producer(image: KernelImage, m: int, n: int, k: int, dtype: str) -> None:
    x, w, r = (_random(s, dtype, i) for i, s in enumerate([(m, k), (k, n), (m, n)]))
    g, b = _random((n,), dtype, 4), _random((n,), dtype, 5)
    y = np.zeros((m, n), _TYPES[dtype])
    sums, squares = (np.full((n // COLUMNS, m), np.nan, np.float32) for _ in range(2))
    mean, deviation = _row_values(r)
    _run(image, [x, w, *_statistics(r), r, g, b, y, sums, squares])
    exact = x.astype(np.float64) @ w.astype(np.float64)
    wanted = exact + (r - mean) * deviation * g.astype(np.float64) + b.astype(np.float64)
    bound = _ROUNDING[dtype] * np.abs(wanted) + 1e-4 * (1 + np.abs(exact))
    assert np.max(np.abs(y - wanted) / bound) <= 1
    for found, known in zip((sums, squares), _statistics(y), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-4, atol=1e-3)


def _on_warpgroups(tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [tile])
    monkeypatch.setattr(select, "_is_faster", lambda *_: True)


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        ("f16", (40, 64, 64)), ("bf16", (70, 96, 96)), ("f16", (70, 64, 1024)),
        ("f16", (17, 32, 40)), ("f16", (1, 320, 64)),
    ],
)  # fmt: skip
def test_statistics_by_warps(dtype: str, sizes: tuple[int, int, int]) -> None:
    image = compiled(producer(*sizes, dtype))
    assert len(image.launches) == 1
    assert "mma.sync" in image.ptx
    _check_producer(image, *sizes, dtype)


@pytest.mark.parametrize("tile", _TILES)
def test_statistics_by_warpgroups(
    tile: Tile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _on_warpgroups(tile, monkeypatch)
    image = compiled(producer(70, 96, 256, "f16"))
    assert len(image.launches) == 1
    assert "wgmma.mma_async" in image.ptx
    _check_producer(image, 70, 96, 256, "f16")
    _assert_clean(assemble(image, "sm_90a", tmp_path))


def _assert_clean(report: str) -> None:
    assert "C75" not in report
    assert "0 bytes spill stores" in report
    assert not [line for line in report.splitlines() if "spill" in line and " 0 bytes" not in line]


@pytest.mark.parametrize("special", [1.0, np.inf, np.nan])
@pytest.mark.parametrize(("m", "n", "k"), [(70, 96, 96), (130, 64, 64)])
def test_norms_of_factors_by_warps(m: int, n: int, k: int, special: float) -> None:
    image = compiled(reader(m, [n], k, "f16"))
    assert len(image.launches) == 1
    with np.errstate(invalid="ignore"):
        _check_reader(image, m, [n], k, "f16", special=special)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_100a", "sm_120"])
def test_norms_of_factors_on_other_gpus(architecture: str, tmp_path: Path) -> None:
    image = compiled(reader(36, [96], 128, "f16"), architecture)
    (launch,) = image.launches
    assert launch.programmatic == ("griddepcontrol.wait" in image.ptx)
    assert "mma.sync" in image.ptx
    _check_reader(image, 36, [96], 128, "f16")
    assemble(image, architecture, tmp_path)


@pytest.mark.parametrize("tile", _TILES)
def test_norms_of_factors_by_warpgroups(tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    _on_warpgroups(tile, monkeypatch)
    image = compiled(reader(130, [128], 256, "bf16"))
    assert len(image.launches) == 1
    _check_reader(image, 130, [128], 256, "bf16")


@pytest.mark.parametrize("sizes", [[64, 128, 64], [128, 64]])
def test_norms_of_factors_of_several_outputs(sizes: list[int]) -> None:
    image = compiled(reader(70, sizes, 64, "f16"))
    assert len(image.launches) == 1
    _check_reader(image, 70, sizes, 64, "f16")


def test_values_that_others_read_are_written() -> None:
    image = compiled(reader(70, [64], 64, "f16", keeps=True))
    assert len(image.launches) == 1
    _check_reader(image, 70, [64], 64, "f16", keeps=True)


def test_norms_without_tensor_cores_have_launches_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(select, "plan_on_tensor_cores", lambda *_: None)
    image = compiled(producer(40, 64, 64, "f16"))
    assert len(image.launches) > 1
    _check_producer(image, 40, 64, 64, "f16")
