# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles random models for a GPU in this process: to ONNX, then down all levels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import onnx

from verify.random_models.case import Case, Leaf, Step
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.kernels.kernel import compile_kernel
from xyntra.compiler.kernels.module import kernel_sources, with_code
from xyntra.dialects.mlir import ir
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.lower.cuda.attention.hopper import plan as hopper_plan
from xyntra.passes.lower.cuda.matmul import select
from xyntra.passes.lower.gpu.device import DEVICES, Feature
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import fusion_pipeline, kernel_pipeline
from xyntra.passes.targets.table import TargetName
from xyntra.plan.artifact import Artifact
from xyntra.plan.build import build_plan
from xyntra.targets.kernel import CompiledKernel

__all__ = ["compile_case", "to_onnx"]

_OPSET = 23
_IR_VERSION = 10
_LARGEST = 1 << 30  # bytes of a tensor


def compile_case(case: Case, architecture: str, context: ir.Context) -> Artifact:
    """Compile a case as `xyntra.compile` does, without a process for each kernel.

    Args:
        case: the model.
        architecture: of the GPU, such as "sm_90a"; "" for this processor.
        context: the xyntra dialect is loaded in it.

    Raises:
        XyntraError: it cannot be compiled.
    """
    skeleton = scan(to_onnx(case).SerializeToString()).skeleton
    with context, ir.Location.unknown():
        module = import_model(skeleton, {}, context=context, max_tensor_bytes=_LARGEST)
        target: TargetName = "cuda" if architecture else "cpu"
        fuse = fusion_pipeline(
            egraph=True, fast_math=False, target=target, precision=case.precision
        )
        run_pipeline(module, ["prepare", *fuse, *kernel_pipeline(target)], verify_each=False)
        plan = build_plan(module.operation, len(case.steps))
        sources = kernel_sources(module.operation, plan, 2, architecture, case.precision)
    with _preferring(case.prefer):
        code: dict[str, CompiledKernel] = {each.name: compile_kernel(each) for each in sources}
    objects = {name: kernel.code for name, kernel in code.items()}
    machine = CodeTarget(architecture).machine_key
    return Artifact(with_code(plan, code), objects, machine, "", b"")


@contextmanager
def _preferring(what: str) -> Iterator[None]:
    """Let warpgroups, or threads alone, compute what they can, even where others are faster."""
    with ExitStack() as stack:
        if what == "warpgroups":
            stack.enter_context(patch.object(select, "_is_faster", lambda *_: True))
            stack.enter_context(patch.object(hopper_plan, "_is_worth_it", lambda *_: True))
        elif what == "threads":
            features = (Feature.MMA, Feature.WGMMA)
            plain = {name: each.without(*features) for name, each in DEVICES.items()}
            stack.enter_context(patch.dict(DEVICES, plain))
        yield


def to_onnx(case: Case) -> onnx.ModelProto:
    """The case as a model; weights are initializers."""
    weights = [
        onnx.numpy_helper.from_array(array, name) for name, array in case.arrays("weight").items()
    ]
    nodes = []
    for number, step in enumerate(case.steps):
        node, constants = _node(step, number)
        nodes.append(node)
        weights += constants
    graph = onnx.helper.make_graph(
        nodes,
        case.kind,
        [_input(leaf) for leaf in case.leaves if leaf.role == "input"],
        [onnx.ValueInfoProto(name=name) for name in case.outputs],
        weights,
    )
    opsets = [onnx.helper.make_opsetid("", _OPSET)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def _node(step: Step, number: int) -> tuple[onnx.NodeProto, list[onnx.TensorProto]]:
    inputs = list(step.inputs)
    constants = []
    for position, values in sorted(step.constants.items()):
        name = f"constant_{number}_{position}"
        constants.append(onnx.numpy_helper.from_array(_constant(step, values), name))
        inputs[int(position) : int(position)] = [name]
    attributes = dict(step.attributes)
    if "dtype" in attributes:
        attributes["to"] = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(attributes.pop("dtype")))
    outputs = list(step.outputs)
    return onnx.helper.make_node(
        step.op, inputs, outputs, f"{step.op}_{number}", **attributes
    ), constants


def _constant(step: Step, values: list[int]) -> np.ndarray:
    shape = () if step.op == "CumSum" else (len(values),)
    return np.array(values, np.int64).reshape(shape)


def _input(leaf: Leaf) -> onnx.ValueInfoProto:
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(leaf.dtype))
    return onnx.helper.make_tensor_value_info(leaf.name, element, leaf.shape)
