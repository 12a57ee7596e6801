# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises contractions that tensor cores compute: sums of products of narrow numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.lower.gpu.matmul.roles import Roles
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop

_NARROW = ("f16", "bf16")
_INTEGERS = ("s8", "u8")
_ITEM_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}


@dataclass(frozen=True)
class Dimension:
    """Steps of one length through a buffer.

    Attributes:
        extent: how many.
        stride: elements that one of them moves on.
    """

    extent: int
    stride: int


@dataclass(frozen=True)
class BatchedMatmul:
    """A contraction as a batch of matrix products.

    Loops are given by number, outermost first. Those of one axis walk through the factor that has
    the axis as one longer loop.

    Attributes:
        nest: the contraction.
        left: the factor with the rows.
        right: the factor with the columns.
        batch: loops of the batch, among them those of rows and columns that do not continue.
        rows: loops of the rows.
        columns: loops of the columns.
        depth: loops that are summed over.
        element: type of the left factor: f16, bf16, or tf32, which lies in memory as f32; s8 or u8,
            of which sums are i32; or e4m3 or e5m2, which lie in memory as i8.
        right_element: type of the right factor: the same, but for bytes any of its kind.
    """

    nest: LinearNest
    left: BufferOperand
    right: BufferOperand
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    element: str
    right_element: str

    @property
    def is_integer(self) -> bool:
        """Tell whether integers are multiplied."""
        return self.element in _INTEGERS

    @property
    def item_bytes(self) -> int:
        """Bytes of an element of a factor."""
        return _ITEM_BYTES[self.element]

    def size(self, loops: Sequence[int]) -> int:
        """Return how many iterations `loops` have together."""
        return prod(self.nest.loops[number].extent for number in loops)

    def narrowed(self, columns: int) -> BatchedMatmul:
        """Return the product for `columns` of the columns, which are one loop."""
        loops = list(self.nest.loops)
        loops[self.columns[-1]] = Loop(columns, is_reduction=False)
        return replace(self, nest=replace(self.nest, loops=tuple(loops)))

    def dimensions(self, access: BufferOperand, loops: Sequence[int]) -> list[Dimension]:
        """Return how `loops` walk through `access`, innermost first, in as few as possible."""
        return dimensions_of(self.nest, access, loops)


def stride_of(access: BufferOperand, loop: int) -> int:
    """Return how far a loop moves an operand: not at all where it is that of a single row."""
    return access.strides[loop] if loop < len(access.strides) else 0


def dimensions_of(nest: LinearNest, access: BufferOperand, loops: Sequence[int]) -> list[Dimension]:
    """Return how `loops` of `nest` walk through `access`, as `Product.dimensions` does."""
    found: list[Dimension] = []
    for number in reversed(loops):
        extent, stride = nest.loops[number].extent, stride_of(access, number)
        if found and stride == found[-1].stride * found[-1].extent:
            found[-1] = Dimension(found[-1].extent * extent, found[-1].stride)
        else:
            found.append(Dimension(extent, stride))
    return found


def product_of(
    nest: LinearNest,
    roles: Roles,
    initial: ir.Value,
    *,
    tf32: bool = False,
    of_bytes: tuple[str, str] | None = None,
) -> BatchedMatmul | None:
    """Return `nest` as matrix products; None where it is something else.

    Args:
        nest: a contraction with one output.
        roles: which of its loops are batch, M, N and K.
        initial: what every element of the output starts from.
        tf32: factors of f32 may be rounded to 11 bits.
        of_bytes: types of the left and the right factor, integers or floats of 8 bits, of whose
            products the body is known to be the sum.
    """
    known = _factors(nest, roles, initial, tf32=tf32, of_bytes=of_bytes)
    if known is None:
        return None
    left, right, element = known
    other = element if of_bytes is None else of_bytes[1]
    if not roles.rows:
        nest, left, roles = _with_row(nest, left, roles)
    outer_rows, rows = _continued(nest, left, roles.rows)
    outer_columns, columns = _continued(nest, right, roles.columns)
    if any(_continued(nest, each, roles.reductions)[0] for each in (left, right)):
        return None
    batch = (*roles.batch, *outer_rows, *outer_columns)
    loops = (batch, rows, columns, roles.reductions)
    return BatchedMatmul(nest, left, right, *loops, element, other)


def _with_row(
    nest: LinearNest, left: BufferOperand, roles: Roles
) -> tuple[LinearNest, BufferOperand, Roles]:
    """Return a product of one row with a loop over rows, behind all others."""
    number, length = len(nest.loops), prod(nest.loops[each].extent for each in roles.reductions)
    loops = (*nest.loops, Loop(1, is_reduction=False))
    moved = replace(left, strides=(*left.strides, length))
    return replace(nest, loops=loops), moved, replace(roles, rows=(number,))


def convolution_of(
    nest: LinearNest, roles: Roles, initial: ir.Value, *, tf32: bool = False
) -> BatchedMatmul | None:
    """Return `nest` as one product whose factors need not have rows and steps in one loop each.

    Args:
        nest: a contraction with one output.
        roles: which of its loops are batch, M, N and K.
        initial: what every element of the output starts from.
        tf32: factors of f32 may be rounded to 11 bits.
    """
    known = _factors(nest, roles, initial, tf32=tf32)
    if known is None or not roles.rows:
        return None
    left, right, element = known
    loops = (roles.batch, roles.rows, roles.columns, roles.reductions)
    return BatchedMatmul(nest, left, right, *loops, element, element)


def _factors(
    nest: LinearNest,
    roles: Roles,
    initial: ir.Value,
    *,
    tf32: bool,
    of_bytes: tuple[str, str] | None = None,
) -> tuple[BufferOperand, BufferOperand, str] | None:
    """Return both factors and the left one's type; None where their products are not summed."""
    left, right = nest.inputs[roles.left], nest.inputs[roles.right]
    if of_bytes is not None:
        is_product = roles.rows and roles.columns and _is_zero(initial)
        return (left, right, of_bytes[0]) if is_product else None
    kinds = {str(each.element_type) for each in (left, right)}
    allowed = {*_NARROW, "f32"} if tf32 else {*_NARROW}
    if len(kinds) > 1 or not kinds <= allowed or not roles.columns:
        return None
    if not _sums_products(nest, roles) or not _is_zero(initial):
        return None
    return left, right, kinds.pop().replace("f32", "tf32")


def _continued(
    nest: LinearNest, access: BufferOperand, loops: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split `loops` into those before, and those that walk through `access` as one."""
    start = len(loops) - 1
    while start > 0:
        outer, inner = loops[start - 1], loops[start]
        if access.strides[outer] != access.strides[inner] * nest.loops[inner].extent:
            break
        start -= 1
    return loops[:start], loops[start:]


def _sums_products(nest: LinearNest, roles: Roles) -> bool:
    """Tell whether the body adds the product of the two factors, each made f32, to its output."""
    body = nest.body
    if str(body.arguments[len(nest.inputs)].type) != "f32":
        return False
    ending = terminator(body)
    total = ending.operands[0]
    terms = _operands(total, "arith.addf")
    rest = [each for each in terms if each != body.arguments[len(nest.inputs)]]
    if len(terms) != 2 or len(rest) != 1:
        return False
    factors = _operands(rest[0], "arith.mulf")
    found = [_narrow(each) for each in factors]
    wanted = [body.arguments[roles.left], body.arguments[roles.right]]
    return found in (wanted, wanted[::-1])


def _operands(value: ir.Value, name: str) -> list[ir.Value]:
    """Return the operands of the operation `name` that made `value`; none where another did."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != name:
        return []
    return list(value.owner.operation.operands)


def _narrow(value: ir.Value) -> ir.Value | None:
    """Return the 16-bit float that `value` is in f32, or `value` itself."""
    found = _operands(value, "arith.extf")
    return found[0] if found and str(found[0].type) in _NARROW else value


def _is_zero(value: ir.Value) -> bool:
    attribute = constant_attribute(value)
    return isinstance(attribute, ir.FloatAttr | ir.IntegerAttr) and attribute.value == 0
