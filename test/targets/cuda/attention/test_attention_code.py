# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention for NVIDIA GPUs, generated without one: its instructions, and what ptxas says."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from gpu_code import assemble, compiled

import xyntra
from xyntra.passes.lower.cuda.attention.hopper.order import shared_out
from xyntra.passes.lower.gpu.device import DEVICES
from xyntra.targets.cuda.code.kernel_image import KernelImage

LOOPS = "(b, h, s, t, d, e)"


def attention(
    sizes: tuple[int, ...], dtype: str, attributes: str = "", masks: dict[str, str] | None = None
) -> str:
    """A kernel with one attention on [b, h, positions, size]; `masks` give dtype and map."""
    b, h, s, t, d, e = sizes
    shapes = [(b, h, s, d), (b, h, t, d), (b, h, t, e)]
    maps = ["b, h, s, d", "b, h, t, d", "b, h, t, e"]
    types = [f"tensor<{'x'.join(map(str, shape))}x{dtype}>" for shape in shapes]
    given = masks or {}
    for kind, text in given.items():
        extents = dict(zip("bhst", sizes, strict=False))
        shape = [extents[name.strip()] for name in text.split(",")]
        element = {"keep": "i1", "bias": dtype}[kind]
        types.append(f"tensor<{'x'.join(map(str, shape))}x{element}>")
        maps.append(text)
    maps.append("b, h, s, e")
    result = f"tensor<{b}x{h}x{s}x{e}x{dtype}>"
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(types))
    names = ", ".join(f"%a{i}" for i in range(len(types)))
    present = f"1, 1, 1, {int('keep' in given)}, {int('bias' in given)}, 0"
    affine = ", ".join(f"affine_map<{LOOPS} -> ({text})>" for text in maps)
    causal = "" if "causal =" in attributes else "causal = false, "
    return f"""
func.func @k({arguments}) -> {result} {{
  %r = "xyntra.attention"({names}) {{{causal}{attributes}indexing_maps = [{affine}],
    masked_rows = "nan", operandSegmentSizes = array<i32: {present}>, scale = 0.125 : f32,
    sizes = array<i64: {", ".join(map(str, sizes))}>}} : ({", ".join(types)}) -> {result}
  return %r : {result}
}}"""


CAUSAL = "causal = true, "
SMALL = (1, 12, 128, 128, 64, 64)
KERNELS = {
    "short": attention(SMALL, "f16"),
    "bf16": attention((2, 3, 77, 301, 40, 48), "bf16"),
    "both masks": attention(SMALL, "f16", masks={"keep": "s, t", "bias": "b, t"}),
    "causal fill": attention(SMALL, "f16", CAUSAL + "fill = -1.0 : f32, "),
    "size 256 and a mask": attention((4, 16, 600, 700, 256, 256), "bf16", masks={"keep": "s, t"}),
    "many blocks": attention((8, 12, 300, 300, 64, 64), "f16", CAUSAL, {"bias": "t"}),
    "size 256": attention((2, 4, 300, 300, 256, 256), "bf16"),
    "f32": attention(SMALL, "f32", CAUSAL),
    "f32, size 256": attention((8, 12, 300, 300, 256, 256), "f32"),
    "f32, many blocks": attention((8, 12, 300, 300, 128, 128), "f32", masks={"keep": "t"}),
}
LONG = {
    "128": attention((8, 16, 2048, 2048, 128, 128), "bf16"),
    "128 causal": attention((8, 16, 2048, 2048, 128, 128), "bf16", CAUSAL),
    "64": attention((8, 16, 2048, 2048, 64, 64), "f16"),
    "64 causal": attention((8, 16, 2048, 2048, 64, 64), "f16", CAUSAL),
    "ragged": attention((4, 16, 2001, 1999, 80, 96), "bf16"),
    "256 causal": attention((4, 16, 2048, 2048, 256, 256), "bf16", CAUSAL),
    "160 and 192": attention((4, 16, 2048, 2048, 160, 192), "f16"),
    "key mask": attention((8, 16, 2048, 2048, 64, 64), "f16", masks={"keep": "b, t"}),
    "bias": attention((8, 16, 2048, 2048, 128, 128), "bf16", masks={"bias": "s, t"}),
    "both masks": attention(
        (8, 16, 2048, 2000, 128, 128), "f16", CAUSAL, masks={"keep": "b, t", "bias": "t"}
    ),
    "more keys": attention((4, 16, 1000, 3000, 32, 32), "f16", CAUSAL + "causal_offset = 2000, "),
}


def stored(ptx: str) -> set[str]:
    return set(re.findall(r"\t(st\.\S+)", ptx))


@pytest.mark.parametrize("name", KERNELS)
def test_scores_stay_on_the_chip_and_registers_suffice(name, tmp_path):
    image = compiled(KERNELS[name])
    assert len(image.launches) == 1
    assert image.scratch == ()
    report = assemble(image, "sm_90a", tmp_path)
    assert "0 bytes spill stores" in report


@pytest.mark.parametrize("name", KERNELS)
def test_tensor_cores_take_what_is_narrow_and_nothing_else(name):
    ptx = compiled(KERNELS[name]).ptx
    kind = "bf16" if "xbf16" in KERNELS[name] else "f16"
    instruction = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32"
    assert (instruction in ptx) == ("xf32>" not in KERNELS[name])
    assert "tf32" not in ptx
    assert "cp.async" in ptx


@pytest.mark.parametrize("architecture", DEVICES)
@pytest.mark.parametrize("name", ["short", "f32"])
def test_every_architecture_takes_the_code(architecture, name, tmp_path):
    image = compiled(KERNELS[name], architecture)
    assert "0 bytes spill stores" in assemble(image, architecture, tmp_path)
    assert max(launch.shared for launch in image.launches) <= 99 << 10


@pytest.mark.parametrize("name", LONG)
def test_warpgroups_run_without_being_serialised(name, tmp_path):
    image = compiled(LONG[name])
    (launch,) = image.launches
    assert (launch.grid, len(launch.maps), launch.resident) == (132, 3, 1)
    assert "wgmma.mma_async" in image.ptx
    assert stored(image.ptx) == {"st.global.v4.b32"}
    report = assemble(image, "sm_90a", tmp_path)
    assert "0 bytes spill stores" in report
    assert not re.search(r"C75\d\d|serialized", report)


def test_sums_of_wide_heads_nearly_fit_registers(tmp_path):
    image = compiled(attention((4, 16, 2000, 2000, 256, 256), "bf16"))
    report = assemble(image, "sm_90a", tmp_path)
    spilled = re.search(r"(\d+) bytes spill stores", report)
    assert spilled is None or int(spilled[1]) <= 64
    assert not re.search(r"C75\d\d|serialized", report)


def test_blocks_share_causal_tiles_evenly():
    steps = range(1, 17)
    blocks = shared_out(heads=128, together=32, steps=steps, grid=132)
    assert sorted(tile for block in blocks for tile in block) == sorted(
        head << 16 | row for head in range(128) for row in range(16)
    )
    times = [sum(steps[tile & 0xFFFF] for tile in block) for block in blocks]
    assert max(times) - min(times) <= 8  # of 132


def test_causal_tiles_come_from_a_table():
    assert re.search(r"\.global \.align \d+ \.b8 \w*tiles\[", compiled(LONG["128 causal"]).ptx)
    assert "_tiles[" not in compiled(LONG["128"]).ptx


@pytest.mark.parametrize("name", ["128", "64 causal"])
def test_only_hopper_has_warpgroups(name):
    assert "wgmma" not in compiled(LONG[name], "sm_90").ptx
    assert "wgmma" not in compiled(LONG[name], "sm_80").ptx


def test_a_mask_is_computed_where_it_is_needed():
    text = attention(SMALL, "f16", masks={"bias": "t"})
    text = text.replace("%a3: tensor<128xf16>", "%m: tensor<128xi1>").replace(
        '  %r = "xyntra',
        """  %low = arith.constant -6.0e4 : f16
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<128xf16>
  %a3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]} ins(%m : tensor<128xi1>) outs(%e : tensor<128xf16>) {
  ^bb0(%u: i1, %o: f16):
    %s = arith.select %u, %zero, %low : f16
    linalg.yield %s : f16
  } -> tensor<128xf16>
  %r = "xyntra""",
    )
    image = compiled(text)
    assert len(image.launches) == 1
    assert image.scratch == ()
    assert re.search(r"ld\.global\S*\.b8", image.ptx)


def test_f64_and_wide_heads_are_decomposed():
    assert len(compiled(attention((1, 2, 64, 64, 264, 64), "f16")).launches) > 1
    assert len(compiled(attention((1, 2, 64, 64, 16, 16), "f32")).launches) == 1


def attention_block() -> onnx.ModelProto:
    """A projection to queries, keys and values, and attention of 4 heads with a mask of keys."""
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((128, 128), np.float32) / 11 for name in "abc"}
    weights |= {"heads": np.array([0, 0, 4, 32]), "rows": np.array([0, 0, 128])}
    weights["scale"] = np.float32(32**-0.5)
    node = onnx.helper.make_node
    nodes = []
    for name, order in (("a", [0, 2, 1, 3]), ("b", [0, 2, 3, 1]), ("c", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", ["x", name], [f"{name}1"]),
            node("Reshape", [f"{name}1", "heads"], [f"{name}2"]),
            node("Transpose", [f"{name}2"], [f"{name}3"], perm=order),
        ]
    nodes += [
        node("MatMul", ["a3", "b3"], ["s"]),
        node("Mul", ["s", "scale"], ["t"]),
        node("Add", ["t", "m"], ["u"]),
        node("Softmax", ["u"], ["p"], axis=-1),
        node("MatMul", ["p", "c3"], ["o"]),
        node("Transpose", ["o"], ["r"], perm=[0, 2, 1, 3]),
        node("Reshape", ["r", "rows"], ["y"]),
    ]
    kind, value = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    inputs = [value("x", kind, (2, 48, 128)), value("m", kind, (2, 1, 1, 48))]
    initializers = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = onnx.helper.make_graph(
        nodes, "g", inputs, [value("y", kind, (2, 48, 128))], initializers
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def test_the_attention_of_a_model_is_one_launch(settings):
    executable = xyntra.compile(attention_block(), target="cuda:sm_90a", config=settings)
    (name,) = [kernel.name for kernel in executable.kernels if kernel.kind == "attention"]
    image = KernelImage.from_bytes(executable.artifact.objects[name])
    assert len(image.launches) == 1
    assert image.scratch == ()
