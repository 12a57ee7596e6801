# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of few queries with many keys, run without a GPU and compared with float64."""

from __future__ import annotations

import pytest
from gpu_code import assemble, compiled
from test_attention_code import CAUSAL, attention
from test_emulated_kernels import _check
from test_emulated_kernels import attention as attention_case

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.attention import decode_plan


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


@pytest.mark.parametrize(
    ("dtype", "lengths", "size", "heads", "cluster", "masks"),
    [
        ("float16", (1, 700), 64, (2, 2), 1, {}),
        ("bfloat16", (1, 517), 128, (6, 2), 4, {}),
        ("float16", (3, 301), 40, (4, 2), 2, {"causal": True}),
        ("bfloat16", (2, 260), 256, (12, 1), 4, {"causal": True}),
        ("float16", (16, 300), 33, (2, 1), 2, {"masked": True, "causal": True}),
        ("float16", (1, 1030), 64, (3, 1), 16, {"masked": True}),
    ],
)  # fmt: skip
def test_results(
    dtype: str,
    lengths: tuple[int, int],
    size: int,
    heads: tuple[int, int],
    cluster: int,
    masks: dict[str, bool],
    context: ir.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decode_plan, "ENABLED", True)
    monkeypatch.setattr(decode_plan, "_CLUSTERS", (cluster,))
    case = attention_case(dtype, lengths, size, heads=heads, **masks)
    features = ["mapa.shared::cluster", "bar.warp.sync"] if cluster > 1 else ["bar.warp.sync"]
    _check(case, context, "mma.sync", *features * (masks == {}))


GROUPED = attention((2, 32, 1, 4096, 128, 128), "bf16").replace("b, h, t", "b, h floordiv 4, t")
GROUPED = GROUPED.replace("2x32x4096x128", "2x8x4096x128")
KERNELS = {
    "one query": attention((1, 32, 1, 4096, 128, 128), "bf16"),
    "groups": GROUPED,
    "several queries": attention((1, 12, 8, 1000, 64, 64), "f16", CAUSAL + "causal_offset = 992, "),
    "key mask": attention((8, 12, 1, 1024, 64, 64), "f16", masks={"keep": "b, t"}),
    "256": attention((1, 8, 2, 1024, 256, 256), "f16"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_registers_suffice(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(decode_plan, "ENABLED", True)
    image = compiled(KERNELS[name])
    (launch,) = image.launches
    assert launch.shared <= 227 << 10
    assert "0 bytes spill stores" in assemble(image, "sm_90a", tmp_path)


def test_heads_that_share_keys_read_them_together(monkeypatch) -> None:
    monkeypatch.setattr(decode_plan, "ENABLED", True)
    (launch,) = compiled(GROUPED).launches
    assert launch.grid // launch.cluster == 2 * 8
