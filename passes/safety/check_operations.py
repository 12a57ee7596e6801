# SPDX-License-Identifier: MIT OR Apache-2.0
"""`check-operations`: refuses what a model has no use for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.kinds import KINDS
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.registry import register_pass
from xyntra.passes.safety.refusal import too_large, unsupported
from xyntra.passes.safety.vocabulary import (
    FUNCTION_ATTRIBUTES,
    SCALAR_DIALECTS,
    VALUE_ATTRIBUTES,
    is_known,
    is_qualified,
)

__all__ = ["CheckOperations"]

_NAME = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)
_DYNAMIC = -(1 << 63)  # stands for a size that is an operand
_SPANS = ("static_sizes", "static_strides", "static_low", "static_high")


@register_pass
@dataclass(frozen=True)
class CheckOperations:
    """Refuse operations, types and attributes that are not on the list of what models hold.

    Values are tensors of static shape and scalars, of the element types that have a size. Loops
    have a constant, positive step. Only the function that is compiled calls, and only kernels.
    """

    name: ClassVar[str] = "check-operations"

    max_tensor_bytes: int = 0
    """Refuse tensors that take more than that; 0 for no limit."""

    def run(self, module: ir.Operation) -> None:
        """Check `module`, which is left as it is.

        Raises:
            PassFailure: with the code `mlir-unsupported` or `tensor-too-large`.
        """
        checked: dict[ir.Type, str | None] = {}
        for op in nested_operations(module):
            if (
                op.name == "func.func"
                and KernelFacts.of(op) is None
                and len(op.regions[0].blocks) > 1
            ):
                return  # has branches, and is refused for them when its calls are planned
            _check_operation(op)
            for value in _values(op):
                kind = value.type
                if kind not in checked:
                    checked[kind] = self._type_problem(kind)
                problem = checked[kind]
                if problem is not None:
                    raise unsupported(op, f"'{op.name}' has a value of type {kind}, {problem}")
                self._check_size(op, kind)

    @staticmethod
    def _type_problem(kind: ir.Type) -> str | None:
        """Say what is wrong with a type; None where nothing is."""
        if not isinstance(kind, ir.RankedTensorType):
            return None if _is_scalar(kind) else "which is neither a tensor nor a scalar"
        if not kind.has_static_shape or kind.encoding is not None:
            return "which is no plain tensor of static shape"
        known = str(kind.element_type) in ITEM_BYTES
        return None if known else "whose elements are not supported"

    def _check_size(self, op: ir.Operation, kind: ir.Type) -> None:
        if not self.max_tensor_bytes or not isinstance(kind, ir.RankedTensorType):
            return
        nbytes = prod(kind.shape) * ITEM_BYTES[str(kind.element_type)]
        if nbytes > self.max_tensor_bytes:
            raise too_large(op, nbytes)


def _values(op: ir.Operation) -> list[ir.Value]:
    arguments = [value for region in op.regions for b in region.blocks for value in b.arguments]
    return [*op.results, *arguments]


def _is_scalar(kind: ir.Type) -> bool:
    return isinstance(kind, ir.IndexType) or str(kind) in ITEM_BYTES


def _check_operation(op: ir.Operation) -> None:
    name = op.name
    if not is_known(name):
        raise unsupported(op, f"operation '{name}' is not supported in a model")
    for region in op.regions:
        if len(region.blocks) > 1:
            raise unsupported(op, f"'{name}' has branches, which are not supported")
    _check_attributes(op)
    check = _CHECKS.get(name)
    if check is not None:
        check(op)
    elif name.partition(".")[0] in SCALAR_DIALECTS:
        _check_scalars(op)


def _check_attributes(op: ir.Operation) -> None:
    for name in op.attributes:
        if "." in name and not is_qualified(name):
            raise unsupported(op, f"attribute '{name}' of '{op.name}' is not supported")
    for name in _SPANS:
        if name in op.attributes and _DYNAMIC in list(ir.DenseI64ArrayAttr(op.attributes[name])):
            raise unsupported(op, f"'{op.name}' has computed sizes, which are not supported")


def _check_function(op: ir.Operation) -> None:
    for name in op.attributes:
        if name not in FUNCTION_ATTRIBUTES:
            raise unsupported(op, f"attribute '{name}' of functions is not supported")
    name = ir.StringAttr(op.attributes["sym_name"]).value
    if not _NAME.fullmatch(name):
        raise unsupported(op, "functions have names of letters, digits and _")
    # A kernel's name becomes a symbol: one such as "memcpy" would take the library's place.
    if KernelFacts.of(op) is not None and not name.startswith(tuple(f"{kind}_" for kind in KINDS)):
        raise unsupported(op, f"names of kernels begin with a kind, as in 'row_{name}'")
    for of, known in VALUE_ATTRIBUTES.items():
        for dictionary in ir.ArrayAttr(op.attributes[of]) if of in op.attributes else ():
            for entry in ir.DictAttr(dictionary):
                if entry.name not in known:
                    raise unsupported(op, f"attribute '{entry.name}' of values is not supported")


def _check_call(op: ir.Operation) -> None:
    caller = op.parent
    if caller.name != "func.func" or KernelFacts.of(caller) is not None:
        raise unsupported(op, "only the function that is compiled calls kernels")


def _check_loop(op: ir.Operation) -> None:
    step = constant_number(op.operands[2])
    if not isinstance(step, int) or step < 1:
        raise unsupported(op, "loops have a constant step of 1 or more")
    if "unsignedCmp" in op.attributes:
        raise unsupported(op, "loops over unsigned bounds are not supported")


def _check_constant(op: ir.Operation) -> None:
    value = op.attributes["value"]
    if isinstance(op.results[0].type, ir.RankedTensorType):
        if not isinstance(value, ir.DenseElementsAttr):
            raise unsupported(op, "constant tensors are dense")
    elif not isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr):
        raise unsupported(op, "constants are numbers or tensors")


def _check_scalars(op: ir.Operation) -> None:
    if any(isinstance(value.type, ir.RankedTensorType) for value in op.results):
        raise unsupported(op, f"'{op.name}' on tensors is not supported: use linalg")


_CHECKS = {
    "func.func": _check_function,
    "func.call": _check_call,
    "scf.for": _check_loop,
    "arith.constant": _check_constant,
}
