# SPDX-License-Identifier: MIT OR Apache-2.0
"""`settle-requirements`: removes required results that are always true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.requires import read_requirement, requirements_of
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.owners import constant_attribute, owner_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.registry import register_pass

__all__ = ["SettleRequirements"]

_PASSED_ON = TENSOR_VIEWS | {"linalg.fill", "tensor.from_elements", "tensor.splat"}


@register_pass
@dataclass(frozen=True)
class SettleRequirements:
    """Remove results with `xyntra.requires` that are known to be true; refuse known false ones.

    What is left is computed, and looked at, in every call.
    """

    name: ClassVar[str] = "settle-requirements"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions of `module`.

        Raises:
            UnsupportedError: with the texts of a requirement that no call fulfils.
        """
        for function in functions(module):
            required = dict(requirements_of(function))
            if required and len(function.regions[0].blocks) == 1:
                _settle(function, required)


def _settle(function: ir.Operation, required: dict[int, ir.Attribute]) -> None:
    terminator = list(function.regions[0].blocks[0].operations)[-1].operation
    values = list(terminator.operands)
    known = {position: _known(values[position]) for position in required}
    for position, attribute in required.items():
        if known[position] is False:
            raise UnsupportedError(**read_requirement(attribute))
    kept = [position for position in range(len(values)) if not known.get(position)]
    if len(kept) < len(values):
        _keep_results(function, terminator, kept)


def _keep_results(function: ir.Operation, terminator: ir.Operation, kept: list[int]) -> None:
    values = [terminator.operands[position] for position in kept]
    attributes = list(ir.ArrayAttr(function.attributes["res_attrs"]))
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    with function.context:
        results = [type_.results[position] for position in kept]
        changed = ir.FunctionType.get(type_.inputs, results)
        function.attributes["function_type"] = ir.TypeAttr.get(changed)
        function.attributes["res_attrs"] = ir.ArrayAttr.get([attributes[each] for each in kept])
    with ir.InsertionPoint(terminator), terminator.location:
        ir.Operation.create("func.return", operands=values)
    terminator.erase()


def _known(value: ir.Value) -> bool | None:
    """The boolean that a scalar, or a tensor of rank 0, always is; None for others."""
    while (op := owner_of(value)) is not None:
        if op.name in _PASSED_ON:
            value = op.operands[0]
        # A reduction may run over no elements: then what it yields is not the result.
        elif op.name == "linalg.generic" and not len(ir.ArrayAttr(op.attributes["iterator_types"])):
            value = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0]
        else:
            break
    attribute = constant_attribute(value)
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    # An IntegerAttr of i1 reads as -1, or as a boolean, by the version of the bindings.
    return bool(attribute.value) if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr) else None
