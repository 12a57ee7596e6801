# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds contractions with the fill before them and what follows element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.reductions import BY_ROWS
from xyntra.passes.analysis.sizes.size import hint_of, of_several
from xyntra.passes.lower.gpu.contraction.row_partials import RowPartials
from xyntra.passes.lower.gpu.contraction.row_values import RowValueLoops
from xyntra.passes.lower.gpu.conv.choice import is_windowed
from xyntra.passes.lower.gpu.conv.image import image_of
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.matmul.roles import Roles, size
from xyntra.passes.lower.kernels.epilogue import Epilogue, joined
from xyntra.passes.lower.kernels.fills import initial_of, is_arithmetic_reduction, is_fill
from xyntra.passes.lower.kernels.following_elementwise import following_elementwise
from xyntra.passes.lower.loops.linear_nest import LinearNest, collapsed
from xyntra.passes.lower.loops.memrefs import root, touched_by

ANCHOR = "xyntra.anchor"
"""Attribute of the contraction that a stage is about."""
_MIN_REDUCTION = 8
_MIN_ROWS = 4
_MIN_OUTPUTS = 256


@dataclass(frozen=True)
class Slice:
    """An epilogue of some of a contraction's columns.

    Attributes:
        start: the first of them.
        columns: how many.
        epilogue: what follows, with `start` as column 0.
    """

    start: int
    columns: int
    epilogue: Epilogue


@dataclass(frozen=True)
class Pairing:
    """An epilogue that takes two columns of a contraction at a time, as gated activations do.

    Attributes:
        starts: the first column of either half.
        columns: how many a half has, which need not be all.
        epilogue: what follows, with numbers of columns in their half.
        before: what happens to every column of the contraction before that, if anything.
    """

    starts: tuple[int, int]
    columns: int
    epilogue: Epilogue
    before: Epilogue | None = None


@dataclass(frozen=True)
class ContractionGroup:
    """A contraction that tiles compute.

    Attributes:
        operations: the fill, the contraction, and what follows, if anything.
        nest: the contraction.
        roles: which of its loops are batch, M, N and K.
        initial: what every element of the output starts from.
        epilogue: what follows.
        image: number of the factor that is read in place of a padded buffer; None for none.
        windows: the dimensions in which that factor may be read outside of its memory.
        outside: what stands there; zeros in a product.
        slices: what follows in place of `epilogue`, where that differs from column to column.
        pairing: what follows in place of `epilogue`, where that takes two columns at a time.
        values: of rows, which what follows reads and the launch computes by itself.
        partials: sums over parts of the rows of a result, which are written along with it.
    """

    operations: tuple[ir.Operation, ...]
    nest: LinearNest
    roles: Roles
    initial: ir.Value
    epilogue: Epilogue | None
    image: int | None = None
    windows: tuple[ImagePosition, ...] = ()
    outside: ir.Value | None = None
    slices: tuple[Slice, ...] = ()
    pairing: Pairing | None = None
    values: RowValueLoops | None = None
    partials: RowPartials | None = None

    @property
    def followers(self) -> tuple[Epilogue, ...]:
        """All that follows."""
        if self.pairing is not None:
            found = (self.pairing.before, self.pairing.epilogue)
            return tuple(each for each in found if each is not None)
        own = () if self.epilogue is None else (self.epilogue,)
        return (*(each.epilogue for each in self.slices), *own)

    @property
    def computes_rows(self) -> bool:
        """Tell whether the launch computes `values` or `partials` besides the contraction."""
        return self.values is not None or self.partials is not None


def contraction_group(
    work: Sequence[ir.Operation], position: int, free: Sequence[ir.Operation]
) -> ContractionGroup | None:
    """Return the group of the contraction `work[position]`; None where it is none, or too small.

    Args:
        work: everything that a kernel computes, in order.
        position: of the contraction.
        free: what may become part of the group.
    """
    generic = work[position]
    if not is_arithmetic_reduction(generic) or BY_ROWS in generic.attributes:
        return None
    fill = _fill_before(work[:position], generic)
    if fill is None or fill not in free:
        return None
    following = following_elementwise(generic)
    is_free = following is not None and following in free
    for after in [following, None] if is_free else [None]:
        together = joined(fill, generic, after)
        if together is None or together.is_in_place:
            continue
        nest, epilogue = together.parts(collapsed(together.nest))
        roles = Roles.of(nest)
        if roles is None or not _is_worth_it(nest, roles) or _weighs(nest, roles):
            continue
        operations = (fill, generic) if after is None else (fill, generic, after)
        group = ContractionGroup(operations, nest, roles, initial_of(fill), epilogue)
        if (roles.columns and _is_long(nest, roles)) or is_windowed(group):
            return group
    return None


def _is_long(nest: LinearNest, roles: Roles) -> bool:
    return size(nest, roles.reductions) >= _MIN_REDUCTION or image_of(nest) is not None


def _is_worth_it(nest: LinearNest, roles: Roles) -> bool:
    found = (size(nest, loops) for loops in (roles.rows, roles.columns, roles.batch))
    rows, columns, batch = map(hint_of, found)
    return bool(max(rows, columns) >= _MIN_ROWS and rows * columns * batch >= _MIN_OUTPUTS)


def _weighs(nest: LinearNest, roles: Roles) -> bool:
    """Tell whether it sums columns of each matrix of a batch, weighted by a number for each row.

    No element of the matrices is used twice, so that tiles would share nothing.
    """
    right = nest.inputs[roles.right]
    is_matrix_each = all(right.strides[loop] for loop in roles.batch) and bool(roles.batch)
    along = bool(roles.columns) and right.strides[roles.columns[-1]] == 1
    if of_several(1, size(nest, roles.rows)) or not is_matrix_each or not along:
        return False
    reach = 1
    for stride, extent in sorted(
        (right.strides[i], each.extent) for i, each in enumerate(nest.loops)
    ):
        if extent > 1 and stride < reach:
            return False  # windows overlap
        reach = max(reach, stride * (extent - 1) + 1)
    return True


def _fill_before(earlier: Sequence[ir.Operation], generic: ir.Operation) -> ir.Operation | None:
    """Return the fill that gives the output its first value, if nothing else touches that."""
    output = generic.operands[-1]
    memory = root(output)
    for op in reversed(earlier):
        if not any(root(value) == memory for value in touched_by(op)):
            continue
        return op if is_fill(op) and op.operands[-1] == output else None
    return None
