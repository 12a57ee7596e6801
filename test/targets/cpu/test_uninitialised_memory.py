# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels compute with nothing that they have not written or been given.

What happens to be in memory may be subnormal numbers, which take many processors a hundred cycles
each. Here all of the memory holds such numbers, and the processor tells whether it met any.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.targets.cpu import program

_SUBNORMAL = np.float32(1e-40)
_IS_GLIBC_X86 = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
pytestmark = pytest.mark.skipif(
    not _IS_GLIBC_X86, reason="reads a register of x86-64 through glibc"
)


class _Environment(ctypes.Structure):
    """`fenv_t` of glibc on x86-64."""

    _fields_ = (("x87", ctypes.c_uint8 * 28), ("mxcsr", ctypes.c_uint32))


def _met_subnormals(executable: xyntra.Executable, inputs: list[np.ndarray]) -> tuple[bool, Any]:
    """Whether SSE or AVX instructions had a subnormal operand during a call, and its result."""
    library, after = ctypes.CDLL("libm.so.6"), _Environment()
    default = ctypes.c_void_p(-1)
    library.fesetenv(default)
    result = executable(*inputs)
    library.fegetenv(ctypes.byref(after))
    return bool(after.mxcsr & 2), result


@pytest.fixture(autouse=True)
def subnormal_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def filled(nbytes: int) -> np.ndarray:
        memory = allocate(-(-nbytes // 4) * 4 or 4)
        memory.view(np.uint32)[:] = _SUBNORMAL.view(np.uint32)  # converts nothing
        return memory

    allocate = program.allocate
    monkeypatch.setattr(program, "allocate", filled)


def _attention(query: list[int], key: list[int], bias: list[int] | None) -> onnx.ModelProto:
    turned = [*range(len(key) - 2), len(key) - 1, len(key) - 2]
    nodes = [
        onnx.helper.make_node("Transpose", ["k"], ["t"], perm=turned),
        onnx.helper.make_node("MatMul", ["q", "t"], ["s"]),
        onnx.helper.make_node("Softmax", ["s" if bias is None else "a"], ["p"], axis=-1),
        onnx.helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    inputs = {"q": query, "k": key, "v": key}
    if bias is not None:
        nodes.insert(2, onnx.helper.make_node("Add", ["s", "b"], ["a"]))
        inputs["b"] = bias
    return make_model(nodes, inputs, ["y"])


def _attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: Any = 0) -> np.ndarray:
    scores = q.astype(np.float64) @ np.swapaxes(k, -1, -2) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


ATTENTIONS = {
    "bias": ([2, 3, 77, 32], [2, 3, 77, 32], [1, 3, 77, 77]),
    "bias, several chunks": ([1, 2, 5, 16], [1, 2, 333, 16], [1, 2, 5, 333]),
    "wide heads": ([1, 2, 77, 160], [1, 2, 77, 160], None),
    "few queries": ([1, 4, 3, 24], [1, 4, 9, 24], None),
    "spare rows": ([1, 1, 57, 24], [1, 1, 131, 24], None),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str) -> None:
    shapes = [ATTENTIONS[name][0], *[ATTENTIONS[name][1]] * 2, ATTENTIONS[name][2]]
    generator = np.random.default_rng()
    inputs = [0.3 * generator.standard_normal(s, np.float32) for s in shapes if s is not None]
    executable = xyntra.compile(_attention(*ATTENTIONS[name]), threads=1)
    met, result = _met_subnormals(executable, inputs)
    np.testing.assert_allclose(result, _attended(*inputs), rtol=1e-4, atol=1e-5)
    assert not met


PRODUCTS = [(16, 300, 10), (33, 72, 130)]


@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
@pytest.mark.parametrize("is_turned", [False, True])
def test_products(sizes: tuple[int, int, int], is_turned: bool) -> None:
    rows, depth, columns = sizes
    generator = np.random.default_rng()
    x = generator.standard_normal((3, rows, depth), np.float32)
    y = generator.standard_normal((3, depth, columns), np.float32)
    given = np.ascontiguousarray(np.swapaxes(y, 1, 2)) if is_turned else y
    nodes: list[Any] = [("MatMul", ["x", "t" if is_turned else "y"], ["z"])]
    if is_turned:
        nodes.insert(0, onnx.helper.make_node("Transpose", ["y"], ["t"], perm=[0, 2, 1]))
    model = make_model(nodes, {"x": list(x.shape), "y": list(given.shape)}, ["z"])
    met, result = _met_subnormals(xyntra.compile(model, threads=1), [x, given])
    np.testing.assert_allclose(result, x.astype(np.float64) @ y, rtol=1e-4, atol=1e-4)
    assert not met


def test_the_processor_reports_subnormal_numbers() -> None:
    model = make_model([("Mul", ["x", "x"], ["y"])], {"x": [40]}, ["y"])
    met, _ = _met_subnormals(xyntra.compile(model), [np.full(40, _SUBNORMAL, np.float32)])
    assert met
