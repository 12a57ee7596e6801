# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of every kind, run without a GPU on ragged shapes and compared with float64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from emulator import EmulatorError, run_artifact
from emulator.types import Array
from gpu_code import change_devices

from verify.random_models.case import Case
from verify.random_models.check import compared
from verify.random_models.compile import compile_case
from verify.random_models.maker import CaseMaker
from verify.random_models.reference import expected
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.wgmma import plan as wgmma_plan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.cuda.stages import fuse_column_slices
from xyntra.passes.lower.gpu.elementwise import pointwise
from xyntra.plan.artifact import Artifact
from xyntra.targets.cuda.code.kernel_image import KernelImage


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


def _maker(kind: str, *, special: bool = False) -> CaseMaker:
    m = CaseMaker(kind, 7)
    m.special = special
    return m


def _run(artifact: Artifact, case: Case) -> list[Array]:
    inputs = case.arrays("input")
    arrays = [inputs[port.name] for port in artifact.plan.inputs]
    return run_artifact(artifact, arrays, case.arrays("weight"))


def _check(
    case: Case, context: ir.Context, *features: str, architecture: str = "sm_90a"
) -> Artifact:
    """Compile and run a case whose code must have some features."""
    artifact = compile_case(case, architecture, context)
    code = b"".join(bytes(each) for each in artifact.objects.values())
    assert [name for name in features if name.encode() not in code] == []
    finding = compared(_run(artifact, case), expected(case))
    assert not finding.problem
    assert finding.unknown < finding.elements or not finding.elements
    return artifact


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1,), (3, 70), (2, 9, 33), (0, 5)])
def test_arithmetic(dtype: str, shape: tuple[int, ...], context: ir.Context) -> None:
    m = _maker("elementwise", special=True)
    x, y = m.leaf(dtype, shape), m.leaf(dtype, shape[-1:])
    z = m.step("Gelu", [m.step("Mul", [x, y], shape)], shape)
    _check(m.finish(m.step("Max", [z, y], shape), z, label=""), context)


def test_functions_of_f64(context: ir.Context) -> None:
    m = _maker("elementwise", special=True)
    x, y = m.leaf("float64", (3, 37)), m.leaf("float64", (37,))
    wave = m.step("Cos", [m.step("Mul", [x, y], (3, 37))], (3, 37))
    power = m.step("Log", [m.step("Exp", [m.step("Tanh", [x], (3, 37))], (3, 37))], (3, 37))
    _check(m.finish(m.step("Add", [wave, power], (3, 37)), label=""), context, "fma.rn.f64")


def test_a_transposed_copy(context: ir.Context) -> None:
    m = _maker("elementwise")
    x = m.leaf("float32", (37, 70))
    turned = m.step("Transpose", [x], (70, 37), perm=[1, 0])
    y = m.step("Concat", [turned, m.leaf("float32", (3, 37))], (73, 37), axis=0)
    _check(m.finish(y, label=""), context)


def test_single_elements_of_which_a_thread_takes_several(
    context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointwise, "_BLOCKS", 1)
    m = _maker("elementwise", special=True)
    x, y = m.leaf("float32", (37, 71)), m.leaf("float32", (71, 37))
    turned = m.step("Transpose", [x], (71, 37), perm=[1, 0])
    _check(m.finish(m.step("Mul", [turned, y], (71, 37)), label=""), context)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("rows", "length"), [(5, 33), (3, 1000), (2, 5001)])
def test_softmax(dtype: str, rows: int, length: int, context: ir.Context) -> None:
    m = _maker("row")
    x = m.leaf(dtype, (rows, length), scale=3.0)
    _check(m.finish(m.step("Softmax", [x], x.shape, axis=-1), label=""), context)


@pytest.mark.parametrize(("rows", "length"), [(9, 65), (2, 3000)])
def test_layer_norm(rows: int, length: int, context: ir.Context) -> None:
    m = _maker("row", special=True)
    x = m.leaf("float32", (rows, length))
    columns = [m.leaf("float32", (length,), "weight") for _ in range(2)]
    x = m.step("Add", [x, m.leaf("float32", x.shape)], x.shape)
    y = m.step("LayerNormalization", [x, *columns], x.shape, axis=-1, epsilon=2.0**-17)
    _check(m.finish(y, x, label=""), context)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax"])
@pytest.mark.parametrize("axes", [[1], [0], [0, 1]])
def test_reductions(op: str, axes: list[int], context: ir.Context) -> None:
    m = _maker("row")
    x = m.leaf("float32", (37, 130))
    shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
    _check(m.finish(m.step(op, [x], shape, constants={"1": axes}), label=""), context)


def product(
    dtype: str, rows: int, columns: int, depth: int, *, prefer: str = "", turned: bool = False,
    constant: bool = False,
) -> Case:  # fmt: skip
    """relu(a b + bias) + residual."""
    m = _maker("contraction")
    m.prefer, m.precision = prefer, "f32" if dtype != "tf32" else "tf32"
    dtype = "float32" if dtype == "tf32" else dtype
    a = m.leaf(dtype, (rows, depth))
    kind = "weight" if constant else "input"
    b = m.leaf(dtype, (columns, depth) if turned else (depth, columns), kind)
    if turned:
        b = m.step("Transpose", [b], (depth, columns), perm=[1, 0])
    y = m.step("MatMul", [a, b], (rows, columns))
    y = m.step("Relu", [m.step("Add", [y, m.leaf(dtype, (columns,), kind)], y.shape)], y.shape)
    return m.finish(m.step("Add", [y, m.leaf(dtype, y.shape)], y.shape), label="")


@pytest.mark.parametrize("sizes", [(1, 40, 70), (70, 33, 19), (130, 70, 9), (65, 1, 100)])
def test_products_by_threads(sizes: tuple[int, int, int], context: ir.Context) -> None:
    _check(product("float32", *sizes, prefer="threads"), context)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", [(33, 68, 132), (70, 44, 36), (130, 72, 20), (197, 196, 68)])
def test_products_of_four_steps_at_once(
    sizes: tuple[int, int, int], turned: bool, context: ir.Context
) -> None:
    _check(product("float32", *sizes, turned=turned), context, "fma.rn.f32", "cp.async.cg")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        ("float16", (17, 40, 72)), ("bfloat16", (64, 64, 100)), ("tf32", (33, 24, 40)),
    ],
)  # fmt: skip
def test_products_by_warps(
    dtype: str, sizes: tuple[int, int, int], architecture: str, context: ir.Context
) -> None:
    _check(product(dtype, *sizes), context, "mma.sync", architecture=architecture)


@pytest.mark.parametrize(
    ("dtype", "sizes", "turned"),
    [
        ("float16", (70, 72, 136), False), ("bfloat16", (130, 64, 72), True),
        ("tf32", (65, 72, 68), True), ("bfloat16", (64, 200, 64), True),
    ],
)  # fmt: skip
def test_products_by_warpgroups(
    dtype: str, sizes: tuple[int, int, int], turned: bool, context: ir.Context
) -> None:
    case = product(dtype, *sizes, prefer="warpgroups", turned=turned)
    _check(case, context, "wgmma.mma_async", "cp.async.bulk.tensor", "mbarrier.try_wait")


@pytest.mark.parametrize(
    ("sizes", "feature"),
    [
        ((70, 72, 1160), "barrier.cluster"), ((130, 200, 72), "wgmma"), ((64, 64, 840), "wgmma"),
    ],
)  # fmt: skip
def test_products_with_weights_that_are_brought_first(
    sizes: tuple[int, int, int], feature: str, context: ir.Context
) -> None:
    case = product("float16", *sizes, prefer="warpgroups", constant=True)
    _check(case, context, feature, "griddepcontrol.launch_dependents")


@pytest.mark.parametrize("sizes", [(1, 512, 1160), (5, 72, 328), (1, 2048, 2048)])
def test_weights_of_few_rows_are_brought_first_by_warps(
    sizes: tuple[int, int, int], context: ir.Context
) -> None:
    case = product("float16", *sizes, constant=True)
    features = "mma.sync", "griddepcontrol.launch_dependents"
    artifact = _check(case, context, *features, architecture="sm_90")
    (image,) = (KernelImage.from_bytes(each) for each in artifact.objects.values())
    first = image.ptx.index("cp.async.cg")
    assert first < image.ptx.index("griddepcontrol.wait")


def test_products_with_weights_by_blocks_of_several_tiles(
    context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_devices(monkeypatch, multiprocessors=3)
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [Tile(64, 64)])
    case = product("float16", 130, 200, 72, prefer="warpgroups", constant=True)
    artifact = _check(case, context, "wgmma")
    (image,) = (KernelImage.from_bytes(each) for each in artifact.objects.values())
    assert [launch.grid for launch in image.launches] == [3]
    assert "griddepcontrol.launch_dependents" not in image.ptx


@pytest.mark.parametrize("tile", [None, Tile(128, 64, split=4), Tile(64, 64, split=8)])
def test_products_of_blocks_that_send_each_other_their_sums(
    tile: Tile | None, context: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tile is not None:
        monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [tile])
    case = product("bfloat16", 70, 72, 1096, prefer="warpgroups")
    _check(case, context, "cp.async.bulk.shared::cluster.shared::cta", "barrier.cluster")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("tile", "blocks", "sizes"),
    [
        (Tile(128, 64, turns=True), 1, (330, 72, 200)),
        (Tile(64, 128, turns=True), 2, (330, 136, 840)),
        (Tile(128, 192, turns=True), 1, (200, 200, 520)),
    ],
)  # fmt: skip
def test_products_of_warpgroups_that_take_turns(
    tile: Tile,
    blocks: int,
    sizes: tuple[int, int, int],
    turned: bool,
    context: ir.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wgmma_plan, "ranked_tiles", lambda *_: [tile])
    change_devices(monkeypatch, multiprocessors=blocks)
    case = product("bfloat16", *sizes, prefer="warpgroups", turned=turned)
    _check(case, context, "wgmma")


@pytest.mark.parametrize("tile", [Tile(64, 128), Tile(128, 256)])
@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
@pytest.mark.parametrize("biased", [False, True])
def test_gates_and_what_they_multiply(
    op: str,
    tile: Tile,
    biased: bool,
    context: ir.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wgmma_plan, "ranked_paired_tiles", lambda *_: [tile])
    monkeypatch.setattr(fuse_column_slices, "_LAUNCH", 1e3)  # whatever the tile is worth
    change_devices(monkeypatch, multiprocessors=3)
    rows, columns, depth = (130, 88, 72) if biased else (70, 256, 200)
    m = _maker("contraction")
    m.prefer = "warpgroups"
    shape, options = (rows, columns), {"transB": 1} if op == "Gemm" else {}
    x = m.leaf("float16", (rows, depth))
    parts = (columns, depth) if op == "Gemm" else (depth, columns)
    gate, up = (
        m.step(op, [x, m.leaf("float16", parts, "weight")], shape, **options) for _ in range(2)
    )
    if biased:
        gate, up = (
            m.step("Add", [each, m.leaf("float16", (columns,), "weight")], shape)
            for each in (gate, up)
        )
    y = m.step("Mul", [m.step("Swish", [gate], shape), up], shape)
    artifact = _check(m.finish(y, label=""), context, "wgmma")
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    assert [len(image.launches) for image in images if "wgmma" in image.ptx] == [1]


def test_products_by_clusters(context: ir.Context) -> None:
    _check(product("tf32", 31, 64, 1024), context, "barrier.cluster", "mapa")


def test_products_of_integers(context: ir.Context) -> None:
    m = _maker("contraction")
    a = m.leaf("int8", (33, 70), low=-128, high=128)
    b = m.leaf("int8", (70, 24), "weight", low=-128, high=128)
    _check(m.finish(m.step("MatMulInteger", [a, b], (33, 24), "int32"), label=""), context)


def attention(
    dtype: str, lengths: tuple[int, int], size: int, *, prefer: str = "", causal: bool = False,
    masked: bool = False, heads: tuple[int, int] = (2, 1), cap: float = 0.0,
) -> Case:  # fmt: skip
    """Attention of one batch with grouped queries."""
    m = _maker("attention")
    m.prefer = prefer
    q = m.leaf(dtype, (1, heads[0], lengths[0], size))
    k, v = (m.leaf(dtype, (1, heads[1], lengths[1], size)) for _ in range(2))
    operands = [q, k, v]
    if masked:
        operands.append(m.leaf("bool", (1, 1, lengths[0], lengths[1]), high=80))
    y = m.step("Attention", operands, q.shape, is_causal=int(causal), softcap=cap)
    return m.finish(y, label="")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "size"), [("float16", 40), ("float32", 32)])
def test_attention_by_warps(
    dtype: str, size: int, causal: bool, masked: bool, context: ir.Context
) -> None:
    case = attention(dtype, (19, 70), size, causal=causal, masked=masked)
    _check(case, context, *["mma.sync"] * (dtype == "float16"))


@pytest.mark.parametrize(
    ("lengths", "size", "causal", "multiprocessors"),
    [
        ((130, 77), 40, False, 2),  # 80 keys in one step
        ((70, 90), 72, True, 2),
        ((70, 257), 44, False, 6),  # warps with 48 keys in each of three steps
    ],
)
def test_attention_with_few_keys_left_over(
    lengths: tuple[int, int], size: int, causal: bool, multiprocessors: int,
    context: ir.Context, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    change_devices(monkeypatch, multiprocessors=multiprocessors)
    case = attention("float16", lengths, size, causal=causal, heads=(2, 2))
    _check(case, context, "mma.sync")


@pytest.mark.parametrize(
    ("size", "causal", "cap"),
    [(64, True, 0.0), (128, False, 0.0), (64, True, 1.5), (256, True, 1.5)],
)
def test_attention_by_warpgroups(size: int, causal: bool, cap: float, context: ir.Context) -> None:
    options = {"prefer": "warpgroups", "causal": causal, "heads": (1, 1), "cap": cap}
    case = attention("bfloat16", (130, 197), size, **options)
    _check(case, context, "wgmma.mma_async", "cp.async.bulk.tensor", "setmaxnreg")


@pytest.mark.parametrize(
    ("dtype", "groups", "strides"),
    [
        ("float16", 1, [1, 1]), ("float32", 1, [2, 1]), ("float16", 16, [1, 1]),
        ("float32", 2, [1, 2]),
    ],
)  # fmt: skip
def test_convolutions(dtype: str, groups: int, strides: list[int], context: ir.Context) -> None:
    m = _maker("convolution")
    x, w = m.leaf(dtype, (2, 16, 9, 7)), m.leaf(dtype, (16, 16 // groups, 3, 3), "weight")
    sizes = [-(-n // step) for n, step in zip((9, 7), strides, strict=True)]
    y = m.step(
        "Conv", [x, w, m.leaf(dtype, (16,), "weight")], (2, 16, *sizes), kernel_shape=[3, 3],
        strides=strides, dilations=[1, 1], pads=[1, 1, 1, 1], group=groups,
    )  # fmt: skip
    y = m.step("Add", [m.step("Relu", [y], y.shape), m.leaf(dtype, y.shape)], y.shape)
    _check(m.finish(y, label=""), context)


def test_weights_of_a_transposed_convolution_are_padded_row_by_row(context: ir.Context) -> None:
    m = _maker("convolution")
    x, w = m.leaf("float16", (1, 16, 2, 5)), m.leaf("float16", (16, 1, 3, 4), "weight")
    y = m.step(
        "ConvTranspose", [x, w], (1, 1, 5, 15), kernel_shape=[3, 4], strides=[2, 2],
        dilations=[1, 2], pads=[0, 0, 0, 0], group=1, output_padding=[0, 0],
    )  # fmt: skip
    _check(m.finish(y, label=""), context)


@pytest.mark.parametrize("pads", [[1, 1, 1, 1], [0, 1, 2, 1]])
def test_convolutions_by_warpgroups(pads: list[int], context: ir.Context) -> None:
    m = _maker("convolution")
    m.prefer = "warpgroups"
    x, w = m.leaf("float16", (2, 64, 7, 9)), m.leaf("float16", (64, 64, 3, 3), "weight")
    sizes = [n + pads[d] + pads[2 + d] - 2 for d, n in enumerate((7, 9))]
    y = m.step(
        "Conv", [x, w], (2, 64, *sizes), kernel_shape=[3, 3], strides=[1, 1], dilations=[1, 1],
        pads=pads, group=1,
    )  # fmt: skip
    y = m.step("Relu", [y], y.shape)
    _check(m.finish(y, label=""), context, "wgmma.mma_async", "im2col")


def test_a_factor_of_gelu_that_others_read(context: ir.Context) -> None:
    m = _maker("row")
    x = m.leaf("float32", (4, 33))
    y = m.step("Softmax", [x], x.shape, axis=-1)
    _check(m.finish(m.step("Gelu", [y], y.shape), y, label=""), context)


def _mutations(ptx: str, pattern: str, replacement: str) -> Iterator[str]:
    """The code with one match of a pattern replaced, for each match."""
    for match in re.finditer(pattern, ptx):
        yield ptx[: match.start()] + match.expand(replacement) + ptx[match.end() :]


_WARPS = product("float16", 40, 40, 264)
_CLUSTER = product("tf32", 31, 64, 1024)
_WARPGROUPS = product("float16", 64, 64, 704, prefer="warpgroups")
_DAMAGE = [
    (_WARPS, r"\tbar\.sync[^\n]*\n", "", 0.6),
    (_WARPS, r"cp\.async\.wait_group[^\n]*\n", "", 0.5),
    (_CLUSTER, r"barrier\.cluster\.(arrive|wait)[^\n]*\n", "", 1.0),
    (_WARPGROUPS, r"wgmma\.wait_group[^\n]*\n", "", 1.0),
    (_WARPGROUPS, r"mbarrier\.try_wait\S*\s+(\w+),[^\n]*\n", r"mov.pred \1, 1;\n", 0.3),
    (_WARPGROUPS, r"\tmbarrier\.arrive[^\n]*\n", "", 0.5),
    (_WARPGROUPS, r"\tfence\.proxy[^\n]*\n", "", 1.0),
]
"""Code, what is replaced in it, by what, and of which share of the places that must be noticed.

Not every place matters: nobody waits for a slot that is not used again.
"""


@pytest.mark.parametrize(("case", "pattern", "replacement", "share"), _DAMAGE)
def test_damaged_code_is_found(
    case: Case, pattern: str, replacement: str, share: float, context: ir.Context
) -> None:
    artifact = compile_case(case, "sm_90a", context)
    ((name, code),) = artifact.objects.items()
    image = KernelImage.from_bytes(code)
    found = []
    for ptx in _mutations(image.ptx, pattern, replacement):
        damaged = replace(artifact, objects={name: replace(image, ptx=ptx).to_bytes()})
        try:
            right = not compared(_run(damaged, case), expected(case)).problem
        except EmulatorError:
            right = False
        found.append(not right)
    assert found
    assert np.mean(found) >= share
