# SPDX-License-Identifier: MIT OR Apache-2.0
"""A linalg.generic whose accesses are not linear: a thread for one output, or a few in a row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    below,
    delinearize,
    global_thread,
)
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.affine_values import affine_value
from xyntra.passes.lower.loops.loop_builder import Position, carrying_loop, index
from xyntra.passes.lower.loops.scalar_nest import is_scalar_code, repeat_body

_THREADS = 256
_VECTOR_BYTES = 16
_MANY = 1 << 16  # threads that keep a device busy
_MOST_CODE = 256  # operations of a thread


def is_general(op: ir.Operation) -> bool:
    """Tell whether `op` is a linalg.generic on memrefs of static shape around scalar code."""
    if op.name != "linalg.generic" or not is_scalar_code(op.regions[0].blocks[0]):
        return False
    return all(
        not isinstance(value.type, ir.MemRefType) or value.type.has_static_shape
        for value in op.operands
    )


def contiguous_outputs(generic: ir.Operation) -> int:
    """Return how many outputs a thread can compute that one vector in memory holds; 1 for none."""
    if any("reduction" in str(kind) for kind in generic.attributes["iterator_types"]):
        return 1
    extents = loop_extents(generic)
    outputs = list(generic.operands)[_inputs(generic) :]
    sizes = {ITEM_BYTES.get(str(each.type.element_type), 0) for each in outputs}
    if not extents or 0 in sizes or not all(map(_is_row_major, _output_maps(generic), outputs)):
        return 1
    own = _VECTOR_BYTES // max(sizes)
    while own > 1 and (extents[-1] % own or prod(extents) < own * _MANY):
        own //= 2
    body = len(list(generic.regions[0].blocks[0].operations))
    return own if own * body <= _MOST_CODE else 1


def _output_maps(generic: ir.Operation) -> list[ir.AffineMap]:
    maps = [attribute.value for attribute in generic.attributes["indexing_maps"]]
    return maps[_inputs(generic) :]


def _is_row_major(map_: ir.AffineMap, output: ir.Value) -> bool:
    identity = ir.AffineMap.get_identity(map_.n_dims, map_.context)
    kind = ir.MemRefType(output.type)
    strides, first = kind.get_strides_and_offset()
    inside = [prod(kind.shape[number + 1 :]) for number in range(kind.rank)]
    return bool(map_ == identity) and first == 0 and list(strides) == inside


def emit_general(generic: ir.Operation, own: int = 1) -> LaunchShape:
    """Emit `generic`, which satisfies `is_general`, for a launch of the returned shape.

    Args:
        generic: the operation.
        own: outputs of a thread, contiguous along the last loop; a divisor of `contiguous_outputs`.
    """
    extents = loop_extents(generic)
    kinds = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    parallel = [(i, extent) for i, extent in enumerate(extents) if not kinds[i]]
    reductions = [(i, extent) for i, extent in enumerate(extents) if kinds[i]]
    if own > 1:
        parallel[-1] = (parallel[-1][0], parallel[-1][1] // own)
    count = prod(extent for _, extent in parallel)
    shape = LaunchShape(-(-count // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, count, always=count % _THREADS == 0):
        position = delinearize(number, parallel)
        # No output moves with a reduction.
        position |= dict.fromkeys((i for i, _ in reductions), index(0))
        if own > 1:
            _emit_contiguous(generic, parallel[-1][0], own, position)
            return shape
        outputs = range(_inputs(generic), len(generic.operands))
        first = [_load(generic, operand, position) for operand in outputs]
        results = _reduce(generic, reductions, position, first)
        for result, operand in zip(results, outputs, strict=True):
            place = [generic.operands[operand], *_indices(generic, operand, position)]
            ir.Operation.create("memref.store", operands=[result, *place])
    return shape


def _emit_contiguous(generic: ir.Operation, inner: int, own: int, position: Position) -> None:
    """Emit outputs side by side along a loop, whose position counts vectors; store them at once.

    What differs between them is what the position of that loop decides: the rest is computed once.
    """
    first = position | {inner: arith.muli(position[inner], index(own))}
    outputs = range(_inputs(generic), len(generic.operands))
    found = []
    for lane in range(own):
        at = first | {inner: arith.addi(first[inner], index(lane))}
        carried = [_load(generic, operand, at) for operand in outputs]
        found.append(_body(generic, at, carried))
    for operand, values in zip(outputs, zip(*found, strict=True), strict=True):
        kind = ir.VectorType.get([own], values[0].type)
        vector = emit("vector.from_elements", list(values), kind)
        place = [generic.operands[operand], *_indices(generic, operand, first)]
        nbytes = own * ITEM_BYTES[str(values[0].type)]
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)
        ir.Operation.create(
            "vector.store", operands=[vector, *place], attributes={"alignment": alignment}
        )


def _inputs(generic: ir.Operation) -> int:
    return int(generic.attributes["operandSegmentSizes"][0])


def _reduce(
    generic: ir.Operation,
    loops: Sequence[tuple[int, int]],
    position: Position,
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    if not loops:
        return _body(generic, position, carried)
    number, extent = loops[0]
    built = carrying_loop(extent, carried)
    with ir.InsertionPoint(built.body):
        inside = position | {number: built.induction_variable}
        scf.YieldOp(_reduce(generic, loops[1:], inside, list(built.inner_iter_args)))
    return list(built.results)


def _body(generic: ir.Operation, position: Position, carried: Sequence[ir.Value]) -> list[ir.Value]:
    values = [_load(generic, operand, position) for operand in range(_inputs(generic))]
    body = generic.regions[0].blocks[0]
    return repeat_body(body, [*values, *carried], position.__getitem__)


def _indices(generic: ir.Operation, operand: int, position: Position) -> list[ir.Value]:
    """Return the indices at which an operand is touched at `position` of all loops."""
    indexing = ir.AffineMapAttr(generic.attributes["indexing_maps"][operand]).value
    loops = [position[number] for number in range(indexing.n_dims)]
    return [affine_value(expression, loops) for expression in indexing.results]


def _load(generic: ir.Operation, operand: int, position: Position) -> ir.Value:
    value = generic.operands[operand]
    if not isinstance(value.type, ir.MemRefType):
        return value
    indices = _indices(generic, operand, position)
    return emit("memref.load", [value, *indices], value.type.element_type)
