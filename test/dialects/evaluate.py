# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs what a `TensorBuilder` builds, on the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache

import ml_dtypes  # noqa: F401  (numpy learns bfloat16)
import numpy as np
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.passes.lower.cpu import lower_kernel
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.pool import team

Build = Callable[..., "Tensor | Sequence[Tensor]"]

_ALIGNMENT = 64  # bytes, of scratch memory


@lru_cache(maxsize=1)
def context() -> ir.Context:
    """One context for all tests."""
    return make_context()


def build_module(build: Build, *arrays: np.ndarray) -> tuple[ir.Module, list[Tensor]]:
    """A verified module whose `main` takes `arrays` and returns what `build` does."""
    location = ir.Location.unknown(context())
    module = ir.Module.create(location)
    with location:
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
            },
            regions=1,
            ip=ir.InsertionPoint(module.body),
        )
    block = function.regions[0].blocks.append()
    b = TensorBuilder(ir.InsertionPoint(block), location)
    types = [b.tensor_type(array.shape, array.dtype.name) for array in arrays]
    inputs = [
        Tensor(block.add_argument(type_, location), array.dtype.name)
        for type_, array in zip(types, arrays, strict=True)
    ]
    built = build(b, *inputs)
    results = [built] if isinstance(built, Tensor) else list(built)
    b.emit("func.return", [tensor.value for tensor in results], [])
    with location:
        signature = ir.FunctionType.get(types, [tensor.value.type for tensor in results])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
    with context():
        assert module.operation.verify()
    return module, results


def evaluate(build: Build, *arrays: np.ndarray) -> list[np.ndarray]:
    """What `build(builder, *tensors)` computes from `arrays`."""
    module, results = build_module(build, *arrays)
    outputs = [np.empty(tensor.shape, np.dtype(tensor.dtype)) for tensor in results]
    kernel = lower_kernel(module)
    library = ObjectLibrary({"main": compile_object(kernel.llvm_ir, opt_level=0)})
    scratch = np.empty(kernel.scratch_bytes + kernel.private_bytes + _ALIGNMENT, np.uint8)
    used = [*(np.ascontiguousarray(array) for array in arrays), *outputs, scratch]
    pointers = [array.ctypes.data for array in used]
    pointers[-1] = -(-pointers[-1] // _ALIGNMENT) * _ALIGNMENT
    pointers.append(team(1).address)
    packed = (ctypes.c_void_p * len(pointers))(*pointers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("main"))(ctypes.addressof(packed))
    return outputs
