# SPDX-License-Identifier: MIT OR Apache-2.0
"""A GPU that does not exist gets code by the steps of CONTRIBUTING, "Add a target"."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pytest

from xyntra.dialects import Schedule, make_context
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.gpu.device import DEVICES, GpuDevice
from xyntra.passes.lower.gpu.elementwise.pointwise import PointwiseTile, emit_pointwise
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.emitters.contractions import CONTRACTIONS
from xyntra.passes.lower.gpu.emitters.emitter import Code, Family, Impossible, StageEmitter
from xyntra.passes.lower.gpu.emitters.loops import LOOPS
from xyntra.passes.lower.gpu.emitters.nests import Nests, nests_family
from xyntra.passes.lower.gpu.stages.stage import stages_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages

ROOT = Path(__file__).resolve().parents[4]
NULL = GpuDevice(
    name="null",
    target="null",
    multiprocessors=7,
    block_shared_bytes=8 << 10,
    shared_bytes=8 << 10,
    threads=64,
    blocks=2,
    subgroup=16,
    block_threads=64,
    static_bytes=8 << 10,
)
"""Step 1: what the hardware has."""
CHAIN = """
func.func @k(%x: tensor<40x70xf32>, %y: tensor<70xf32>) -> tensor<40x70xf32> {
  %e = tensor.empty() : tensor<40x70xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %y : tensor<40x70xf32>, tensor<70xf32>) outs(%e : tensor<40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<40x70xf32>
  return %0 : tensor<40x70xf32>
}"""
PRODUCT = """
func.func @k(%x: tensor<33x64xf16>, %y: tensor<64x40xf16>) -> tensor<33x40xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<33x40xf32>) -> tensor<33x40xf32>
  %r = linalg.matmul ins(%x, %y : tensor<33x64xf16>, tensor<64x40xf16>)
      outs(%f : tensor<33x40xf32>) -> tensor<33x40xf32>
  return %r : tensor<33x40xf32>
}"""


@dataclass(frozen=True)
class OneByOneChoices:
    """What the emitter of the null device can be told."""

    threads: int = 16


def _choose(subject: Nests, device: GpuDevice) -> Schedule:
    if subject.only is not None and not subject.only.reductions:
        return Schedule.told("one-by-one", OneByOneChoices(device.subgroup))
    return nests_family().choose(subject, device)


def _plan(subject: Nests, choices: OneByOneChoices, device: GpuDevice) -> Code:
    nest = subject.only
    if nest is None or nest.reductions or choices.threads != device.subgroup:
        raise Impossible("computes one nest without reductions, by a subgroup")

    def emit(_shared: object) -> LaunchShape:
        return emit_pointwise(nest, PointwiseTile(choices.threads))

    return emit


def _candidates(_subject: Nests, device: GpuDevice) -> Iterable[OneByOneChoices]:
    return (OneByOneChoices(device.subgroup),)


@pytest.fixture(autouse=True)
def _null_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps 1 and 2: the device in the table, and its emitters beside those of any GPU."""
    monkeypatch.setitem(DEVICES, NULL.name, NULL)
    nests = nests_family()
    own = StageEmitter("one-by-one", OneByOneChoices, _plan, _candidates)
    table = ModuleType("table")
    table.FAMILIES = (  # type: ignore[attr-defined]
        CONTRACTIONS,
        Family(nests.read, _choose, (own, *nests.emitters)),
        LOOPS,
    )
    monkeypatch.setitem(sys.modules, "xyntra.passes.lower.null", ModuleType("null"))
    monkeypatch.setitem(sys.modules, "xyntra.passes.lower.null.emitters", ModuleType("emitters"))
    monkeypatch.setitem(sys.modules, "xyntra.passes.lower.null.emitters.table", table)


def _staged(text: str) -> ir.Module:
    with ir.Location.unknown():
        lowered = to_stages(ir.Module.parse(text).operation, NULL)
        return ir.Module.parse(str(lowered))


def test_its_own_emitter_is_chosen_and_those_of_any_gpu_do_the_rest() -> None:
    with make_context():
        module = _staged(CHAIN)
        (stage,) = stages_of(kernel_function(module.operation))
        assert schedule_of(stage.op) == Schedule("one-by-one")
        module = _staged(PRODUCT)
        emitters = {schedule_of(each.op) for each in stages_of(kernel_function(module.operation))}
        assert {each.emitter for each in emitters if each is not None} == {"simt"}


@pytest.mark.parametrize("text", [CHAIN, PRODUCT], ids=["chain", "product"])
def test_its_code_is_of_what_every_gpu_has(text: str) -> None:
    with make_context(), ir.Location.unknown():
        module = to_gpu(_staged(text).operation, NULL)
        assert operations_named(module, "gpu.launch_func")
        names = set()
        module.walk(lambda op: (names.add(op.name), ir.WalkResult.ADVANCE)[1])
        assert not [name for name in names if name.startswith(("nvvm.", "llvm."))]
        (function,) = operations_named(module, "gpu.func")
        size = str(function.attributes["known_block_size"])
        threads = int(size.removeprefix("array<i32: ").partition(",")[0])
        assert threads <= NULL.block_threads
        assert (threads == NULL.subgroup) == (text == CHAIN)


def test_what_it_cannot_hold_is_refused() -> None:
    for small in (replace(NULL, block_threads=16), replace(NULL, static_bytes=64)):
        with make_context(), ir.Location.unknown():
            module = _staged(PRODUCT)
            with pytest.raises(CompileError, match=r"a kernel needs .* (threads|shared memory)"):
                to_gpu(module.operation, small)


def test_the_steps_are_written_down() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Add a target")[2].partition("\n## ")[0]
    for part in ("passes/lower/gpu/device.py", "emitters/table.py", "FAMILIES", "to_gpu"):
        assert part in section
