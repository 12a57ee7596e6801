# SPDX-License-Identifier: MIT OR Apache-2.0
"""Code for NVIDIA GPUs, generated without one: what launches there are, and what ptxas says."""

from __future__ import annotations

import re

import pytest
from gpu_code import assemble, compiled

from xyntra.passes.lower.gpu.device import DEVICES
from xyntra.targets.cuda.code.kernel_image import ImageLaunch, ImageMap, KernelImage

POINTWISE = """
func.func @k(%x: tensor<{shape}xf32>, %b: tensor<{last}xf32>) -> tensor<{shape}xf32> {{
  %e = tensor.empty() : tensor<{shape}xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%x, %b : tensor<{shape}xf32>, tensor<{last}xf32>) outs(%e : tensor<{shape}xf32>) {{
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    %t = math.erf %s : f32
    linalg.yield %t : f32
  }} -> tensor<{shape}xf32>
  return %r : tensor<{shape}xf32>
}}"""
SOFTMAX = """
func.func @k(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x1000xf32>
  %c = tensor.empty() : tensor<64xf32>
  %c0 = linalg.fill ins(%lowest : f32) outs(%c : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<64x1000xf32>) outs(%c0 : tensor<64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %r = arith.maximumf %u, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                        affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x, %m : tensor<64x1000xf32>, tensor<64xf32>) outs(%e : tensor<64x1000xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %d = arith.subf %u, %v : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<64x1000xf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%p : tensor<64x1000xf32>) outs(%c1 : tensor<64xf32>) {
  ^bb0(%u: f32, %o: f32):
    %r = arith.addf %u, %o : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                        affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%p, %s : tensor<64x1000xf32>, tensor<64xf32>) outs(%e : tensor<64x1000xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %r = arith.divf %u, %v : f32
    linalg.yield %r : f32
  } -> tensor<64x1000xf32>
  return %q : tensor<64x1000xf32>
}"""
SUM = """
func.func @k(%x: tensor<{shape}x{dtype}>) -> tensor<{rows}x{dtype}> {{
  %zero = arith.constant {zero} : {dtype}
  %e = tensor.empty() : tensor<{rows}x{dtype}>
  %f = linalg.fill ins(%zero : {dtype}) outs(%e : tensor<{rows}x{dtype}>) -> tensor<{rows}x{dtype}>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}}
    ins(%x : tensor<{shape}x{dtype}>) outs(%f : tensor<{rows}x{dtype}>) {{
  ^bb0(%u: {dtype}, %o: {dtype}):
    %s = arith.{add} %u, %o : {dtype}
    linalg.yield %s : {dtype}
  }} -> tensor<{rows}x{dtype}>
  return %r : tensor<{rows}x{dtype}>
}}"""
NEAREST = """
func.func @k(%x: tensor<10x20xf32>) -> tensor<20x40xf32> {
  %e = tensor.empty() : tensor<20x40xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i floordiv 2, j floordiv 2)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<10x20xf32>) outs(%e : tensor<20x40xf32>) {
  ^bb0(%u: f32, %o: f32):
    linalg.yield %u : f32
  } -> tensor<20x40xf32>
  return %r : tensor<20x40xf32>
}"""
PRODUCT = """
func.func @k(%a: tensor<200x70xf32>, %b: tensor<70x300xf32>, %c: tensor<300xf32>)
    -> tensor<200x300xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200x300xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<200x300xf32>) -> tensor<200x300xf32>
  %m = linalg.matmul ins(%a, %b : tensor<200x70xf32>, tensor<70x300xf32>)
    outs(%f : tensor<200x300xf32>) -> tensor<200x300xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%m, %c : tensor<200x300xf32>, tensor<300xf32>) outs(%e : tensor<200x300xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<200x300xf32>
  return %r : tensor<200x300xf32>
}"""


@pytest.mark.parametrize("architecture", DEVICES)
def test_every_architecture_takes_the_code_without_spills(architecture, tmp_path):
    image = compiled(SOFTMAX, architecture)
    report = assemble(image, architecture, tmp_path)
    spills = re.findall(r"(\d+) bytes spill", report)
    assert spills
    assert set(spills) == {"0"}


def test_a_chain_is_one_launch_of_vectors(tmp_path):
    image = compiled(POINTWISE.format(shape="512x1024", last="1024"))
    (launch,) = image.launches
    assert launch.grid * launch.block == 512 * 1024 // 4
    assert "ld.global.v4" in image.ptx
    assert "st.global.v4" in image.ptx
    assemble(image, "sm_90a", tmp_path)


def test_rows_that_are_no_multiple_of_a_vector_are_taken_element_by_element():
    image = compiled(POINTWISE.format(shape="3x7", last="7"))
    (launch,) = image.launches
    assert launch.grid * launch.block >= 21
    assert ".v4" not in image.ptx


def test_a_softmax_is_one_launch_with_a_warp_a_row():
    image = compiled(SOFTMAX)
    (launch,) = image.launches
    assert launch.grid * launch.block == 64 * 32
    assert ".shared" not in image.ptx
    assert "shfl.sync.bfly" in image.ptx
    assert image.scratch == ()


def test_indices_that_are_not_linear_take_a_thread_an_output(tmp_path):
    image = compiled(NEAREST)
    (launch,) = image.launches
    assert launch.grid * launch.block >= 800
    assemble(image, "sm_90a", tmp_path)


def test_a_product_and_what_follows_are_one_launch_of_tiles(tmp_path):
    image = compiled(PRODUCT)
    (launch,) = image.launches
    assert launch.grid == 7 * 10  # tiles of 32 by 32
    assert image.scratch == ()
    spills = re.findall(r"(\d+) bytes spill", assemble(image, "sm_90a", tmp_path))
    assert set(spills) == {"0"}


@pytest.mark.parametrize(
    ("dtype", "add", "zero"),
    [("f32", "addf", "0.0"), ("f64", "addf", "0.0"), ("f16", "addf", "0.0"),
     ("i64", "addi", "0"), ("i8", "addi", "0"), ("i32", "maxsi", "0")],
)  # fmt: skip
def test_blocks_reduce_every_type(dtype, add, zero, tmp_path):
    text = SUM.format(shape="40x5000", rows="40", dtype=dtype, add=add, zero=zero)
    image = compiled(text)
    assert image.launches[-1].grid == 40
    assemble(image, "sm_90a", tmp_path)


@pytest.mark.parametrize(
    ("shape", "dtype", "zero", "add", "width"),
    [("40x50000", "f32", "0.0", "addf", 4), ("40x50000", "f16", "0.0", "addf", 4),
     ("40x50001", "f32", "0.0", "addf", 1), ("40x50002", "f32", "0.0", "addf", 2)],
)  # fmt: skip
def test_sums_of_long_rows_read_whole_vectors(shape, dtype, zero, add, width, tmp_path):
    image = compiled(SUM.format(shape=shape, rows="40", dtype=dtype, add=add, zero=zero))
    first = image.ptx.split(".visible .entry")[1]
    loads = re.findall(r"ld\.global\S*", first)
    assert loads
    assert all(f".v{width}." in load if width > 1 else ".v" not in load for load in loads)
    assemble(image, "sm_90a", tmp_path)


def test_nothing_is_launched_for_empty_results():
    image = compiled(POINTWISE.format(shape="0x7", last="7"))
    assert image.launches == ()
    assert image.ptx == ""


def test_functions_of_f64_are_arithmetic(tmp_path):
    image = compiled(POINTWISE.format(shape="3x8", last="8").replace("f32", "f64"))
    assert "fma.rn.f64" in image.ptx
    assemble(image, "sm_90a", tmp_path)


@pytest.mark.parametrize(("architecture", "waits"), [("sm_90a", True), ("sm_80", False)])
@pytest.mark.parametrize("text", [SOFTMAX, POINTWISE.format(shape="5x7", last="7")])
def test_launches_wait_before_they_touch_memory(text, architecture, waits, tmp_path):
    image = compiled(text, architecture)
    assert [each.programmatic for each in image.launches] == [waits] * len(image.launches)
    assert ("griddepcontrol.wait" in image.ptx) == waits
    for code in image.ptx.split(".entry")[1:] if waits else []:
        touched = re.search(r"\b(?:ld\.(?!param)|st\.|cp\.|mbarrier)", code)
        assert touched is not None
        assert code.index("griddepcontrol.wait") < touched.start()
    assemble(image, architecture, tmp_path)


@pytest.mark.parametrize(("architecture", "unchanging"), [("sm_90a", 1), ("sm_80", 2)])
def test_only_what_nobody_writes_is_read_as_unchanging(architecture, unchanging):
    """The launch ahead may not have ended when one begins that waits by itself (`sm_90a`)."""
    text = POINTWISE.format(shape="512x1024", last="1024")
    text = text.replace("%b: tensor<1024xf32>", "%b: tensor<1024xf32> {xyntra.constant}")
    ptx = compiled(text, architecture).ptx
    loads = re.findall(r"ld\.global\S*", ptx)
    assert sum(".nc" in load for load in loads) == unchanging
    assert len(loads) == 2


@pytest.mark.parametrize(("shape", "begins"), [("5x7", True), ("4096x4096", False)])
def test_small_launches_let_the_next_begin_once_they_have_waited(shape, begins):
    ptx = compiled(POINTWISE.format(shape=shape, last=shape.split("x")[1])).ptx
    assert ("griddepcontrol.launch_dependents" in ptx) == begins
    if begins:
        begin = ptx.index("griddepcontrol.launch_dependents")
        assert ptx.index("griddepcontrol.wait") < begin < ptx.index("ld.global")


def test_an_image_survives_being_written():
    image = compiled(SOFTMAX)
    assert KernelImage.from_bytes(memoryview(image.to_bytes())) == image


def test_what_a_launch_asks_for_survives_being_written():
    tensor = ImageMap("f16", (64, 8), (128,), (64, 8), swizzle=128, offset=32, argument=1)
    launch = ImageLaunch("k_0", 8, 384, 200 << 10, 2, (tensor,), programmatic=True, resident=1)
    image = KernelImage((launch,), (64,), "// ptx")
    assert KernelImage.from_bytes(image.to_bytes()) == image


def test_damaged_images_are_refused():
    with pytest.raises(ValueError, match=r"Expecting|JSON"):
        KernelImage.from_bytes(b"\x7fELF")
