# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results of a kernel become memory that the caller passes.

Before bufferization every result turns into a materialisation: into a new memref argument, or,
where `xyntra.inplace` says so, into the tensor argument whose buffer it takes. The one-shot
analysis then decides what may be written directly and where a copy is needed.
"""

from __future__ import annotations

from torch_mlir.dialects import func

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.kernel_function import (
    entry_block,
    inplace_pairs,
    set_signature,
    terminator,
)


def pass_results_by_destination(function: ir.Operation) -> None:
    """Give the kernel one memref argument per result that is not in place.

    In-place results stay results until `finish_inplace_results`, which sees from them whether the
    analysis kept them in their argument's buffer.
    """
    pairs = inplace_pairs(function)
    body = entry_block(function)
    _mark_writable_arguments(function, set(pairs.values()))
    inputs = list(body.arguments)
    returning = terminator(body)
    kept: list[ir.Value] = []
    with function.location, ir.InsertionPoint(returning):
        for index, value in enumerate(returning.operands):
            if index in pairs:
                kept.append(_materialize_into_tensor(value, inputs[pairs[index]]))
            else:
                _materialize_into_memref(value, body, function.location)
        func.ReturnOp(kept)
    returning.erase()
    set_signature(function, [value.type for value in kept])


def finish_inplace_results(function: ir.Operation) -> None:
    """Drop the results that are in their argument's buffer by now, and copy the others there."""
    arguments = list(inplace_pairs(function).values())
    body = entry_block(function)
    returning = terminator(body)
    moves = [
        (value, body.arguments[argument])
        for value, argument in zip(list(returning.operands), arguments, strict=True)
        if value != body.arguments[argument]
    ]
    with function.location, ir.InsertionPoint(returning):
        # A source may be the buffer that another move overwrites, so all are read first.
        staged = [(_copy_of(source), target) for source, target in moves]
        for source, target in staged:
            _copy(source, target)
        func.ReturnOp([])
    returning.erase()
    set_signature(function, [])


def _mark_writable_arguments(function: ir.Operation, writable: set[int]) -> None:
    body = entry_block(function)
    attributes = [
        ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(index in writable)})
        for index in range(len(body.arguments))
    ]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _materialize_into_tensor(value: ir.Value, argument: ir.Value) -> ir.Value:
    return ir.Operation.create(
        "bufferization.materialize_in_destination",
        results=[argument.type],
        operands=[value, argument],
    ).result


def _materialize_into_memref(value: ir.Value, body: ir.Block, location: ir.Location) -> None:
    tensor = ir.RankedTensorType(value.type)
    memref = ir.MemRefType.get(tensor.shape, tensor.element_type)
    unit = ir.UnitAttr.get()
    ir.Operation.create(
        "bufferization.materialize_in_destination",
        operands=[value, body.add_argument(memref, location)],
        attributes={"restrict": unit, "writable": unit},
    )


def _copy_of(source: ir.Value) -> ir.Value:
    memref = ir.MemRefType(source.type)
    kind = ir.MemRefType.get(memref.shape, memref.element_type)
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    copy = ir.Operation.create(
        "memref.alloc", results=[kind], attributes={"operandSegmentSizes": segments}
    ).result
    _copy(source, copy)
    return copy


def _copy(source: ir.Value, target: ir.Value) -> None:
    ir.Operation.create("memref.copy", operands=[source, target])
