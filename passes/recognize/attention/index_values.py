# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors that constants and loop indices alone decide, such as masks, computed when compiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES

__all__ = ["Array", "Diagonals", "diagonal_values", "index_values"]

_MOST = 1 << 26  # elements of one tensor
_MOST_OPERATIONS = 64
_DTYPES: Mapping[str, np.dtype[Any]] = {
    "i1": np.dtype("bool"),
    "i8": np.dtype("int8"),
    "i32": np.dtype("int32"),
    "i64": np.dtype("int64"),
    "index": np.dtype("int64"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
}
_COMPARED_INTEGERS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
"""By the signed predicates of arith.cmpi."""
_COMPARED_FLOATS = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal}
"""By the ordered predicates of arith.cmpf, and none of those that ask for NaN."""
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.negf": np.negative,
    "arith.select": np.where,
}
_CONVERSIONS = ("index_cast", "index_castui", "extui", "sitofp", "uitofp", "extf", "truncf")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Diagonals:
    """A tensor whose elements depend on the distance of two indices alone.

    Attributes:
        row, column: the dimensions of more than one element, in order.
        values: by the index of the column less that of the row, the smallest difference first.
    """

    row: int
    column: int
    values: Array


@dataclass(frozen=True)
class _Index:
    """The index of a loop, plus a number."""

    loop: int
    constant: int = 0


class _UnknownError(Exception):
    """A value depends on more than constants and indices, or is computed in another way."""


def index_values(value: ir.Value) -> Array | None:
    """Return the elements of a tensor that no input of the program takes part in.

    None where one does, where there are too many elements, or operations that are not known here.
    """
    evaluation = _Evaluation()
    try:
        return evaluation.tensor(value)
    except _UnknownError:
        return None


def diagonal_values(value: ir.Value) -> Diagonals | None:
    """Return what `index_values` does by diagonals, of any size; None where elements have more."""
    try:
        found = _DiagonalEvaluation().tensor(value)
    except _UnknownError:
        return None
    return found if isinstance(found, Diagonals) else None


class _Evaluation:
    def __init__(self) -> None:
        self._left = _MOST_OPERATIONS

    def tensor(self, value: ir.Value) -> Array:
        """Return all elements of a tensor."""
        self._left -= 1
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        if not is_tensor or isinstance(value.owner, ir.Block) or self._left < 0:
            raise _UnknownError
        shape = tuple(ir.RankedTensorType(value.type).shape)
        if prod(shape) > _MOST:
            raise _UnknownError
        op = value.owner.operation
        if op.name == "arith.constant":
            return _constant(op.attributes["value"], shape)
        if op.name == "linalg.fill":
            return np.broadcast_to(self._scalar_of_fill(op.operands[0]), shape)
        if op.name in RESHAPES:
            return self.tensor(op.operands[0]).reshape(shape)
        if op.name == "tensor.extract_slice":
            return self.tensor(op.operands[0])[tuple(_ranges(op, shape))].reshape(shape)
        if op.name != "linalg.generic" or len(op.results) != 1:
            raise _UnknownError
        return np.broadcast_to(self._generic(op, shape), shape)

    def _scalar_of_fill(self, value: ir.Value) -> Array:
        if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
            raise _UnknownError
        return _constant(value.owner.operation.attributes["value"], ())

    def _generic(self, op: ir.Operation, shape: tuple[int, ...]) -> Array:
        """Return the elements of an elementwise operation; extents are 1 where all are equal."""
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        rank = len(shape)
        if "reduction" in str(op.attributes["iterator_types"]) or not _is_identity(maps[-1], rank):
            raise _UnknownError
        block = op.regions[0].blocks[0]
        inputs = [self._aligned(*each, rank) for each in zip(op.operands, maps[:-1], strict=False)]
        values: dict[ir.Value, Array] = dict(zip(block.arguments, inputs, strict=False))
        for view in block.operations:
            inner = view.operation
            if inner.name == "linalg.yield":
                return self._known(values, inner.operands[0])
            given = [self._known(values, each) for each in inner.operands]
            values[inner.results[0]] = _computed(inner, given, shape)
        raise _UnknownError

    def _aligned(self, value: ir.Value, map_: ir.AffineMap, rank: int) -> Array:
        """Return an operand with a dimension for each loop."""
        if not isinstance(value.type, ir.RankedTensorType):
            return self._scalar_of_fill(value)
        array = self.tensor(value)
        loops = [_loop(each) for each in map_.results]
        known = [loop for loop in loops if loop is not None]
        if known != sorted(set(known)):
            raise _UnknownError
        extents = [1] * rank
        for loop, size in zip(loops, array.shape, strict=True):
            if loop is not None:
                extents[loop] = size
            elif size != 1:
                raise _UnknownError
        return array.reshape(extents)

    def _known(self, values: dict[ir.Value, Array], value: ir.Value) -> Array:
        found = values.get(value)
        return self._scalar_of_fill(value) if found is None else found


class _DiagonalEvaluation:
    """Computes an element for each diagonal; where all elements are equal, one."""

    def __init__(self) -> None:
        self._left = _MOST_OPERATIONS

    def tensor(self, value: ir.Value) -> Diagonals | Array | _Index:
        """Return all elements of a tensor; an index where each is its place along a dimension."""
        self._left -= 1
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        if not is_tensor or isinstance(value.owner, ir.Block) or self._left < 0:
            raise _UnknownError
        shape = tuple(ir.RankedTensorType(value.type).shape)
        op = value.owner.operation
        if op.name == "arith.constant":
            attribute = op.attributes["value"]
            if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
                raise _UnknownError
            return _constant(attribute, ())
        if op.name == "linalg.fill":
            return _number(op.operands[0])
        if op.name in RESHAPES:
            return _reshaped(self.tensor(op.operands[0]), op.operands[0], shape)
        if op.name == "tensor.extract_slice":
            return _sliced(self.tensor(op.operands[0]), op, shape)
        if op.name != "linalg.generic" or len(op.results) != 1:
            raise _UnknownError
        return self._generic(op, shape)

    def _generic(self, op: ir.Operation, shape: tuple[int, ...]) -> Diagonals | Array | _Index:
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        if "reduction" in str(op.attributes["iterator_types"]):
            raise _UnknownError
        if not _is_identity(maps[-1], len(shape)):
            raise _UnknownError
        block = op.regions[0].blocks[0]
        pairs = zip(op.operands, maps[:-1], strict=False)
        inputs: list[Array | _Index] = [self._read(*each, _large(shape)) for each in pairs]
        values: dict[ir.Value, Array | _Index] = dict(zip(block.arguments, inputs, strict=False))
        for view in block.operations:
            inner = view.operation
            given = [values[each] if each in values else _number(each) for each in inner.operands]
            if inner.name != "linalg.yield":
                values[inner.results[0]] = _on_diagonals(inner, given, shape)
            elif isinstance(given[0], _Index):
                return given[0]
            else:
                return _on_two_loops(given[0], shape)
        raise _UnknownError

    def _read(self, value: ir.Value, map_: ir.AffineMap, large: list[int]) -> Array | _Index:
        """Return an operand by the diagonals of two loops."""
        if not isinstance(value.type, ir.RankedTensorType):
            return _number(value)
        found = self.tensor(value)
        if isinstance(found, _Index):
            loop = _loop(map_.results[found.loop])
            if loop is None:
                raise _UnknownError
            return _Index(loop, found.constant)
        if not isinstance(found, Diagonals):
            return found
        loops = [_loop(map_.results[each]) for each in (found.row, found.column)]
        if loops == large:
            return found.values
        if loops == large[::-1]:
            return found.values[::-1]
        raise _UnknownError


def _large(shape: tuple[int, ...]) -> list[int]:
    """The dimensions of more than one element."""
    return [dim for dim, size in enumerate(shape) if size != 1]


def _on_two_loops(values: Array, shape: tuple[int, ...]) -> Diagonals | Array:
    if values.ndim == 0:
        return values
    row, column = _large(shape)
    return Diagonals(row, column, values)


def _reshaped(
    found: Diagonals | Array | _Index, source: ir.Value, shape: tuple[int, ...]
) -> Diagonals | Array:
    if isinstance(found, _Index):
        raise _UnknownError
    if not isinstance(found, Diagonals):
        return found
    before = tuple(ir.RankedTensorType(source.type).shape)
    if [size for size in before if size != 1] != [size for size in shape if size != 1]:
        raise _UnknownError
    return _on_two_loops(found.values, shape)


def _ranges(op: ir.Operation, shape: tuple[int, ...]) -> list[slice]:
    """The elements that a slice takes of each dimension of its source."""
    offsets, sizes, strides = (
        list(op.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides")
    )
    if len(op.operands) != 1 or 0 in shape or min(strides, default=1) < 1:
        raise _UnknownError
    parts = zip(offsets, sizes, strides, strict=True)
    return [slice(at, at + (size - 1) * step + 1, step) for at, size, step in parts]


def _sliced(
    found: Diagonals | Array | _Index, op: ir.Operation, shape: tuple[int, ...]
) -> Diagonals | Array:
    """Return the diagonals of a slice that takes neighbours of both dimensions, or all equal."""
    if isinstance(found, _Index):
        raise _UnknownError
    ranges = _ranges(op, shape)
    if not isinstance(found, Diagonals):
        return found
    rows, columns = ranges[found.row], ranges[found.column]
    if len(ranges) != len(shape) or {rows.step, columns.step} != {1}:
        raise _UnknownError
    if 1 in (shape[found.row], shape[found.column]):
        raise _UnknownError
    source_rows = ir.RankedTensorType(op.operands[0].type).shape[found.row]
    first = columns.start - (rows.stop - 1) + source_rows - 1
    count = shape[found.row] + shape[found.column] - 1
    return Diagonals(found.row, found.column, found.values[first : first + count])


def _number(value: ir.Value) -> Array:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        raise _UnknownError
    return _constant(value.owner.operation.attributes["value"], ())


def _on_diagonals(
    op: ir.Operation, given: list[Array | _Index], shape: tuple[int, ...]
) -> Array | _Index:
    """Return what an operation makes of elements by diagonals, and of indices."""
    if op.name == "linalg.index":
        loop = int(op.attributes["dim"].value)
        return _Index(loop) if shape[loop] != 1 else np.array(0, np.int64)
    indices = [each for each in given if isinstance(each, _Index)]
    arrays = [each for each in given if not isinstance(each, _Index)]
    if not indices:
        return _computed(op, arrays, shape)
    if op.name in ("arith.index_cast", "arith.index_castui"):
        return indices[0]
    if len(given) != 2 or op.name not in ("arith.addi", "arith.subi", "arith.cmpi"):
        raise _UnknownError
    if len(indices) == 2 and op.name != "arith.addi":
        apart = _distances(indices[0], indices[1], shape)
        return _computed(op, [apart, np.array(0, np.int64)], shape)
    if op.name == "arith.cmpi" or len(arrays) != 1 or arrays[0].ndim or given[0] is not indices[0]:
        raise _UnknownError
    moved = int(arrays[0]) if op.name == "arith.addi" else -int(arrays[0])
    return _Index(indices[0].loop, indices[0].constant + moved)


def _distances(first: _Index, second: _Index, shape: tuple[int, ...]) -> Array:
    """Return the first index less the second, by diagonals."""
    large = _large(shape)
    if sorted((first.loop, second.loop)) != large or 0 in shape:
        raise _UnknownError
    rows, columns = (shape[dim] for dim in large)
    apart = np.arange(1 - rows, columns, dtype=np.int64)
    moved = first.constant - second.constant
    return (apart if first.loop == large[1] else -apart) + moved


def _computed(op: ir.Operation, given: list[Array], shape: tuple[int, ...]) -> Array:
    if op.name == "arith.constant":
        return _constant(op.attributes["value"], ())
    if op.name == "linalg.index":
        dim = int(op.attributes["dim"].value)
        extents = [size if d == dim else 1 for d, size in enumerate(shape)]
        return np.arange(shape[dim], dtype=np.int64).reshape(extents)
    dtype = _dtype(op.results[0].type)
    if op.name == "arith.cmpi":
        predicate = int(op.attributes["predicate"].value)
        if predicate >= len(_COMPARED_INTEGERS):
            raise _UnknownError
        return np.asarray(_COMPARED_INTEGERS[predicate](*given))
    if op.name == "arith.cmpf":
        compare = _COMPARED_FLOATS.get(int(op.attributes["predicate"].value))
        if compare is None:
            raise _UnknownError
        return np.asarray(compare(*given))
    if op.name.removeprefix("arith.") in _CONVERSIONS:
        return given[0].astype(dtype)
    if op.name not in _ARITHMETIC:
        raise _UnknownError
    with np.errstate(all="ignore"):
        return np.asarray(_ARITHMETIC[op.name](*given)).astype(dtype)


def _constant(attribute: ir.Attribute, shape: tuple[int, ...]) -> Array:
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            dtype = _dtype(ir.RankedTensorType(attribute.type).element_type)
            if dtype == ml_dtypes.bfloat16:  # the bindings have no elements of it for numpy
                raise _UnknownError
            return np.array(attribute).reshape(shape)
        attribute = attribute.get_splat_value()
    if isinstance(attribute, ir.BoolAttr):
        number: float | int = bool(attribute.value)
    elif isinstance(attribute, ir.FloatAttr | ir.IntegerAttr):
        number = attribute.value
    else:
        raise _UnknownError
    dtype = _dtype(attribute.type)
    return np.broadcast_to(np.array(abs(number) if dtype == np.bool_ else number, dtype), shape)


def _dtype(type_: ir.Type) -> np.dtype[Any]:
    found = _DTYPES.get(str(type_))
    if found is None:
        raise _UnknownError
    return found


def _is_identity(map_: ir.AffineMap, rank: int) -> bool:
    return bool(map_ == ir.AffineMap.get_identity(rank, map_.context))


def _loop(expression: ir.AffineExpr) -> int | None:
    return expression.position if isinstance(expression, ir.AffineDimExpr) else None
