# SPDX-License-Identifier: MIT OR Apache-2.0
"""`destination-passing`: a kernel writes its results to buffers that the caller passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import func

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    CONSTANT,
    check_contract,
    constant_arguments,
    entry_block,
    inplace_pairs,
    kernel_function,
    set_signature,
    terminator,
)
from xyntra.passes.analysis.states import updates_argument
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
            if index in pairs and updates_argument(value, inputs[pairs[index]]):
                kept.append(value)  # the analysis writes it where its loops begin
            elif index in pairs:
                kept.append(_materialize_into_tensor(value, inputs[pairs[index]]))
            else:
                _materialize_into_memref(value, body, function.location)
        func.ReturnOp(kept)
    returning.erase()
    set_signature(function, [value.type for value in kept])


def _mark_writable_arguments(function: ir.Operation, writable: set[int]) -> None:
    body = entry_block(function)
    constant = constant_arguments(function)
    unit = ir.UnitAttr.get()
    attributes = [
        ir.DictAttr.get(
            {"bufferization.writable": ir.BoolAttr.get(index in writable)}
            | ({CONSTANT: unit} if index in constant else {})
        )
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
    target = body.add_argument(memref, location)
    # The analysis does not look through reshapes, and would copy what they give.
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _INVERSE:
        target = _reshaped_back(target, value.owner.operation)
        value = value.owner.operation.operands[0]
    unit = ir.UnitAttr.get()
    ir.Operation.create(
        "bufferization.materialize_in_destination",
        operands=[value, target],
        attributes={"restrict": unit, "writable": unit},
    )


def _reshaped_back(target: ir.Value, reshape: ir.Operation) -> ir.Value:
    """Return `target`, a destination for what `reshape` gives, as one for what it takes."""
    source = ir.RankedTensorType(reshape.operands[0].type)
    name = _INVERSE[reshape.name]
    attributes = {"reassociation": reshape.attributes["reassociation"]}
    if name == "memref.expand_shape":
        attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(list(source.shape))
    return ir.Operation.create(
        name,
        results=[ir.MemRefType.get(source.shape, source.element_type)],
        operands=[target],
        attributes=attributes,
    ).result


_INVERSE = {
    "tensor.collapse_shape": "memref.expand_shape",
    "tensor.expand_shape": "memref.collapse_shape",
}
