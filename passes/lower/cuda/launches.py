# SPDX-License-Identifier: MIT OR Apache-2.0
"""The host's side of a kernel at the level of the `gpu` dialect: its launches, in order.

What a launch is given stands in `gpu.launch_func`: blocks, threads, clusters, dynamic shared memory
and arguments. What the dialect has no words for are attributes: `xyntra.programmatic`,
`xyntra.resident`, the schedule that the code was made by, for people to read, and what the host
encodes of a tensor for a tensor map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.tensor_map import TensorMap

LAUNCH = "gpu.launch_func"
_MAP = "builtin.unrealized_conversion_cast"  # a tensor to the argument that describes it
_FIELDS = "xyntra.tensor_map"
_PROGRAMMATIC = "xyntra.programmatic"
_RESIDENT = "xyntra.resident"
_SCHEDULE = "xyntra.schedule"
# Operands of a launch: asynchronous dependencies, then three dimensions of each of these.
_GRID, _BLOCK, _CLUSTER, _SHARED, _ARGUMENTS = 1, 4, 7, 10, 11


def emit_launch(
    module: str, function: str, shape: CudaLaunch, arguments: Sequence[ir.Value]
) -> None:
    """Emit a launch at the insertion point.

    Args:
        module: symbol of the `gpu.module`.
        function: symbol of its function.
        shape: how it is launched.
        arguments: all pointers of the kernel; tensor maps are made of them.
    """
    one = _index(1)
    operands = [_index(shape.grid), one, one, _index(shape.block), one, one]
    segments = [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    if shape.cluster > 1:
        operands += [_index(shape.cluster), one, one]
        segments[_CLUSTER:_SHARED] = [1, 1, 1]
    if shape.shared:
        kind = ir.IntegerType.get_signless(32)
        size = ir.IntegerAttr.get(kind, shape.shared)
        operands.append(emit("arith.constant", [], kind, value=size))
        segments[_SHARED] = 1
    maps = [_tensor_map(arguments[each.argument], each) for each in shape.maps]
    segments[_ARGUMENTS] = len(arguments) + len(maps)
    attributes: dict[str, ir.Attribute] = {
        "kernel": ir.SymbolRefAttr.get([module, function]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
    }
    if shape.programmatic:
        attributes[_PROGRAMMATIC] = ir.UnitAttr.get()
    if shape.resident:
        attributes[_RESIDENT] = ir.IntegerAttr.get(_word(), shape.resident)
    if shape.schedule:
        attributes[_SCHEDULE] = ir.StringAttr.get(shape.schedule)
    ir.Operation.create(LAUNCH, operands=[*operands, *arguments, *maps], attributes=attributes)


def launch_entry(op: ir.Operation) -> str:
    """Return the symbol, in the `gpu.module`, of the function that is launched."""
    return str(ir.SymbolRefAttr(op.attributes["kernel"]).value[-1])


def launch_shape(op: ir.Operation) -> CudaLaunch:
    """Return what `emit_launch` was given."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))

    def constant(segment: int) -> int:
        operand = op.operands[sum(segments[:segment])]
        return int(ir.IntegerAttr(operand.owner.attributes["value"]).value)

    arguments = list(op.operands)[sum(segments[:_ARGUMENTS]) :]
    return CudaLaunch(
        constant(_GRID),
        constant(_BLOCK),
        shared=constant(_SHARED) if segments[_SHARED] else 0,
        cluster=constant(_CLUSTER) if segments[_CLUSTER] else 1,
        maps=tuple(_map_of(each.owner) for each in arguments if _is_map(each)),
        programmatic=_PROGRAMMATIC in op.attributes,
        resident=_number(op.attributes[_RESIDENT]) if _RESIDENT in op.attributes else 0,
        schedule=str(op.attributes[_SCHEDULE].value) if _SCHEDULE in op.attributes else "",
    )


def _tensor_map(memory: ir.Value, tensor: TensorMap) -> ir.Value:
    fields: dict[str, ir.Attribute] = {}
    for name, value in asdict(tensor).items():
        if isinstance(value, str):
            fields[name] = ir.StringAttr.get(value)
        elif isinstance(value, int):
            fields[name] = ir.IntegerAttr.get(_word(), value)
        else:
            fields[name] = ir.DenseI64ArrayAttr.get(list(value))
    del fields["argument"]  # is the operand
    return emit(_MAP, [memory], ir.Type.parse("!llvm.ptr"), **{_FIELDS: ir.DictAttr.get(fields)})


def _is_map(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and _FIELDS in owner.attributes


def _map_of(op: ir.Operation) -> TensorMap:
    fields = {each.name: each.attr for each in ir.DictAttr(op.attributes[_FIELDS])}
    values = {
        name: tuple(ir.DenseI64ArrayAttr(value))
        for name, value in fields.items()
        if isinstance(value, ir.DenseI64ArrayAttr)
    }
    numbers = {
        name: _number(value) for name, value in fields.items() if isinstance(value, ir.IntegerAttr)
    }
    element = str(ir.StringAttr(fields["element"]).value)
    argument = ir.BlockArgument(op.operands[0]).arg_number
    return TensorMap(element=element, argument=argument, **values, **numbers)  # type: ignore[arg-type]


def _number(value: ir.Attribute) -> int:
    return int(ir.IntegerAttr(value).value)


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))


def _word() -> ir.Type:
    return ir.IntegerType.get_signless(64)
