# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of few queries with many keys, run without a GPU and compared with float64."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from gpu_code import assemble, compiled
from test_attention_code import CAUSAL, attention
from test_emulated_kernels import _check
from test_emulated_kernels import attention as attention_case

import xyntra
from xyntra.config import Config
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.attention.decode import plan as decode_plan
from xyntra.targets.cuda.code.kernel_image import KernelImage


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


@pytest.mark.parametrize(
    ("dtype", "lengths", "size", "heads", "cluster", "masks"),
    [
        ("float16", (1, 700), 64, (2, 2), 1, {}),
        ("bfloat16", (1, 517), 128, (6, 2), 4, {}),
        ("bfloat16", (2, 260), 256, (12, 1), 4, {}),
        ("float16", (16, 300), 33, (2, 1), 2, {"masked": True}),
        ("float16", (1, 2100), 64, (3, 1), 8, {"masked": True}),
        ("float16", (5, 300), 40, (4, 2), 1, {"causal": True}),
        ("float32", (1, 333), 64, (3, 1), 2, {"masked": True}),
        ("float16", (37, 300), 64, (2, 1), 1, {"masked": True}),
        ("float32", (3, 260), 130, (2, 2), 4, {}),
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
    monkeypatch.setattr(decode_plan, "_CLUSTERS", (cluster,))
    case = attention_case(dtype, lengths, size, heads=heads, **masks)
    features = ["mapa.shared::cluster", "bar.warp.sync"] if cluster > 1 else ["bar.warp.sync"]
    features += ["mma.sync"] * (dtype != "float32")
    _check(case, context, *features * (masks == {}))


def with_a_past(heads: int, groups: int, new: int, past: int, size: int) -> onnx.ModelProto:
    """Causal attention of `new` queries, behind a cache of keys and values."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT16
    shapes = {"q": (heads, new), "k": (groups, new), "v": (groups, new)}
    shapes |= {"pk": (groups, past), "pv": (groups, past), "y": (heads, new)}
    infos = [helper.make_tensor_value_info(n, kind, (1, *s, size)) for n, s in shapes.items()]
    names = ["q", "k", "v", "", "pk", "pv"]
    node = helper.make_node("Attention", names, ["y"], is_causal=1)
    graph = helper.make_graph([node], "g", infos[:-1], infos[-1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])


@pytest.mark.parametrize("sizes", [(4, 2, 3, 600, 64), (6, 1, 4, 509, 40), (2, 2, 1, 900, 128)])
def test_a_cache(sizes: tuple[int, int, int, int, int], settings: Config) -> None:
    heads, groups, new, past, size = sizes
    rng = np.random.default_rng(3)
    shapes = [(heads, new), *[(groups, new)] * 2, *[(groups, past)] * 2]
    arrays = [rng.standard_normal((1, *shape, size)).astype(np.float16) for shape in shapes]
    executable = xyntra.compile(with_a_past(*sizes), target="cuda:sm_90a", config=settings)
    images = [KernelImage.from_bytes(each) for each in executable.artifact.objects.values()]
    assert any("mapa.shared::cluster" in image.ptx for image in images)
    (result,) = run_artifact(executable.artifact, arrays, {})
    q, *rest = (x.astype(np.float64) for x in arrays)
    k, v = (np.concatenate([rest[2 + i], rest[i]], 2).repeat(heads // groups, 1) for i in (0, 1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(size)
    seen = np.arange(past + new) <= past + np.arange(new)[:, None]
    weights = np.exp(np.where(seen, scores, -np.inf))
    wanted = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(np.asarray(result, np.float64), wanted, 2e-3, 2e-3)


GROUPED = attention((2, 32, 1, 4096, 128, 128), "bf16").replace("b, h, t", "b, h floordiv 4, t")
GROUPED = GROUPED.replace("2x32x4096x128", "2x8x4096x128")
KERNELS = {
    "one query": attention((1, 32, 1, 4096, 128, 128), "bf16"),
    "groups": GROUPED,
    "several queries": attention((1, 12, 8, 1000, 64, 64), "f16", CAUSAL + "causal_offset = 992, "),
    "key mask": attention((8, 12, 1, 1024, 64, 64), "f16", masks={"keep": "b, t"}),
    "256": attention((1, 8, 2, 1024, 256, 256), "f16"),
    "f32": attention((1, 8, 1, 1024, 128, 128), "f32"),
    "f32, 256": attention((1, 8, 1, 1024, 256, 256), "f32"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_registers_suffice(name, tmp_path) -> None:
    image = compiled(KERNELS[name])
    (launch,) = image.launches
    assert launch.shared <= 227 << 10
    assert "0 bytes spill stores" in assemble(image, "sm_90a", tmp_path)


def test_heads_that_share_keys_read_them_together() -> None:
    image = compiled(GROUPED)
    (launch,) = image.launches
    assert launch.grid // launch.cluster == 2 * 8
    assert "cp.async.cg.shared.global.L2::128B" in image.ptx


def test_large_tiles_need_more_shared_memory_than_some_have() -> None:
    (launch,) = compiled(GROUPED, "sm_120").launches
    assert (launch.cluster, launch.shared <= 99 << 10) == (1, True)


@pytest.mark.parametrize(("architecture", "shares"), [("sm_80", False), ("sm_120", True)])
def test_small_tiles_are_shared_where_there_are_clusters(architecture, shares, tmp_path) -> None:
    image = compiled(attention((1, 12, 1, 2048, 64, 64), "f16"), architecture)
    (launch,) = image.launches
    assert (launch.cluster > 1) == shares
    assert launch.shared <= 99 << 10
    assert "0 bytes spill stores" in assemble(image, architecture, tmp_path)


def test_results_with_less_shared_memory(context: ir.Context) -> None:
    case = attention_case("float16", (1, 1100), 64, heads=(2, 1))
    _check(case, context, "mapa.shared::cluster", "mma.sync", architecture="sm_120")
