# SPDX-License-Identifier: MIT OR Apache-2.0
"""A linalg.generic whose accesses are not linear: one thread an output, indices computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    below,
    delinearize,
    global_thread,
)
from xyntra.passes.lower.nests.access_strides import loop_extents
from xyntra.passes.lower.nests.loop_builder import Position, carrying_loop, index
from xyntra.passes.lower.nests.scalar_nest import is_scalar_code, repeat_body

_THREADS = 256


def is_general(op: ir.Operation) -> bool:
    """Tell whether `op` is a linalg.generic on memrefs of static shape around scalar code."""
    if op.name != "linalg.generic" or not is_scalar_code(op.regions[0].blocks[0]):
        return False
    return all(
        not isinstance(value.type, ir.MemRefType) or value.type.has_static_shape
        for value in op.operands
    )


def emit_general(generic: ir.Operation) -> LaunchShape:
    """Emit `generic`, which satisfies `is_general`, for a launch of the returned shape."""
    extents = loop_extents(generic)
    kinds = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    parallel = [(i, extent) for i, extent in enumerate(extents) if not kinds[i]]
    reductions = [(i, extent) for i, extent in enumerate(extents) if kinds[i]]
    count = prod(extent for _, extent in parallel)
    shape = LaunchShape(-(-count // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, count, always=count % _THREADS == 0):
        position = delinearize(number, parallel)
        # No output moves with a reduction.
        position |= dict.fromkeys((i for i, _ in reductions), index(0))
        outputs = range(_inputs(generic), len(generic.operands))
        first = [_load(generic, operand, position) for operand in outputs]
        results = _reduce(generic, reductions, position, first)
        for result, operand in zip(results, outputs, strict=True):
            place = [generic.operands[operand], *_indices(generic, operand, position)]
            ir.Operation.create("memref.store", operands=[result, *place])
    return shape


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
    found = []
    for expression in indexing.results:
        single = ir.AffineMapAttr.get(ir.AffineMap.get(indexing.n_dims, 0, [expression]))
        found.append(emit("affine.apply", loops, ir.IndexType.get(), map=single))
    return found


def _load(generic: ir.Operation, operand: int, position: Position) -> ir.Value:
    value = generic.operands[operand]
    if not isinstance(value.type, ir.MemRefType):
        return value
    indices = _indices(generic, operand, position)
    return emit("memref.load", [value, *indices], value.type.element_type)
