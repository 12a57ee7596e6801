# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prefetches epilogue operands, such as a bias, before they are needed.

They come from memory, which takes most of a microsecond, as long as a tenth of a small product.
"""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.memory import global_address, prefetch_global_l2
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, stride_of
from xyntra.passes.lower.gpu.emit.thread_grid import i32, i64
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops.linear_nest import BufferOperand

_LINE = 128  # bytes that come together


def prefetch_constants(
    product: BatchedMatmul, epilogue: Epilogue | None, column: ir.Value, columns: int
) -> None:
    """Bring what an epilogue reads of some columns to the cache L2, where it is constant.

    Args:
        product: what is computed.
        epilogue: what happens to each element before it is stored, if anything.
        column: the first column, an i32, inside of the output.
        columns: how many.
    """
    for access in () if epilogue is None else epilogue.inputs:
        if access is not None and not access.is_scalar and _is_row(product, access):
            _prefetch(access, product.size(product.columns), column, columns)


def _is_row(product: BatchedMatmul, access: BufferOperand) -> bool:
    """Tell whether an operand is constant and has an element for each column alone."""
    others = [stride_of(access, loop) for loop in (*product.rows, *product.batch)]
    wide = product.dimensions(access, product.columns)
    return is_constant(access) and not any(others) and len(wide) == 1 and wide[0].stride == 1


def _prefetch(access: BufferOperand, extent: int, column: ir.Value, columns: int) -> None:
    kind = access.element_type
    nbytes = ITEM_BYTES[str(kind)]
    wide = ir.IntegerType.get_signless(64)
    start = global_address(access.value)
    first = access.start
    for ahead in range(0, columns, _LINE // nbytes):
        number = arith.minui(arith.addi(column, i32(ahead)), i32(extent - 1))
        place = arith.addi(arith.extui(wide, number), i64(first))
        address = arith.addi(start, arith.muli(place, i64(nbytes)))
        prefetch_global_l2(address)
