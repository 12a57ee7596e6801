# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs an imported ONNX model and compares it with onnxruntime.

`run` is the one place that knows how a model is executed; everything else compares.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

import xyntra
from xyntra.dialects import make_context
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.lower.cpu import lower_kernel
from xyntra.passes.lower.tensor.decompose_named_ops import DecomposeNamedOps
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.pool import team

Arrays = Mapping[str, np.ndarray]

_ALIGNMENT = 64  # bytes, of scratch memory


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
    return graph_model(
        [node], inputs, [name for name in wanted if name], constants, opset=opset, domain=domain
    )


def graph_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Arrays,
    outputs: Sequence[str],
    constants: Arrays | None = None,
    *,
    opset: int = 20,
    domain: str = "",
) -> onnx.ModelProto:
    """A model of several nodes; the arguments are those of `node_model`."""
    graph = onnx.helper.make_graph(
        list(nodes),
        "test",
        [_value_info(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
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


def operators_model(op_types: Sequence[str], inputs: Arrays, **options: Any) -> onnx.ModelProto:
    """A model with one node for each of several operators, all on the same inputs."""
    nodes = [onnx.helper.make_node(op_type, list(inputs), [op_type]) for op_type in op_types]
    return graph_model(nodes, inputs, op_types, **options)


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
    """Import `model` with the shapes of `feeds`, compile it as one kernel and execute that."""
    shapes = {name: array.shape for name, array in feeds.items()}
    with _context() as context, ir.Location.unknown():
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
        DecomposeNamedOps().run(module.operation)
        PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        kernel = lower_kernel(module)
    library = ObjectLibrary({"main": compile_object(kernel.llvm_ir, opt_level=0)})
    arrays = [np.ascontiguousarray(feeds[name]) for name in inputs]
    arrays += [np.empty(shape, np.dtype(dtype)) for dtype, shape in results]
    scratch = np.empty(kernel.scratch_bytes + kernel.private_bytes + _ALIGNMENT, np.uint8)
    _call(library.address("main"), [*arrays, scratch])
    return arrays[len(inputs) :]


def check_compiled(
    model: onnx.ModelProto, feeds: Arrays, rtol: float = 1e-4, atol: float = 1e-5, **settings: Any
) -> list[np.ndarray]:
    """As `check`, with fusion and all that `xyntra.compile` does, in this process."""
    found = run_compiled(model, feeds, **settings)
    compare(found, reference(model, feeds), rtol, atol)
    return found


def run_compiled(model: onnx.ModelProto, feeds: Arrays, **settings: Any) -> list[np.ndarray]:
    """What `xyntra.compile` makes of `model`, called with `feeds`."""
    config = {"isolate": False, "jobs": 1, "cache": False, **settings}
    shapes = {name: array.shape for name, array in feeds.items()}
    executable = xyntra.compile(model, inputs=shapes, config=config)
    found = executable(*(feeds[port.name] for port in executable.inputs))
    return list(found) if isinstance(found, tuple) else [found]


@lru_cache(maxsize=1)
def _context() -> ir.Context:
    """One context for all tests: making it takes a third of the time of one."""
    return make_context()


def _call(address: int, arrays: Sequence[np.ndarray]) -> None:
    """Call a kernel; the last array is its scratch memory, with room to align it."""
    pointers = [array.ctypes.data for array in arrays]
    pointers[-1] = -(-pointers[-1] // _ALIGNMENT) * _ALIGNMENT
    pointers.append(team(1).address)
    packed = (ctypes.c_void_p * len(pointers))(*pointers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(packed))
