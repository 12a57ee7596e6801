# SPDX-License-Identifier: MIT OR Apache-2.0
"""Code for any GPU goes through MLIR's conversion to SPIR-V, and its buffers keep their layout."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import function_name, operations_named
from xyntra.passes.lower.gpu.device import WEBGPU
from xyntra.passes.lower.gpu.lower_to_gpu import LowerToGpu
from xyntra.passes.lower.gpu.spirv.lower_gpu_to_spirv import LowerGpuToSpirv
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages

LIT_TESTS = Path(__file__).resolve().parents[4] / "lit-tests" / "passes" / "lower" / "gpu"
KERNELS = {
    path.relative_to(LIT_TESTS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(LIT_TESTS.glob("*/*.mlir"))
    if path.parent.name not in ("emitters", "spirv", "stages")
}
"""A kernel of every emitter."""
COPY = """
func.func @k(%x: tensor<7x{size}x{dtype}>) -> tensor<{size}x7x{dtype}> {{
  %0 = tensor.empty() : tensor<{size}x7x{dtype}>
  %1 = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : tensor<7x{size}x{dtype}>) outs(%0 : tensor<{size}x7x{dtype}>) {{
  ^bb0(%a: {dtype}, %o: {dtype}):
    linalg.yield %a : {dtype}
  }} -> tensor<{size}x7x{dtype}>
  return %1 : tensor<{size}x7x{dtype}>
}}
"""
BUFFER = re.compile(
    r"spirv\.GlobalVariable @(\w+)_arg_(\d+) .*?array<(\d+) x [\w<>]+, "
    r"stride=(\d+)>.*StorageBuffer>"
)


def sizes_of(function: ir.Operation) -> list[int]:
    """Bytes of the buffers that a function takes."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    kinds = [ir.MemRefType(each) for each in signature.inputs]
    return [prod(each.shape) * ITEM_BYTES[str(each.element_type)] for each in kinds]


def check(text: str) -> str:
    """Lower a kernel, compare its buffers with those at the level above; returns the SPIR-V."""
    with make_context():
        module = ir.Module.parse(text).operation
        LowerToGpu(WEBGPU.name).run(module)
        functions = operations_named(module, "gpu.func")
        expected = {function_name(each): sizes_of(each) for each in functions}
        del functions
        LowerGpuToSpirv().run(module)
        assert module.verify()
        (code,) = operations_named(module, "spirv.module")
        found = str(code)
    assert not re.search(r"\b(arith|gpu|memref|scf|vector|builtin)\.", found)
    entries = re.findall(r"spirv\.EntryPoint \"GLCompute\" @(\w+)", found)
    assert entries == list(expected)
    buffers = {(name, int(n)): int(k) * int(step) for name, n, k, step in BUFFER.findall(found)}
    for name, sizes in expected.items():
        for number, size in enumerate(sizes):
            assert size <= buffers[name, number] < size + 4  # whole words
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_every_emitter_has_spirv(name: str) -> None:
    check(KERNELS[name])


def test_enough_kernels_are_there() -> None:
    folders = {name.split("/")[0] for name in KERNELS}
    loops = {"elementwise", "rows", "reductions", "scan_sort", "loops"}
    assert folders == loops | {"matmul", "conv", "attention"}
    assert len(KERNELS) >= 13


@pytest.mark.parametrize("dtype", ITEM_BYTES)
@pytest.mark.parametrize("size", [1, 33, 64])
def test_every_dtype_keeps_its_bytes(dtype: str, size: int) -> None:
    check(COPY.format(dtype=dtype, size=size))


@pytest.mark.parametrize(
    ("name", "ordered"), [("rows/rows.mlir", True), ("elementwise/transposed_tiles.mlir", False)]
)
def test_barriers_order_buffers_that_are_written_and_read(name: str, ordered: bool) -> None:
    barriers = re.findall(r"spirv\.ControlBarrier .*", check(KERNELS[name]))
    assert barriers
    assert all(("UniformMemory" in each) == ordered for each in barriers)


@pytest.mark.parametrize("lanes", [8, 16, 64])
def test_butterflies_have_the_lanes_of_the_device(lanes: int) -> None:
    device = replace(WEBGPU, subgroup=lanes, shuffles=True)
    with make_context():
        module = ir.Module.parse(KERNELS["reductions/reductions.mlir"])
        with ir.Location.unknown():
            found = str(to_gpu(to_stages(module.operation, device), device))
    assert found.count("gpu.shuffle") == lanes.bit_length() - 1
    assert set(re.findall(r"gpu\.shuffle xor %\w+, %\w+, (%\w+)", found)) == {f"%c{lanes}_i32"}
    assert f"memref<{256 // lanes}xf32, #gpu.address_space<workgroup>>" in found
