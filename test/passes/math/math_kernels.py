# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles loops around scalar operations, and measures errors in units in the last place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

from xyntra.dialects.mlir import ir
from xyntra.passes.math.expand_math import expand_math
from xyntra.passes.math.table import EXPANSIONS

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
}

_TO_LLVM = (
    "builtin.module(arith-expand{include-bf16=1},convert-scf-to-cf,convert-math-to-llvm,"
    "convert-math-to-libm,convert-vector-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)

UNARY = sorted(
    name.removeprefix("math.")
    for name in EXPANSIONS
    if name not in ("math.atan2", "math.fpowi", "math.powf", "math.sincos")
)
"""Functions of one f32, by their names without the dialect's."""


@dataclass(frozen=True)
class Kernel:
    """Operations that compute %y of type `result` from %x0, %x1 … of types `operands`."""

    body: str
    operands: tuple[str, ...]
    result: str
    lanes: int = 1

    def source(self, name: str) -> str:
        """Return a function that applies the operations to each element of its arrays."""
        arrays = ", ".join(f"%p{index}: !llvm.ptr" for index in range(len(self.operands)))
        loads = "\n".join(
            f"%q{index} = llvm.getelementptr %p{index}[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {type_}"
            f"\n%x{index} = llvm.load %q{index} {{alignment = 1 : i64}} : !llvm.ptr -> {type_}"
            for index, type_ in enumerate(map(self.vector, self.operands))
        )
        result = self.vector(self.result)
        return f"""
        func.func @{name}({arrays}, %out: !llvm.ptr {{llvm.noalias}}, %count: i64)
            attributes {{llvm.emit_c_interface}} {{
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %end = arith.index_cast %count : i64 to index
          scf.for %i = %zero to %end step %one {{
            %k = arith.index_cast %i : index to i64
            {loads}
            {self.body}
            %r = llvm.getelementptr %out[%k] : (!llvm.ptr, i64) -> !llvm.ptr, {result}
            llvm.store %y, %r {{alignment = 1 : i64}} : {result}, !llvm.ptr
          }}
          return
        }}"""

    def vector(self, element: str) -> str:
        """Return the type of one value: `element`, or a vector of it."""
        return element if self.lanes == 1 else f"vector<{self.lanes}x{element}>"


class Compiled:
    """Machine code of named kernels; call one with its name and its arrays."""

    def __init__(self, kernels: Mapping[str, Kernel], engine: ExecutionEngine) -> None:
        self._kernels = dict(kernels)
        # The functions live as long as the engine does.
        self._engine = engine
        self._functions = {name: engine.lookup(name) for name in kernels}

    def __call__(self, name: str, *operands: Array) -> Array:
        """Return the kernel's results for arrays of its operand types and of one size."""
        kernel = self._kernels[name]
        arrays = [
            np.ascontiguousarray(operand, DTYPES[type_])
            for operand, type_ in zip(operands, kernel.operands, strict=True)
        ]
        result = np.empty(arrays[0].shape, DTYPES[kernel.result])
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, result)]
        count = ctypes.c_int64(result.size // kernel.lanes)
        packed = [ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in pointers]
        packed.append(ctypes.cast(ctypes.pointer(count), ctypes.c_void_p))
        self._functions[name]((ctypes.c_void_p * len(packed))(*packed))
        return result


def compile_kernels(
    kernels: Mapping[str, Kernel], change: Callable[[ir.Operation], None] = expand_math
) -> Compiled:
    """Compile `kernels`, after `change` has rewritten their math operations."""
    context = ir.Context()
    context.enable_multithreading(False)
    text = "\n".join(kernel.source(name) for name, kernel in kernels.items())
    module = ir.Module.parse(text, context)
    change(module.operation)
    module.operation.verify()
    PassManager.parse(_TO_LLVM, context).run(module.operation)
    engine = ExecutionEngine(module, opt_level=3)
    engine.initialize()
    return Compiled(kernels, engine)


def expand_and_contract(module: ir.Operation) -> None:
    """Expand, then let LLVM contract every multiplication and addition."""
    expand_math(module)
    with module.context:
        contract = ir.Attribute.parse("#arith.fastmath<contract>")

    def visit(op: ir.Operation) -> ir.WalkResult:
        if "fastmath" in op.attributes:
            op.attributes["fastmath"] = contract
        return ir.WalkResult.ADVANCE

    module.walk(visit)


def ulp_error(result: Array, exact: Array) -> Array:
    """Return |result - exact| in units in the last place of f32; inf for a wrong kind of value.

    `exact` is f64. Infinity counts as 2**128, one unit above the largest f32. NaN must be NaN.
    """
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(exact)
        unit = np.ldexp(1.0, np.clip(exponent - 24, -149, 104))
        unit[np.abs(exact) >= 2.0**128] = 2.0**104
        error = np.abs(_finite(result.astype(np.float64)) - _finite(exact)) / unit
    both_nan = np.isnan(result) & np.isnan(exact)
    error[both_nan] = 0.0
    error[np.isnan(result) != np.isnan(exact)] = np.inf
    wrong_zero = (result == 0) & (exact == 0) & (np.signbit(result) != np.signbit(exact))
    error[wrong_zero] = np.inf
    return error


def _finite(values: Array) -> Array:
    return np.clip(values, -(2.0**128), 2.0**128)


def assert_within(name: str, bound: float, error: Array, *operands: Array) -> None:
    """Fail, naming the worst operands, unless every error is at most `bound`."""
    worst = int(np.argmax(error))
    at = ", ".join(f"{operand[worst]!r}" for operand in operands)
    assert error[worst] <= bound, f"{name}({at}) is {error[worst]:.3f} ULP off"
