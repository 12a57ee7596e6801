# SPDX-License-Identifier: MIT OR Apache-2.0
"""A kernel of every emitter becomes valid SPIR-V, with launches that fit WebGPU's limits."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, UnsupportedError
from xyntra.passes.lower.gpu.device import WEBGPU
from xyntra.passes.lower.tensor.decompose_named_ops import DecomposeNamedOps
from xyntra.passes.lower.webgpu import LEVELS, LoweredWebgpuKernel, lower_kernel, lower_to, to_spirv

LIT_TESTS = Path(__file__).resolve().parents[4] / "lit-tests" / "passes" / "lower" / "gpu"
KERNELS = {
    path.relative_to(LIT_TESTS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(LIT_TESTS.glob("*/*.mlir"))
    if path.parent.name not in ("emitters", "spirv", "stages")
}
DOUBLES = """
func.func @k(%x: tensor<64x3xf64>) -> tensor<64x3xf64> {
  %0 = tensor.empty() : tensor<64x3xf64>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<64x3xf64>) outs(%0 : tensor<64x3xf64>) {
  ^bb0(%a: f64, %o: f64):
    %2 = arith.addf %a, %a : f64
    linalg.yield %2 : f64
  } -> tensor<64x3xf64>
  return %1 : tensor<64x3xf64>
}
"""


def lowered(text: str, level: str = "kernels") -> LoweredWebgpuKernel:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        DecomposeNamedOps(keep=("attention",)).run(module.operation)
        return lower_kernel(module, WEBGPU.name, level)


@pytest.mark.parametrize("name", KERNELS)
def test_every_emitter_has_valid_spirv(name: str, tmp_path: Path) -> None:
    kernel = lowered(KERNELS[name])
    assert kernel.spirv[:4] == b"\x03\x02\x23\x07"
    for launch in kernel.launches:
        assert max(launch.grid) <= 65535
        assert launch.block <= WEBGPU.block_threads
        assert len(launch.buffers) == len(launch.written) <= 8
        assert any(launch.written)
    validator = shutil.which("spirv-val")
    if validator is None:
        pytest.skip("spirv-val, of Debian's package spirv-tools, is not installed")
    (tmp_path / "k.spv").write_bytes(kernel.spirv)
    done = subprocess.run(
        [validator, tmp_path / "k.spv"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_level_can_be_continued_from() -> None:
    text = KERNELS["elementwise/pointwise.mlir"]
    whole = lowered(text)
    for level in LEVELS[1:]:
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            again = str(lower_to(module, WEBGPU.name, "kernels", level))
        found = lowered(again, level) if level != "spirv" else _encoded(again)
        assert found.launches == whole.launches


def _encoded(text: str) -> LoweredWebgpuKernel:
    from xyntra.passes.lower.webgpu import from_spirv

    with make_context(), ir.Location.unknown():
        return from_spirv(ir.Module.parse(text).operation)


def test_launches_of_many_blocks_have_two_dimensions() -> None:
    kernel = lowered(KERNELS["rows/register_rows.mlir"].replace("100x320", "600001x320"))
    (launch,) = kernel.launches
    columns, rows = launch.grid
    assert rows > 1
    assert columns <= 65535
    assert columns * rows * launch.block >= 600_001


def test_workgroup_memory_has_a_limit() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(KERNELS["matmul/simt.mlir"])
        lowered_to_gpu = lower_to(module, WEBGPU.name, "kernels", "gpu")
        with pytest.raises(CompileError, match="bytes of workgroup memory"):
            to_spirv(lowered_to_gpu, replace(WEBGPU, static_bytes=1024))


def test_doubles_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="64-bit floating-point") as caught:
        lowered(DOUBLES)
    assert caught.value.code == "webgpu-f64"
