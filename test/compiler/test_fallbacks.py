# SPDX-License-Identifier: MIT OR Apache-2.0
"""A pass, an emitter or a rule that fails costs speed, and never the model."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, WorkerError
from xyntra.passes.fusion.contractions.merge_contractions import MergeContractions
from xyntra.passes.fusion.partition.fuse_operations import FuseOperations
from xyntra.passes.lower.buffers.forward_copies import ForwardCopies
from xyntra.passes.lower.cpu.matmul.register_tiles import RegisterTiles
from xyntra.passes.lower.cpu.rows.nest_loops import NestLoops
from xyntra.passes.lower.gpu.math import device_math
from xyntra.passes.lower.tensor import merge_elementwise
from xyntra.passes.targets.table import TARGETS
from xyntra.passes.views.fold_transposes import FoldTransposes

SETTINGS: dict[str, object] = {"isolate": False, "jobs": 1, "cache": False, "strict": False}


def network() -> onnx.ModelProto:
    """A product, a transposition, a norm, attention's softmax and a convolution."""
    rng = np.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((24, 36)),
        "b": rng.standard_normal(36),
        "k": rng.standard_normal((4, 1, 3, 3)),
        "gain": rng.standard_normal(36),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["q"]),
        helper.make_node("LayerNormalization", ["q", "gain"], ["n"], axis=-1),
        helper.make_node("Transpose", ["n"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["n", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["a"], axis=-1),
        helper.make_node("MatMul", ["a", "n"], ["m"]),
        helper.make_node("Reshape", ["m", "shape"], ["i"]),
        helper.make_node("Conv", ["i", "k"], ["c"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Concat", ["r", "i"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 28, 24))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            *(numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()),
            numpy_helper.from_array(np.array([1, 4, 7, 36]), "shape"),
        ],
    )
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def reference(x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(
        network().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: np.ndarray = session.run(None, {"x": x})[0]
    return found


def compiled(**settings: object) -> xyntra.Executable:
    return xyntra.compile(network(), config=SETTINGS | settings)


def assert_right(exe: xyntra.Executable) -> None:
    x = np.random.default_rng(11).standard_normal((1, 28, 24), dtype=np.float32)
    np.testing.assert_allclose(exe(x), reference(x), rtol=2e-4, atol=2e-5)


def raising(message: str) -> Callable[..., Any]:
    def run(*_: object, **__: object) -> None:
        raise KeyError(message)

    return run


def test_nothing_falls_back_where_nothing_fails() -> None:
    exe = compiled()
    assert exe.plan.fallbacks == ()
    assert "fell back" not in exe.explain()
    assert_right(exe)


def limit_operations(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    limits = replace(TARGETS["cpu"].limits, max_operations=most)
    monkeypatch.setitem(TARGETS, "cpu", replace(TARGETS["cpu"], limits=limits))


@pytest.mark.parametrize("most", [1, 2])
def test_regions_that_are_refused_are_split(
    most: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    usual = len(compiled().kernels)
    limit_operations(monkeypatch, most)
    with caplog.at_level(logging.WARNING, "xyntra"):
        exe = compiled()
    assert len(exe.kernels) > usual
    assert "was split, because check-fusion refuses it" in exe.explain()
    assert "[too-many-operations]" in exe.explain()
    assert len(caplog.records) == len(exe.plan.fallbacks) > 0
    assert_right(exe)


def test_a_refused_region_is_the_fault_of_fusion(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_operations(monkeypatch, 1)
    with pytest.raises(CompileError) as caught:
        compiled(strict=True)
    assert caught.value.code == "illegal-fusion"
    assert "defect of Xyntra in pass 'fuse-operations'" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (FoldTransposes, "pass 'fold-transposes' was left out"),
        (MergeContractions, "pass 'merge-contractions' was left out"),
        (FuseOperations, "every operation became a kernel of its own"),
    ],
)
def test_a_pass_that_raises_is_left_out(
    cls: type, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cls, "run", raising("a case that nobody foresaw"))
    exe = compiled()
    assert said in exe.explain()
    assert "a case that nobody foresaw" in exe.explain()
    assert_right(exe)
    with pytest.raises(CompileError) as caught:
        compiled(strict=True)
    assert f"in pass '{cls.name}'" in (caught.value.hint or "")


def test_two_passes_that_raise_are_both_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FoldTransposes, "run", raising("one"))
    monkeypatch.setattr(MergeContractions, "run", raising("two"))
    exe = compiled()
    assert [text.split("'")[1] for text in exe.plan.fallbacks] == [
        "merge-contractions",
        "fold-transposes",
    ]
    assert_right(exe)


def invalid(self: object, module: ir.Operation) -> None:
    module.attributes["nonsense"] = ir.UnitAttr.get(module.context)


def test_a_pass_that_leaves_invalid_ir_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the last one of the pipeline, after which the module is verified."""
    monkeypatch.setattr(FoldTransposes, "run", invalid)
    exe = compiled()
    assert "pass 'fold-transposes' was left out" in exe.explain()
    assert_right(exe)
    with pytest.raises(CompileError, match="pass 'fold-transposes' left invalid IR"):
        compiled(strict=True)


def adds_a_function(self: object, module: ir.Operation) -> None:
    """Add a function that is no kernel, for which a plan has no place."""
    with module.context, ir.Location.unknown(module.context):
        other = ir.Module.parse("func.func @other() { return }")
        clone = other.body.operations[0].operation.clone()
        module.regions[0].blocks[0].append(clone)


def test_a_pass_whose_mistake_is_found_later_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it leaves is valid to every pass behind it, and fits no plan."""
    monkeypatch.setattr(FoldTransposes, "run", adds_a_function)
    exe = compiled()
    assert "pass 'fold-transposes' was left out" in exe.plan.fallbacks[0]
    assert_right(exe)
    with pytest.raises(CompileError) as caught:
        compiled(strict=True)
    assert "defect of Xyntra in pass 'fold-transposes'" in (caught.value.hint or "")


@pytest.mark.parametrize("cls", [NestLoops, RegisterTiles])
def test_an_emitter_that_raises_leaves_the_kernel_to_plain_loops(
    cls: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cls, "run", raising("no code for that"))
    exe = compiled()
    assert "is computed by plain loops" in exe.explain()
    assert "no code for that" in exe.explain()
    assert "xyntra.generic_loops" in exe.artifact.ir
    assert_right(exe)
    with pytest.raises(CompileError) as caught:
        compiled(strict=True)
    assert "kernel '" in (caught.value.place or "")
    assert "test_fallbacks.py" in (caught.value.cause or "")


@pytest.mark.usefixtures("forks")
def test_an_emitter_that_crashes_does_so_in_its_own_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = RegisterTiles.run

    def run(self: RegisterTiles, module: ir.Operation) -> None:
        if "@contraction_" in str(module):
            os.abort()
        usual(self, module)

    monkeypatch.setattr(RegisterTiles, "run", run)
    exe = compiled()
    assert "SIGABRT" in exe.explain()
    assert_right(exe)


def test_a_kernel_that_fails_as_a_whole_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = ForwardCopies.run

    def run(self: ForwardCopies, module: ir.Operation) -> None:
        if str(module).count("linalg.generic") > 6:
            raise KeyError("too much at once")
        usual(self, module)

    monkeypatch.setattr(ForwardCopies, "run", run)
    exe = compiled()
    assert "each operation of kernel '" in exe.explain()
    assert_right(exe)


def test_an_operation_without_any_code_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ForwardCopies, "run", raising("never"))
    with pytest.raises(CompileError) as caught:
        compiled()
    assert "defect of Xyntra" in (caught.value.hint or "")


def test_loops_that_cannot_be_merged_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_elementwise.MergeElementwise, "run", raising("no merge"))
    exe = compiled()
    assert "pass 'merge-elementwise' was left out" in exe.explain()
    assert_right(exe)


REFUSED = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "xyntra.fused"() ({
    %1 = "xyntra.softmax"(%x) {axis = 1} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "xyntra.yield"(%1) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
        : (tensor<8x8xf32>) -> ()
  }) {kind = "elementwise", resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def test_regions_that_the_user_wrote_are_not_changed() -> None:
    with pytest.raises(CompileError) as caught:
        xyntra.compile(REFUSED, config=SETTINGS)
    assert caught.value.code == "illegal-fusion"
    assert "defect" not in (caught.value.hint or "")


def test_a_saved_model_remembers_what_fell_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FoldTransposes, "run", raising("once"))
    compiled().save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    assert "pass 'fold-transposes' was left out" in loaded.explain()
    assert_right(loaded)


CHANGED_MODULE = """
import importlib.abc, importlib.util, os, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "{name}":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            {change}

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Finder())
"""
"""A sitecustomize.py that changes a module as soon as it is loaded."""
CRASHING = CHANGED_MODULE.format(
    name="xyntra.passes.views.fold_transposes",
    change="module.FoldTransposes.run = lambda *_: os.abort()",
)
REFUSING = CHANGED_MODULE.format(
    name="xyntra.passes.lower.gpu.math.device_math", change="module._NATIVE = frozenset()"
)


def test_a_pass_that_crashes_its_process_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker starts anew, and is told which pass to do without."""
    (tmp_path / "sitecustomize.py").write_text(CRASHING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    exe = compiled(isolate=True)
    assert "pass 'fold-transposes' was left out, because the compiler crashed" in exe.explain()
    assert_right(exe)
    with pytest.raises(WorkerError, match="crashed in pass 'fold-transposes'"):
        compiled(isolate=True, strict=True)


def test_a_kernel_that_fails_is_tried_again_in_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The operators of nodes are asked for with every try, of the process that reads the model.
    nodes = [helper.make_node("Add", ["x", "x"], ["s"]), helper.make_node("Floor", ["s"], ["y"])]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [8]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "floors", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (tmp_path / "sitecustomize.py").write_text(REFUSING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(device_math, "_NATIVE", frozenset())
    for isolate in (False, True):
        config = {**SETTINGS, "isolate": isolate}
        with pytest.raises(CompileError) as raised:
            xyntra.compile(model, target="cuda:sm_90a", config=config)
        assert raised.value.code == "gpu-function"
