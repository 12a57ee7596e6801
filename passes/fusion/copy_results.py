# SPDX-License-Identifier: MIT OR Apache-2.0
"""`copy-results`: gives every result of a function an operation that writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import VIEWS
from xyntra.passes.fusion.functions import function_blocks
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class CopyResults:
    """Copy results that are arguments, constants or returned twice.

    The caller provides one buffer for each result, so each needs a kernel that writes it.
    """

    name: ClassVar[str] = "copy-results"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            _copy_results(list(block.operations)[-1].operation)


def _copy_results(terminator: ir.Operation) -> None:
    written: set[ir.Value] = set()
    for position, value in enumerate(terminator.operands):
        if not isinstance(value.type, ir.RankedTensorType):
            continue
        origin = _origin(value)
        if origin in written or isinstance(origin.owner, ir.Block) or _holds_constant(origin):
            element = default_dtype(ir.RankedTensorType(value.type).element_type)
            builder = TensorBuilder(ir.InsertionPoint(terminator), terminator.location)
            shape = list(ir.RankedTensorType(value.type).shape)
            source = Tensor(value, element)
            copy = builder.view(source, shape, lambda *dimensions: list(dimensions))
            terminator.operands[position] = copy.value
        written.add(origin)


def _holds_constant(value: ir.Value) -> bool:
    return value.owner.name in ("arith.constant", "tensor.empty")


def _origin(value: ir.Value) -> ir.Value:
    """The value that `value` is a view of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in VIEWS:
        value = value.owner.operands[0]
    return value
