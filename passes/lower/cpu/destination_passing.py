# SPDX-License-Identifier: MIT OR Apache-2.0
"""`destination-passing`: results of a kernel become memory that the caller passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import func

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.kernel_function import (
    check_contract,
    entry_block,
    inplace_pairs,
    kernel_function,
    set_signature,
    terminator,
)
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class DestinationPassing:
    """Give a kernel on tensors one memref argument per result that is not written in place.

    Each result turns into a materialisation: into its new argument, or, where `xyntra.inplace`
    says so, into the tensor argument whose buffer it takes. The one-shot analysis then decides
    what may be written directly and where a copy is needed. In-place results stay results until
    `inplace-results`, which sees from them what the analysis decided. The number of arguments that
    were there before is kept as `xyntra.inputs`.
    """

    name: ClassVar[str] = "destination-passing"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module`.

        Raises:
            CompileError: the function breaks the kernel contract.
        """
        function = kernel_function(module)
        check_contract(function)
        with function.location:
            _pass_by_destination(function)


def _pass_by_destination(function: ir.Operation) -> None:
    pairs = inplace_pairs(function)
    body = entry_block(function)
    inputs = list(body.arguments)
    i64 = ir.IntegerType.get_signless(64)
    function.attributes["xyntra.inputs"] = ir.IntegerAttr.get(i64, len(inputs))
    _mark_writable_arguments(function, set(pairs.values()))
    returning = terminator(body)
    kept: list[ir.Value] = []
    with ir.InsertionPoint(returning):
        for index, value in enumerate(returning.operands):
            if index in pairs:
                kept.append(_materialize_into_tensor(value, inputs[pairs[index]]))
            else:
                _materialize_into_memref(value, body, function.location)
        func.ReturnOp(kept)
    returning.erase()
    set_signature(function, [value.type for value in kept])


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
