# SPDX-License-Identifier: MIT OR Apache-2.0
"""MLIR text that would leave its tensors or trap, with what it gives instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FAR = np.array([-5, 0, 3, 7, 8, 2**40, -(2**63), 2**63 - 1], np.int64)
X = np.arange(1, 9, dtype=np.float32)


@dataclass(frozen=True)
class Hostile:
    """A module, its inputs, and the result that is documented for it."""

    text: str
    inputs: tuple[Array, ...]
    expected: Array


def _main(body: str, *inputs: str, result: str = "tensor<8xf32>") -> str:
    arguments = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(inputs))
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return %y : {result}\n}}\n"


_ID = "affine_map<(d0) -> (d0)>"
_ROWS = "tensor<8xf32>"
_PLACES = "tensor<8xi64>"


def _generic(body: str, read: str = "%a1", kind: str = "i64", result: str = "f32") -> str:
    return f"""  %e = tensor.empty() : tensor<8x{result}>
  %y = linalg.generic {{indexing_maps = [{_ID}, {_ID}], iterator_types = ["parallel"]}}
      ins({read} : tensor<8x{kind}>) outs(%e : tensor<8x{result}>) {{
  ^bb0(%i: {kind}, %o: {result}):
{body}
  }} -> tensor<8x{result}>"""


def _loop(body: str, start: str = "%a0") -> str:
    return f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %y = scf.for %n = %c0 to %c8 step %c1 iter_args(%t = {start}) -> ({_ROWS}) {{
    %i = tensor.extract %a1[%n] : {_PLACES}
    %k = arith.index_cast %i : i64 to index
{body}
  }}"""


_EXTRACT = """    %k = arith.index_cast %i : i64 to index
    %v = tensor.extract %a0[%k] : tensor<8xf32>
    linalg.yield %v : f32"""
_WRAPPING = """    %one = arith.constant 1 : i64
    %most = arith.constant 9223372036854775807 : i64
    %positive = arith.andi %i, %most : i64
    %next = arith.addi %positive, %one overflow<nsw, nuw> : i64
    %k = arith.index_cast %next : i64 to index
    %v = tensor.extract %a0[%k] : tensor<8xf32>
    linalg.yield %v : f32"""
_REMAINDER = """    %k = arith.index_cast %i : i64 to index
    %c4 = arith.constant 4 : index
    %r = arith.{0} %c4, %k : index
    %v = arith.index_cast %r : index to i64
    linalg.yield %v : i64"""


def _clamped(indices: Array, size: int = 8) -> Array:
    return np.clip(indices, 0, size - 1)


def _written() -> Array:
    result = X.copy()
    result[_clamped(FAR)] = 9
    return result


def _quotients(of: Callable[[int, int], int]) -> Array:
    return np.array([of(4, int(n)) if n else 0 for n in FAR], np.int64)


def _truncated(a: int, b: int) -> int:
    return a // b if b > 0 else -(a // -b)


_ZERO = np.zeros(8, np.float32)
_INDICES = (_ROWS, _PLACES)
_SLICE = """  %c = arith.constant 0 : index
  %i = tensor.extract %a1[%c] : tensor<8xi64>
"""

_GIVEN = (X, FAR)
HOSTILE: dict[str, Hostile] = {
    "extract in a generic": Hostile(_main(_generic(_EXTRACT), *_INDICES), _GIVEN, X[_clamped(FAR)]),
    "extract in a loop": Hostile(
        _main(
            _loop(
                f"""    %v = tensor.extract %a0[%k] : {_ROWS}
    %u = tensor.insert %v into %t[%n] : {_ROWS}
    scf.yield %u : {_ROWS}"""
            ),
            *_INDICES,
        ),
        _GIVEN,
        X[_clamped(FAR)],
    ),
    "insert in a loop": Hostile(
        _main(
            _loop(
                f"""    %v = arith.constant 9.0 : f32
    %u = tensor.insert %v into %t[%k] : {_ROWS}
    scf.yield %u : {_ROWS}"""
            ),
            *_INDICES,
        ),
        _GIVEN,
        _written(),
    ),
    "an index that wraps around": Hostile(
        _main(_generic(_WRAPPING), *_INDICES),
        (X, np.full(8, 2**63 - 1, np.int64)),
        np.full(8, X[0]),
    ),
    "indices divided by zero": Hostile(
        _main(_generic(_REMAINDER.format("divsi"), result="i64"), *_INDICES, result=_PLACES),
        _GIVEN,
        _quotients(_truncated),
    ),
    "remainder of indices by zero": Hostile(
        _main(_generic(_REMAINDER.format("remsi"), result="i64"), *_INDICES, result=_PLACES),
        _GIVEN,
        _quotients(lambda a, b: a - b * _truncated(a, b)),
    ),
    "an empty tensor returned": Hostile(
        _main(f"  %y = tensor.empty() : {_ROWS}", *_INDICES), _GIVEN, _ZERO
    ),
    "an empty tensor read": Hostile(
        _main(
            f"""  %e = tensor.empty() : {_ROWS}
  %f = tensor.empty() : {_ROWS}
  %y = linalg.add ins(%e, %a0 : {_ROWS}, {_ROWS}) outs(%f : {_ROWS}) -> {_ROWS}""",
            *_INDICES,
        ),
        _GIVEN,
        X,
    ),
    "an empty tensor as accumulator": Hostile(
        _main(
            f"""  %m = tensor.expand_shape %a0 [[0, 1]] output_shape [8, 1] : {_ROWS}
      into tensor<8x1xf32>
  %e = tensor.empty() : {_ROWS}
  %y = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%m : tensor<8x1xf32>) outs(%e : {_ROWS}) {{
  ^bb0(%v: f32, %s: f32):
    %z = arith.addf %v, %s : f32
    linalg.yield %z : f32
  }} -> {_ROWS}""",
            *_INDICES,
        ),
        _GIVEN,
        X,
    ),
    "an empty tensor written in part": Hostile(
        _main(
            f"""  %e = tensor.empty() : {_ROWS}
  %p = tensor.extract_slice %a0[0] [3] [1] : {_ROWS} to tensor<3xf32>
  %y = tensor.insert_slice %p into %e[2] [3] [1] : tensor<3xf32> into {_ROWS}""",
            *_INDICES,
        ),
        _GIVEN,
        np.array([0, 0, 1, 2, 3, 0, 0, 0], np.float32),
    ),
    "an empty tensor written in a loop that does not run": Hostile(
        _main(
            f"  %e = tensor.empty() : {_ROWS}\n" + _loop(f"    scf.yield %t : {_ROWS}", "%e"),
            *_INDICES,
        ),
        _GIVEN,
        _ZERO,
    ),
    "a loop that lies about being parallel": Hostile(
        _main(
            _loop(
                f"""    %v = tensor.extract %t[%k] : {_ROWS}
    %w = arith.addf %v, %v : f32
    %u = tensor.insert %w into %t[%k] : {_ROWS}
    scf.yield %u : {_ROWS}"""
            ).removesuffix("  }")
            + "  } {xyntra.parallel}",
            *_INDICES,
        ),
        (X, np.zeros(8, np.int64)),
        np.array([256, 2, 3, 4, 5, 6, 7, 8], np.float32),
    ),
    "a read of a tensor without elements": Hostile(
        _main(
            _generic(_EXTRACT.replace("tensor<8xf32>", "tensor<0xf32>")), "tensor<0xf32>", _PLACES
        ),
        (np.zeros(0, np.float32), FAR),
        _ZERO,
    ),
}
