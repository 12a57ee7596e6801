# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs linalg-on-tensors functions with numpy, one operation at a time and with no compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch_mlir import ir

Arrays = dict[ir.Value, np.ndarray]

SCALAR: dict[str, Callable[..., np.ndarray]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.negf": np.negative,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.fptosi": np.int64,
    "arith.index_cast": np.int64,
}


def run(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the first function of `module` returns for `inputs`."""
    block = module.body.operations[0].operation.regions[0].blocks[0]
    values: Arrays = dict(zip(block.arguments, inputs, strict=True))
    for view in block.operations:
        op = view.operation
        if op.name == "arith.constant":
            continue
        if op.name == "func.return":
            return [values[value] for value in op.operands]
        operands = [values[value] for value in op.operands]
        if op.name == "linalg.generic":
            results = _generic(op, operands, values)
        else:
            results = _OPERATIONS[op.name](op, operands)
        for result, array in zip(op.results, results, strict=True):
            assert array.shape == tuple(result.type.shape), op.name
            values[result] = array
    raise AssertionError("no return")


def _generic(op: ir.Operation, operands: list[np.ndarray], around: Arrays) -> list[np.ndarray]:
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    extents = [0] * len(kinds)
    for map_, operand in zip(maps, operands, strict=True):
        for expression, size in zip(map_.results, operand.shape, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                extents[expression.position] = size
    parallel = [d for d, reduced in enumerate(kinds) if not reduced]
    reduced = [d for d, reduced in enumerate(kinds) if reduced]
    grid = np.indices([extents[d] for d in parallel])
    outputs = [operand.copy() for operand in operands[len(operands) - len(op.results) :]]
    inputs = operands[: len(operands) - len(outputs)]
    for combination in np.ndindex(*(extents[d] for d in reduced)):
        loops: dict[int, np.ndarray] = dict(zip(parallel, grid, strict=True))
        loops |= {d: np.full(grid.shape[1:], i) for d, i in zip(reduced, combination, strict=True)}
        read = [
            array[tuple(_position(e, loops) for e in map_.results)]
            for array, map_ in zip([*inputs, *outputs], maps, strict=True)
        ]
        shape = grid.shape[1:]
        body = op.regions[0].blocks[0]
        scalars = around | dict(
            zip(body.arguments, [np.broadcast_to(array, shape) for array in read], strict=True)
        )
        written = [np.broadcast_to(array, shape) for array in _body(body, scalars, loops)]
        for output, map_, array in zip(outputs, maps[len(inputs) :], written, strict=True):
            output[tuple(_position(e, loops) for e in map_.results)] = array
    return outputs


def _position(expression: ir.AffineExpr, loops: dict[int, np.ndarray]) -> np.ndarray:
    if isinstance(expression, ir.AffineDimExpr):
        return loops[expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return np.asarray(expression.value)
    left, right = (_position(side, loops) for side in (expression.lhs, expression.rhs))
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    assert isinstance(expression, ir.AffineFloorDivExpr), expression
    return left // right


def _body(block: ir.Block, scalars: Arrays, loops: dict[int, np.ndarray]) -> list[np.ndarray]:
    """What a body yields; `scalars` holds its arguments, and tensors that it may index."""
    for view in block.operations:
        op = view.operation
        if op.name == "arith.constant":
            continue
        operands = [_scalar(value, scalars) for value in op.operands]
        if op.name == "linalg.yield":
            return operands
        if op.name == "linalg.index":
            result = loops[op.attributes["dim"].value]
        elif op.name == "tensor.extract":
            result = operands[0][tuple(operands[1:])]
        else:
            result = SCALAR[op.name](*operands)
        scalars[op.results[0]] = result
    raise AssertionError("no yield")


def _scalar(value: ir.Value, scalars: Arrays) -> np.ndarray:
    """A value of the body, or a constant outside of or in it."""
    if value in scalars:
        return scalars[value]
    attribute = value.owner.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        return np.float32(attribute.value)
    return np.int64(ir.IntegerAttr(attribute).value)


def _softmax(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    axis = op.attributes["axis"].value
    exponent = np.exp(operands[0] - operands[0].max(axis, keepdims=True))
    return [exponent / exponent.sum(axis, keepdims=True)]


def _layer_norm(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    x, *affine = operands
    axes = tuple(range(op.attributes["axis"].value, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    scale = np.sqrt((centred**2).mean(axes, keepdims=True) + op.attributes["epsilon"].value)
    result = centred / scale
    for apply, array in zip((np.multiply, np.add), affine, strict=False):
        result = apply(result, array)
    return [result.astype(np.float32)]


def _reshape(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    return [operands[0].reshape(op.results[0].type.shape)]


def _slice(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    names = ("static_offsets", "static_sizes", "static_strides")
    spans = zip(*(op.attributes[name] for name in names), strict=True)
    cut = tuple(slice(start, start + size * step, step) for start, size, step in spans)
    return [operands[0][cut].reshape(op.results[0].type.shape)]


def _insert(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    names = ("static_offsets", "static_sizes")
    spans = zip(*(op.attributes[name] for name in names), strict=True)
    result = operands[1].copy()
    result[tuple(slice(start, start + size) for start, size in spans)] = operands[0]
    return [result]


def _empty(op: ir.Operation, operands: list[np.ndarray]) -> list[np.ndarray]:
    # Not numbers, so that a result that depends on them shows.
    return [np.full(op.results[0].type.shape, np.nan, np.float32)]


_OPERATIONS: dict[str, Callable[[ir.Operation, list[np.ndarray]], list[np.ndarray]]] = {
    "tensor.collapse_shape": _reshape,
    "tensor.expand_shape": _reshape,
    "tensor.extract_slice": _slice,
    "tensor.insert_slice": _insert,
    "tensor.empty": _empty,
    "xyntra.softmax": _softmax,
    "xyntra.layer_norm": _layer_norm,
}
