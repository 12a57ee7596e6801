# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles kernels and runs them on numpy arrays, the hard way round.

Arrays are aligned to their element type and no better, the memory around results and scratch is
checked for stray writes, and results start out as garbage.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, lower_kernel
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.pool import WorkerTeam, team

DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}
_GUARD = 64  # bytes around every buffer
_GARBAGE = 0xA5
_DEFAULT = LoweringOptions()
Lowering = Callable[[ir.Module, LoweringOptions], LoweredKernel]


@dataclass
class Buffer:
    """Memory for one array between two guards, by default aligned to `itemsize` only."""

    memory: np.ndarray
    array: np.ndarray

    @classmethod
    def for_array(cls, shape: tuple[int, ...], dtype: np.dtype, is_aligned: bool = False) -> Buffer:
        nbytes = int(np.prod(shape)) * dtype.itemsize
        memory = np.full(nbytes + 3 * _GUARD, _GARBAGE, np.uint8)
        start = _GUARD + (-memory.ctypes.data) % _GUARD + (0 if is_aligned else dtype.itemsize)
        view = memory[start : start + nbytes].view(dtype).reshape(shape)
        return cls(memory, view)

    def assert_guards_intact(self) -> None:
        start = self.array.ctypes.data - self.memory.ctypes.data
        rest = np.delete(self.memory, np.s_[start : start + self.array.nbytes])
        assert (rest == _GARBAGE).all(), "a kernel wrote outside its buffers"


def _team() -> WorkerTeam:
    found = team(2)
    found.assemble()
    return found


class Workspace:
    """Aligned memory of `nbytes` bytes between two guards, full of garbage."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.memory = np.full(nbytes + 3 * _GUARD, _GARBAGE, np.uint8)
        self._start = _GUARD + (-self.memory.ctypes.data) % _GUARD
        self.address = self.memory.ctypes.data + self._start

    def assert_guards_intact(self) -> None:
        rest = np.delete(self.memory, np.s_[self._start : self._start + self.nbytes])
        assert (rest == _GARBAGE).all(), "a kernel wrote outside its workspace"


class Kernel:
    """A compiled kernel; calling it with arrays returns its results as new arrays."""

    def __init__(
        self, text: str, opt_level: int, options: LoweringOptions, lower: Lowering = lower_kernel
    ) -> None:
        with ir.Context() as context:
            context.enable_multithreading(False)
            module = ir.Module.parse(text)
            function = module.body.operations[0].operation
            self.name = ir.StringAttr(function.attributes["sym_name"]).value
            signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
            self.inputs = [_shape_and_dtype(kind) for kind in signature.inputs]
            self.results = [_shape_and_dtype(kind) for kind in signature.results]
            self.inplace = _pairs(function)
            self.lowered: LoweredKernel = lower(module, options)
        code = compile_object(
            self.lowered.llvm_ir,
            opt_level=opt_level,
            vectorize=self.lowered.plain_loops,
            is_tiled=self.lowered.is_tiled,
        )
        others = [f"{self.name}.prepare"] if self.lowered.prepared_bytes else []
        self.library = ObjectLibrary({self.name: code}, others)

    def __call__(self, *arrays: object, is_aligned: bool = False) -> list[np.ndarray]:
        inputs = [
            self._input(array, *kind) for array, kind in zip(arrays, self.inputs, strict=True)
        ]
        outputs = {
            i: inputs[self.inplace[i]] if i in self.inplace else Buffer.for_array(*kind, is_aligned)
            for i, kind in enumerate(self.results)
        }
        fresh = [outputs[i] for i in range(len(outputs)) if i not in self.inplace]
        pointers = [buffer.array.ctypes.data for buffer in [*inputs, *fresh]]
        team = _team()
        before = [buffer.array.tobytes() for buffer in inputs]
        copies = Workspace(self.lowered.prepared_bytes)
        if copies.nbytes:
            pointers.append(copies.address)
            self._run(f"{self.name}.prepare", pointers)
            prepared = copies.memory.tobytes()
        own = team.threads * self.lowered.private_bytes
        scratch = Workspace(self.lowered.scratch_bytes + own)
        self._run(self.name, [*pointers, scratch.address, team.address])
        for buffer in [*inputs, *fresh]:
            buffer.assert_guards_intact()
        scratch.assert_guards_intact()
        if copies.nbytes:
            copies.assert_guards_intact()
            assert copies.memory.tobytes() == prepared, "a kernel wrote to prepared constants"
        for i, buffer in enumerate(inputs):
            if i not in self.inplace.values():
                assert buffer.array.tobytes() == before[i], "a kernel wrote to an input"
        return [outputs[i].array.copy() for i in range(len(outputs))]

    def _run(self, name: str, pointers: list[int]) -> None:
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.library.address(name))(packed)

    @staticmethod
    def _input(value: object, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        buffer = Buffer.for_array(shape, dtype)
        array = np.asarray(value)
        assert (array.shape, array.dtype) == (shape, dtype)
        buffer.array[...] = array
        return buffer


def _shape_and_dtype(kind: ir.Type) -> tuple[tuple[int, ...], np.dtype]:
    tensor = ir.RankedTensorType(kind)
    return tuple(tensor.shape), DTYPES[str(tensor.element_type)]


def _pairs(function: ir.Operation) -> dict[int, int]:
    if "xyntra.inplace" not in function.attributes:
        return {}
    return {
        ir.IntegerAttr(pair[0]).value: ir.IntegerAttr(pair[1]).value
        for pair in map(ir.ArrayAttr, ir.ArrayAttr(function.attributes["xyntra.inplace"]))
    }


def elementwise_text(
    body: str, kind: str, inputs: int = 1, shape: str = "17", result: str = ""
) -> str:
    """A kernel that applies `body` (which yields %r) to equal-shaped tensors %x0, %x1, …"""
    result = result or kind
    rank = len(shape.split("x"))
    dims = ", ".join(f"d{i}" for i in range(rank))
    source, target = f"tensor<{shape}x{kind}>", f"tensor<{shape}x{result}>"
    arguments = ", ".join(f"%a{i}: {source}" for i in range(inputs))
    names = ", ".join(f"%a{i}" for i in range(inputs))
    scalars = ", ".join(f"%x{i}: {kind}" for i in range(inputs))
    identity = f"affine_map<({dims}) -> ({dims})>"
    return f"""
    func.func @k({arguments}) -> {target} {{
      %e = tensor.empty() : {target}
      %y = linalg.generic {{
        indexing_maps = [{", ".join([identity] * (inputs + 1))}],
        iterator_types = [{", ".join(['"parallel"'] * rank)}]}}
        ins({names} : {", ".join([source] * inputs)}) outs(%e : {target}) {{
      ^bb0({scalars}, %o: {result}):
        {body}
        linalg.yield %r : {result}
      }} -> {target}
      return %y : {target}
    }}"""


@pytest.fixture(scope="session")
def dtypes() -> dict[str, np.dtype]:
    """The numpy dtype of every element type."""
    return DTYPES


@pytest.fixture(scope="session")
def elementwise() -> Callable[..., str]:
    """Write a kernel that applies one scalar computation to whole tensors."""
    return elementwise_text


@pytest.fixture(scope="session")
def run_elementwise(compiled: Callable[..., Kernel]) -> Callable[..., np.ndarray]:
    """Apply a scalar computation, written as for `elementwise`, to one-dimensional arrays."""

    def run(body: str, kind: str, *arrays: np.ndarray, result: str = "") -> np.ndarray:
        text = elementwise_text(body, kind, len(arrays), str(len(arrays[0])), result)
        return compiled(text)(*arrays)[0]

    return run


@pytest.fixture(scope="session")
def lowered_by() -> Callable[..., Kernel]:
    """Compile kernel text with another function than `lower_kernel`."""

    def get(text: str, lower: Lowering, options: LoweringOptions = _DEFAULT) -> Kernel:
        return Kernel(text, 2, options, lower)

    return get


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Kernel]:
    """Compile kernel text once a session and return the callable kernel."""
    cache: dict[tuple[object, ...], Kernel] = {}

    def get(text: str, opt_level: int = 2, options: LoweringOptions = _DEFAULT) -> Kernel:
        key = (text, opt_level, options)
        if key not in cache:
            cache[key] = Kernel(text, opt_level, options)
        return cache[key]

    return get
