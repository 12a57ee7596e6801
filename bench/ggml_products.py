# SPDX-License-Identifier: MIT OR Apache-2.0
"""Multiplies with weights of 4 bits by ggml, the library of llama.cpp, on the CPU.

llama-cpp-python compiles it for the processor that it is installed on; the package xllamacpp, which
is asked where there is none, brings it for AVX2. Its type Q4_0 has blocks of 32 integers around 8
with one scale of f16, as symmetric blocks of MatMulNBits are; rows are rounded to 8 bits on the way
in.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ggml_chain", "q4_0"]

_F32, _Q4_0 = 0, 2
_SPARE = 64 << 20  # bytes for the graph, and for rows of 8 bits
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ggml_new_tensor_2d": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int64],
    ),
    "ggml_mul_mat": (ctypes.c_void_p, [ctypes.c_void_p] * 3),
    "ggml_new_graph": (ctypes.c_void_p, [ctypes.c_void_p]),
    "ggml_get_data": (ctypes.c_void_p, [ctypes.c_void_p]),
    "ggml_build_forward_expand": (None, [ctypes.c_void_p] * 2),
    "ggml_graph_compute_with_ctx": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]),
}


class _Parameters(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("apart", ctypes.c_bool))


def ggml_chain(
    x: np.ndarray, layers: Sequence[tuple[np.ndarray, np.ndarray]], threads: int
) -> Callable[[], np.ndarray] | None:
    """Return a function that multiplies `x` with every layer; None where ggml is not installed.

    Args:
        x: f32, rows by steps.
        layers: bytes [columns, blocks, 16], of which each holds two neighbours, and scales.
        threads: how many work on a product.
    """
    library = _library()
    if library is None:
        return None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library.ggml_init.restype, library.ggml_init.argtypes = ctypes.c_void_p, [_Parameters]
    nbytes = sum(packed.nbytes * 18 // 16 for packed, _ in layers)
    context = library.ggml_init(_Parameters(nbytes + _SPARE, None, False))
    graph = library.ggml_new_graph(context)
    value = library.ggml_new_tensor_2d(context, _F32, x.shape[1], x.shape[0])
    _fill(library, value, x)
    for packed, scales in layers:
        columns, blocks, _ = packed.shape
        weight = library.ggml_new_tensor_2d(context, _Q4_0, blocks * 32, columns)
        _fill(library, weight, q4_0(packed, scales))
        value = library.ggml_mul_mat(context, weight, value)
    library.ggml_build_forward_expand(graph, value)
    shape = x.shape[0], layers[-1][0].shape[0]

    def call() -> np.ndarray:
        library.ggml_graph_compute_with_ctx(context, graph, threads)
        elements = ctypes.c_float * (shape[0] * shape[1])
        return np.ctypeslib.as_array(elements.from_address(library.ggml_get_data(value))).reshape(
            shape
        )

    return call


def _library() -> Any:
    """Return ggml, compiled for this processor where llama-cpp-python is installed, or None."""
    for package, pattern in (("llama_cpp", "lib/libggml-cpu.so*"), ("xllamacpp", "*.so")):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            files = sorted(Path(spec.origin).parent.glob(pattern))
            if files:
                return ctypes.PyDLL(str(files[0]))
    return None


def _fill(library: Any, tensor: int, array: np.ndarray) -> None:
    ctypes.memmove(library.ggml_get_data(tensor), array.ctypes.data, array.nbytes)


def q4_0(packed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return blocks of a scale of f16 and 16 bytes, of which byte i holds integers i and i + 16."""
    columns, blocks, _ = packed.shape
    integers = np.stack([packed & 15, packed >> 4], -1).reshape(columns, blocks, 32)
    found = np.empty((columns, blocks, 18), np.uint8)
    halves = np.ascontiguousarray(scales.reshape(columns, blocks, 1).astype(np.float16))
    found[..., :2] = halves.view(np.uint8)
    found[..., 2:] = integers[..., :16] | integers[..., 16:] << 4
    return found
