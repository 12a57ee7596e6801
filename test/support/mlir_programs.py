# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles MLIR text and compares what it computes with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import xyntra

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
}
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
_ROUNDING = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}


def element(array: Array) -> str:
    """The element type of an array in MLIR."""
    return _NAMES[array.dtype]


def type_of(array: Array) -> str:
    """The tensor type of an array in MLIR."""
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{element(array)}>"


def function(body: str, arguments: Sequence[Array], results: Sequence[Array]) -> str:
    """A function `main` of %0, %1 … that returns %r0, %r1 …; `body` computes these."""
    given = ", ".join(f"%{i}: {type_of(array)}" for i, array in enumerate(arguments))
    types = ", ".join(map(type_of, results))
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    return f"func.func @main({given}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}\n"


def run(text: str, arguments: Sequence[Array], settings: Any) -> list[Array]:
    """The results of a program, whose arguments must stay as they are."""
    copies = [array.copy() for array in arguments]
    executable = xyntra.compile(text, target="cpu", threads=1, config=settings)
    found = executable(*arguments)
    for array, copy in zip(arguments, copies, strict=True):
        assert array.tobytes() == copy.tobytes(), "an argument was overwritten"
    return list(found) if isinstance(found, tuple | list) else [found]


def check(
    text: str,
    arguments: Sequence[Array],
    expected: Sequence[Array],
    settings: Any,
    tolerance: float = 1.0,
) -> None:
    """Compare a program's results with `expected`.

    Args:
        text: the program.
        arguments: its arguments.
        expected: what it should give, in the types of its results.
        settings: for compiling.
        tolerance: allowed error of floats, as a multiple of what one rounding may cost.
    """
    found = run(text, arguments, settings)
    assert len(found) == len(expected)
    for position, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        compare(np.asarray(ours), np.asarray(theirs), tolerance, f"result {position}")


def compare(ours: Array, theirs: Array, tolerance: float = 1.0, name: str = "") -> None:
    """Compare arrays: of floats up to roundings, all others exactly."""
    assert ours.shape == theirs.shape, name
    assert ours.dtype == theirs.dtype, name
    if element(theirs) not in _ROUNDING:
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        return
    rounding = tolerance * _ROUNDING[element(theirs)]
    np.testing.assert_allclose(
        ours.astype(np.float64), theirs.astype(np.float64), rounding, rounding, err_msg=name
    )
