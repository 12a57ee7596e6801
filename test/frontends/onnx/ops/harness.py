# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs an imported ONNX model and compares it with onnxruntime.

`run` is the one place that knows how a model is executed; everything else compares.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import torch_mlir.dialects.torch  # noqa: F401  (registers the passes of the pipeline)
from expand_named import expand_named
from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

from xyntra.dialects import make_context
from xyntra.frontends.onnx.importer import import_model

Arrays = Mapping[str, np.ndarray]

_PIPELINE = (
    "builtin.module(canonicalize,cse,convert-tensor-to-linalg,"
    "empty-tensor-to-alloc-tensor,one-shot-bufferize{bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map copy-before-write=1},"
    "func.func(refback-munge-memref-copy,convert-linalg-to-loops),fold-memref-alias-ops,"
    "func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32},"
    "math-extend-to-supported-types{target-type=f32},"
    "arith-expand{include-bf16=1},expand-strided-metadata),lower-affine,"
    "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,convert-arith-to-llvm,"
    "convert-index-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "convert-ub-to-llvm,reconcile-unrealized-casts)"
)


def node_model(
    op_type: str,
    inputs: Arrays,
    *,
    opset: int = 20,
    outputs: int | Sequence[str] = 1,
    constants: Arrays | None = None,
    names: Sequence[str] | None = None,
    domain: str = "",
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node.

    Args:
        op_type: the operator.
        inputs: example arrays; their shapes and dtypes become those of the graph's inputs.
        opset: version of the default domain.
        outputs: number of outputs, or their names ("" leaves an output out).
        constants: inputs that are initializers.
        names: the node's inputs in order; by default `inputs` and then `constants`.
        domain: the operator's domain.
        attributes: the node's attributes.
    """
    constants = constants or {}
    wanted = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    order = list(names) if names is not None else [*inputs, *constants]
    node = onnx.helper.make_node(op_type, order, wanted, domain=domain, name="it", **attributes)
    graph = onnx.helper.make_graph(
        [node],
        "test",
        [_value_info(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in wanted if name],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    if domain:
        opsets.append(onnx.helper.make_opsetid(domain, 1))
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = min(model.ir_version, 11)
    return model


def _value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


def check(
    model: onnx.ModelProto, feeds: Arrays, rtol: float = 1e-5, atol: float = 1e-6
) -> list[np.ndarray]:
    """Run `model` and compare every output with onnxruntime's; return ours."""
    found = run(model, feeds)
    compare(found, reference(model, feeds), rtol, atol)
    return found


def check_node(
    op_type: str, inputs: Arrays, *, rtol: float = 1e-5, atol: float = 1e-6, **options: Any
) -> list[np.ndarray]:
    """`check` for `node_model(op_type, inputs, **options)`.

    onnxruntime has no bfloat16 on the CPU: there the node is computed in float32 and rounded.
    """
    found = run(node_model(op_type, inputs, **options), inputs)
    wide = _widened(inputs)
    constants = _widened(options.pop("constants", None) or {})
    wanted = reference(node_model(op_type, wide, constants=constants, **options), wide)
    compare(found, [_rounded(a, like=b) for a, b in zip(wanted, found, strict=True)], rtol, atol)
    return found


def _widened(arrays: Arrays) -> dict[str, np.ndarray]:
    return {
        name: array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
        for name, array in arrays.items()
    }


def _rounded(array: np.ndarray, like: np.ndarray) -> np.ndarray:
    return array.astype(like.dtype) if like.dtype == ml_dtypes.bfloat16 else array


def reference(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    """The outputs that onnxruntime computes on the CPU."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(feeds)))


def compare(
    found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], rtol: float, atol: float
) -> None:
    """Fail unless both have the same dtypes, shapes and, within the tolerance, values."""
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if mine.dtype.kind in "biu":
            np.testing.assert_array_equal(mine, theirs)
        else:
            wide = [array.astype(np.float64) for array in (mine, theirs)]
            np.testing.assert_allclose(*wide, rtol=rtol, atol=atol, equal_nan=True)


def run(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    """Import `model` with the shapes of `feeds` and execute it."""
    shapes = {name: array.shape for name, array in feeds.items()}
    with make_context() as context, ir.Location.unknown():
        module = import_model(
            model.SerializeToString(), shapes, context=context, max_tensor_bytes=1 << 30
        )
        assert module.operation.verify()
        function = module.body.operations[0]
        results = [
            (str(entry["xyntra.dtype"])[1:-1], tuple(ir.RankedTensorType(type_).shape))
            for entry, type_ in zip(
                function.attributes["res_attrs"], function.type.results, strict=True
            )
        ]
        inputs = [str(entry["xyntra.input"])[1:-1] for entry in function.attributes["arg_attrs"]]
        expand_named(module)
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        PassManager.parse(_PIPELINE).run(module.operation)
        engine = ExecutionEngine(module, opt_level=1)
        return _call(engine, [np.ascontiguousarray(feeds[name]) for name in inputs], results)


def _call(
    engine: ExecutionEngine,
    inputs: Sequence[np.ndarray],
    results: Sequence[tuple[str, tuple[int, ...]]],
) -> list[np.ndarray]:
    block = [(f"r{i}", _descriptor(len(shape))) for i, (_, shape) in enumerate(results)]
    returned = type("Results", (ctypes.Structure,), {"_fields_": block})()
    arguments = [returned, *(_describe(array) for array in inputs)]
    if not results:
        arguments = arguments[1:]
    pointers = [ctypes.c_void_p(ctypes.addressof(argument)) for argument in arguments]
    packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
    address = engine.raw_lookup("_mlir_ciface_main")
    assert address, "the compiled function was not found"
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(packed))
    return [
        _read(getattr(returned, f"r{i}"), dtype, shape) for i, (dtype, shape) in enumerate(results)
    ]


def _descriptor(rank: int) -> type[ctypes.Structure]:
    fields: list[tuple[str, Any]] = [
        ("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64)
    ]  # fmt: skip
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Descriptor{rank}", (ctypes.Structure,), {"_fields_": fields})


def _describe(array: np.ndarray) -> ctypes.Structure:
    descriptor: Any = _descriptor(array.ndim)()
    descriptor.base = descriptor.data = array.ctypes.data
    for axis in range(array.ndim):
        descriptor.sizes[axis] = array.shape[axis]
        descriptor.strides[axis] = array.strides[axis] // array.itemsize
    return descriptor


def _read(descriptor: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(dtype)
    result = np.zeros(shape, kind)
    if result.size:
        address = descriptor.data + descriptor.offset * kind.itemsize
        ctypes.memmove(result.ctypes.data, address, result.nbytes)
    return result
