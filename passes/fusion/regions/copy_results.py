# SPDX-License-Identifier: MIT OR Apache-2.0
"""`copy-results`: gives every result of a function an operation that writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.graph.block_graph import reads_no_tensor
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class CopyResults:
    """Copy results that are arguments, constants, parts of a tensor or returned twice.

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
        origin, is_part = _origin(value)
        is_constant = isinstance(origin.owner, ir.Block) or _holds_constant(origin)
        if origin in written or is_part or is_constant:
            element = default_dtype(ir.RankedTensorType(value.type).element_type)
            builder = TensorBuilder(ir.InsertionPoint(terminator), terminator.location)
            shape = list(ir.RankedTensorType(value.type).shape)
            source = Tensor(value, element)
            copy = builder.view(source, shape, lambda *dimensions: list(dimensions))
            terminator.operands[position] = copy.value
        written.add(origin)


def _holds_constant(value: ir.Value) -> bool:
    return value.owner.name in ("arith.constant", "tensor.empty") or reads_no_tensor(value.owner)


def _origin(value: ir.Value) -> tuple[ir.Value, bool]:
    """The value that `value` is a view of, and whether it is a view of a part only."""
    is_part = False
    while not isinstance(value.owner, ir.Block) and value.owner.name in TENSOR_VIEWS:
        is_part = is_part or value.owner.name == "tensor.extract_slice"
        value = value.owner.operands[0]
    return value, is_part
