# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes `xyntra.attention` through bufferization as the linalg.generic that `carried` finds."""

from __future__ import annotations

from math import prod

from xyntra.dialects.attention import OP
from xyntra.dialects.attention_layout import BATCH, HEAD, KEY, KEY_SIZE, QUERY, VALUE_SIZE
from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.gpu.attention import rows_plan
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.tensor.attention_as_linalg import decompose_attention

LARGEST_SIZE = 256
"""Elements of a key or value: more do not fit into the registers of warps."""
_DTYPES = ("float32", "float16", "bfloat16")


def carry_attention(module: ir.Operation, device: GpuDevice, *, plain: bool = False) -> None:
    """Rewrite every attention of `module`: as a carrier, or as linalg where no kernel takes it.

    Other than on the CPU, operands keep their element type, and the softmax of 16-bit ones has it.

    Args:
        module: holds a kernel.
        device: that code is made for.
        plain: rewrite all of them as linalg.
    """
    for op in operations_named(module, OP):
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        with op.context, op.location:
            carries = _has_kernel(op, device) and not plain
            result = _carrier(op, b) if carries else decompose_attention(op, b, narrow=True)
        op.results[0].replace_all_uses_with(result.value)
        op.erase()


def _has_kernel(op: ir.Operation, device: GpuDevice) -> bool:
    sizes = list(op.attributes["sizes"])
    largest = max(sizes[KEY_SIZE], sizes[VALUE_SIZE])
    if Tensor.of(op.results[0]).dtype not in _DTYPES:
        return False
    if device.has(Feature.ASYNC_COPIES):
        return bool(largest <= LARGEST_SIZE)
    scores = prod(sizes[place] for place in (BATCH, HEAD, QUERY, KEY))
    is_worth_it = scores >= device.cached_scores and sizes[QUERY] >= rows_plan.FEWEST_QUERIES
    return bool(largest <= rows_plan.LARGEST_SIZE and is_worth_it)


def _carrier(op: ir.Operation, b: TensorBuilder) -> Tensor:
    """A generic with the operands and the result of `op`, whose attributes it carries.

    Every dimension of every operand is a loop of its own, so that nothing moves or merges them.
    """
    inputs = [Tensor.of(value) for value in op.operands]
    result = Tensor.of(op.results[0])
    ranks = [tensor.rank for tensor in (result, *inputs)]
    starts = [sum(ranks[:number]) for number in range(len(ranks))]
    written, *read = (
        ir.AffineMap.get(sum(ranks), 0, [ir.AffineDimExpr.get(first + d) for d in range(rank)])
        for first, rank in zip(starts, ranks, strict=True)
    )
    kinds: list[Iterator] = ["parallel"] * result.rank
    kinds += ["reduction"] * (sum(ranks) - result.rank)
    outputs = [(b.empty(result.shape, result.dtype), result.dtype, written)]

    def body(*scalars: Scalar) -> Scalar:
        """Uses all inputs, so that none is dropped; never computed."""
        total = constant(0.0, result.dtype)
        for each in scalars[:-1]:
            total = total + each.cast(result.dtype)
        return total

    pairs = list(zip(inputs, read, strict=True))
    carrier = b.generic(pairs, outputs, kinds, body)[0]
    carrier.value.owner.operation.attributes[OP] = ir.DictAttr.get(dict(op.attributes.items()))
    return carrier
