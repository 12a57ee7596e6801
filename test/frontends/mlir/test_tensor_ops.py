# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations of the tensor dialect and loops and branches on tensors, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlir_programs import Array, check, function

Settings = dict[str, object]
X = np.arange(35, dtype=np.float32).reshape(5, 7) - 3.5
Y = np.arange(6, dtype=np.float32).reshape(2, 3) * 10
I = np.array(2, np.int32)  # noqa: E741
_INDEX = "  %i32 = tensor.extract %1[] : tensor<i32>\n  %i = arith.index_cast %i32 : i32 to index\n"
_C = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4))


def with_zeros(x: Array, before: int, after: int, value: float) -> Array:
    return np.pad(x, ((before, after), (before, after)), constant_values=value)


def placed(x: Array, y: Array, *where: slice) -> Array:
    out = x.copy()
    out[where] = y
    return out


CASES: dict[str, tuple[str, list[Array], list[Array]]] = {
    "splat": (
        "  %s = tensor.extract %0[%c1, %c2] : tensor<5x7xf32>\n"
        "  %r0 = tensor.splat %s : tensor<2x3xf32>",
        [X],
        [np.full((2, 3), X[1, 2])],
    ),
    "from elements": (
        "  %a = tensor.extract %0[%c1, %c2] : tensor<5x7xf32>\n"
        "  %b = tensor.extract %0[%c4, %c0] : tensor<5x7xf32>\n  %d = arith.addf %a, %b : f32\n"
        "  %r0 = tensor.from_elements %a, %b, %d, %a, %d, %d : tensor<2x3xf32>",
        [X],
        [
            np.array([[X[1, 2], X[4, 0], X[1, 2] + X[4, 0]]] * 2, np.float32)
            .reshape(-1)[[0, 1, 2, 0, 2, 2]]
            .reshape(2, 3)
        ],
    ),
    "from one element": (
        "  %a = tensor.extract %0[%c1, %c2] : tensor<5x7xf32>\n"
        "  %r0 = tensor.from_elements %a : tensor<1x1xf32>",
        [X],
        [X[1:2, 2:3]],
    ),
    "from constants": (
        "  %a = arith.constant 3 : i32\n  %b = arith.constant -4 : i32\n"
        "  %r0 = tensor.from_elements %a, %b : tensor<2xi32>",
        [X],
        [np.array([3, -4], np.int32)],
    ),
    "generate": (
        "  %r0 = tensor.generate {\n  ^bb0(%i: index, %j: index):\n"
        "    %a = arith.muli %i, %c3 : index\n    %b = arith.addi %a, %j : index\n"
        "    %k = arith.index_cast %b : index to i32\n    %f = arith.sitofp %k : i32 to f32\n"
        "    %v = tensor.extract %0[%i, %j] : tensor<5x7xf32>\n    %s = arith.addf %v, %f : f32\n"
        "    tensor.yield %s : f32\n  } : tensor<4x3xf32>",
        [X],
        [X[:4, :3] + np.arange(12, dtype=np.float32).reshape(4, 3)],
    ),
    "extract at a computed position": (
        _INDEX + "  %s = tensor.extract %0[%i, %c3] : tensor<5x7xf32>\n"
        "  %r0 = tensor.from_elements %s : tensor<f32>",
        [X, I],
        [X[2, 3]],
    ),
    "insert": (
        "  %s = arith.constant 9.0 : f32\n"
        "  %r0 = tensor.insert %s into %0[%c1, %c2] : tensor<5x7xf32>",
        [X],
        [placed(X, np.float32(9), slice(1, 2), slice(2, 3))],
    ),
    "insert at a computed position": (
        _INDEX + "  %s = arith.constant 9.0 : f32\n"
        "  %r0 = tensor.insert %s into %0[%i, %c2] : tensor<5x7xf32>",
        [X, I],
        [placed(X, np.float32(9), slice(2, 3), slice(2, 3))],
    ),
    "slice": (
        "  %r0 = tensor.extract_slice %0[1, 0] [2, 3] [2, 3] : tensor<5x7xf32> to tensor<2x3xf32>",
        [X],
        [X[1:4:2, 0:7:3]],
    ),
    "slice of lower rank": (
        "  %r0 = tensor.extract_slice %0[1, 2] [1, 3] [1, 2] : tensor<5x7xf32> to tensor<3xf32>",
        [X],
        [X[1, 2:7:2]],
    ),
    "slice at a computed position": (
        _INDEX + "  %r0 = tensor.extract_slice %0[%i, 1] [2, 3] [1, %i]"
        " : tensor<5x7xf32> to tensor<2x3xf32>",
        [X, I],
        [X[2:4, 1:7:2]],
    ),
    "row at a computed position": (
        _INDEX + "  %r0 = tensor.extract_slice %0[%i, 1] [1, 3] [1, 1]"
        " : tensor<5x7xf32> to tensor<3xf32>",
        [X, I],
        [X[2, 1:4]],
    ),
    "empty slice": (
        "  %r0 = tensor.extract_slice %0[1, 0] [0, 3] [1, 1] : tensor<5x7xf32> to tensor<0x3xf32>",
        [X],
        [X[1:1, :3]],
    ),
    "insert slice": (
        "  %r0 = tensor.insert_slice %1 into %0[1, 2] [2, 3] [3, 2]"
        " : tensor<2x3xf32> into tensor<5x7xf32>",
        [X, Y],
        [placed(X, Y, slice(1, 5, 3), slice(2, 7, 2))],
    ),
    "insert slice of lower rank": (
        "  %v = tensor.collapse_shape %1 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>\n"
        "  %r0 = tensor.insert_slice %v into %0[3, 1] [1, 6] [1, 1]"
        " : tensor<6xf32> into tensor<5x7xf32>",
        [X, Y],
        [placed(X, Y.reshape(1, 6), slice(3, 4), slice(1, 7))],
    ),
    "insert slice at a computed position": (
        "  %n = tensor.extract %2[] : tensor<i32>\n  %i = arith.index_cast %n : i32 to index\n"
        "  %r0 = tensor.insert_slice %1 into %0[1, %i] [2, 3] [%i, 2]"
        " : tensor<2x3xf32> into tensor<5x7xf32>",
        [X, Y, I],
        [placed(X, Y, slice(1, 5, 2), slice(2, 7, 2))],
    ),
    "pad": (
        "  %v = arith.constant 1.5 : f32\n  %r0 = tensor.pad %1 low[1, 2] high[0, 3] {\n"
        "  ^bb0(%i: index, %j: index):\n    tensor.yield %v : f32\n"
        "  } : tensor<2x3xf32> to tensor<3x8xf32>",
        [X, Y],
        [np.pad(Y, ((1, 0), (2, 3)), constant_values=1.5)],
    ),
    "pad with a computed number": (
        "  %v = tensor.extract %0[%c1, %c1] : tensor<5x7xf32>\n"
        "  %r0 = tensor.pad %1 low[1, 1] high[1, 1] {\n"
        "  ^bb0(%i: index, %j: index):\n    tensor.yield %v : f32\n"
        "  } : tensor<2x3xf32> to tensor<4x5xf32>",
        [X, Y],
        [with_zeros(Y, 1, 1, float(X[1, 1]))],
    ),
    "pad by position": (
        "  %r0 = tensor.pad %1 low[1, 1] high[1, 1] {\n  ^bb0(%i: index, %j: index):\n"
        "    %a = arith.index_cast %j : index to i32\n    %v = arith.sitofp %a : i32 to f32\n"
        "    tensor.yield %v : f32\n  } : tensor<2x3xf32> to tensor<4x5xf32>",
        [X, Y],
        [placed(np.tile(np.arange(5, dtype=np.float32), (4, 1)), Y, slice(1, 3), slice(1, 4))],
    ),
    "shapes": (
        "  %a = tensor.expand_shape %0 [[0], [1, 2]] output_shape [5, 7, 1]"
        " : tensor<5x7xf32> into tensor<5x7x1xf32>\n"
        "  %r0 = tensor.collapse_shape %a [[0, 1], [2]] : tensor<5x7x1xf32> into tensor<35x1xf32>\n"
        "  %s = arith.constant dense<[7, 5]> : tensor<2xi64>\n"
        "  %r1 = tensor.reshape %0(%s) : (tensor<5x7xf32>, tensor<2xi64>) -> tensor<7x5xf32>",
        [X],
        [X.reshape(35, 1), X.reshape(7, 5)],
    ),
    "sizes": (
        "  %d = tensor.dim %0, %c1 : tensor<5x7xf32>\n  %n = arith.index_cast %d : index to i64\n"
        "  %k = tensor.rank %0 : tensor<5x7xf32>\n  %m = arith.index_cast %k : index to i64\n"
        "  %r0 = tensor.from_elements %n, %m : tensor<2xi64>",
        [X],
        [np.array([7, 2], np.int64)],
    ),
    "cast and back": (
        "  %a = tensor.cast %0 : tensor<5x7xf32> to tensor<?x7xf32>\n"
        "  %b = tensor.cast %a : tensor<?x7xf32> to tensor<5x7xf32>\n"
        "  %r0 = math.exp %b : tensor<5x7xf32>",
        [X],
        [np.exp(X)],
    ),
    "concat": (
        "  %a = tensor.extract_slice %0[0, 0] [5, 2] [1, 1] : tensor<5x7xf32> to tensor<5x2xf32>\n"
        "  %e = tensor.extract_slice %0[0, 0] [5, 0] [1, 1] : tensor<5x7xf32> to tensor<5x0xf32>\n"
        "  %r0 = tensor.concat dim(1) %a, %e, %0, %a"
        " : (tensor<5x2xf32>, tensor<5x0xf32>, tensor<5x7xf32>, tensor<5x2xf32>)"
        " -> tensor<5x11xf32>",
        [X],
        [np.concatenate([X[:, :2], X, X[:, :2]], 1)],
    ),
    "gather": (
        "  %r0 = tensor.gather %0[%1] gather_dims([0])"
        " : (tensor<5x7xf32>, tensor<3x1xi32>) -> tensor<3x7xf32>\n"
        "  %r1 = tensor.gather %0[%1] gather_dims([1])"
        " : (tensor<5x7xf32>, tensor<3x1xi32>) -> tensor<3x5x1xf32>",
        [X, np.array([[4], [0], [2]], np.int32)],
        [X[[4, 0, 2]], X[:, [4, 0, 2]].T[:, :, None]],
    ),
    "tensor of indices": (
        "  %a = arith.index_cast %1 : tensor<3xi32> to tensor<3xindex>\n"
        "  %k = arith.constant dense<[1, 2, 0]> : tensor<3xindex>\n"
        "  %b = arith.addi %a, %k : tensor<3xindex>\n"
        "  %s = tensor.extract_slice %b[1] [2] [1] : tensor<3xindex> to tensor<2xindex>\n"
        "  %r0 = arith.index_cast %s : tensor<2xindex> to tensor<2xi32>",
        [X, np.array([4, 0, 2], np.int32)],
        [np.array([2, 2], np.int32)],
    ),
    "for with a slice": (
        "  %r0 = scf.for %i = %c0 to %c4 step %c2 iter_args(%t = %0) -> tensor<5x7xf32> {\n"
        "    %a = tensor.extract_slice %t[%i, 0] [1, 7] [1, 1]"
        " : tensor<5x7xf32> to tensor<1x7xf32>\n"
        "    %b = arith.addf %a, %a : tensor<1x7xf32>\n    %j = arith.addi %i, %c1 : index\n"
        "    %d = tensor.insert_slice %b into %t[%j, 0] [1, 7] [1, 1]"
        " : tensor<1x7xf32> into tensor<5x7xf32>\n    scf.yield %d : tensor<5x7xf32>\n  }",
        [X],
        [X[[0, 0, 2, 2, 4]] * np.array([[1], [2], [1], [2], [1]], np.float32)],
    ),
    "for of scalars": (
        "  %z = arith.constant 0.0 : f32\n"
        "  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %z) -> f32 {\n"
        "    %v = tensor.extract %0[%i, %i] : tensor<5x7xf32>\n    %u = arith.addf %t, %v : f32\n"
        "    scf.yield %u : f32\n  }\n  %r0 = tensor.from_elements %s : tensor<f32>",
        [X],
        [np.asarray(np.trace(X[:4, :4]), np.float32)],
    ),
    "if": (
        "  %v = tensor.extract %0[%c0, %c0] : tensor<5x7xf32>\n  %z = arith.constant 0.0 : f32\n"
        "  %p = arith.cmpf ogt, %v, %z : f32\n"
        "  %r0, %s = scf.if %p -> (tensor<5x7xf32>, f32) {\n"
        "    %a = arith.addf %0, %0 : tensor<5x7xf32>\n"
        "    scf.yield %a, %z : tensor<5x7xf32>, f32\n"
        "  } else {\n    %a = arith.negf %0 : tensor<5x7xf32>\n"
        "    scf.yield %a, %v : tensor<5x7xf32>, f32\n  }\n"
        "  %r1 = tensor.splat %s : tensor<2xf32>",
        [X],
        [-X, np.full(2, X[0, 0])],
    ),
    "forall": (
        "  %e = tensor.empty() : tensor<4x6xf32>\n"
        "  %r0 = scf.forall (%i, %j) = (0, 0) to (4, 6) step (2, 3) shared_outs(%o = %e)"
        " -> tensor<4x6xf32> {\n"
        "    %a = tensor.extract_slice %0[%i, %j] [2, 3] [1, 1]"
        " : tensor<5x7xf32> to tensor<2x3xf32>\n"
        "    %b = math.exp %a : tensor<2x3xf32>\n    scf.forall.in_parallel {\n"
        "      tensor.parallel_insert_slice %b into %o[%i, %j] [2, 3] [1, 1]"
        " : tensor<2x3xf32> into tensor<4x6xf32>\n    }\n  }",
        [X],
        [np.exp(X[:4, :6])],
    ),
    "affine loop": (
        "  %r0 = affine.for %i = 0 to 3 iter_args(%t = %0) -> tensor<5x7xf32> {\n"
        "    %a = arith.addf %t, %0 : tensor<5x7xf32>\n    affine.yield %a : tensor<5x7xf32>\n  }",
        [X],
        [4 * X],
    ),
}


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "apart"])
@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, fuse: bool, settings: Settings) -> None:
    body, arguments, expected = CASES[name]
    used = "".join(line + "\n" for line in _C.splitlines() if f"{line.split()[0]}" in body)
    chosen: Any = {**settings, "fuse": fuse}
    check(function(used + body, arguments, expected), arguments, expected, chosen, 2)
