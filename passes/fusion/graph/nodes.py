# SPDX-License-Identifier: MIT OR Apache-2.0
"""One operation as the fusion engine sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from math import prod

from xyntra.dialects.attention import attention_flops
from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.cost.work import scalar_cost
from xyntra.passes.fusion.graph.access import (
    Columns,
    LoopCache,
    Loops,
    RowAccess,
    Shape,
    column_counts,
    row_counts,
)
from xyntra.passes.fusion.graph.block_graph import is_source

__all__ = [
    "ANCHORS",
    "OPAQUE",
    "PASSIVE",
    "Description",
    "FusionNode",
    "KernelRole",
    "TensorRead",
    "TensorTypes",
    "ValueType",
    "describe",
    "describe_generic",
    "gathering",
]


class KernelRole(Enum):
    """The role of an operation in a kernel."""

    SOURCE = "constant, empty destination or fill: cloned into every kernel that uses it"
    VIEW = "another shape or a part of a tensor: cloned into every kernel that reads through it"
    LOOP = "computes every element on its own"
    ROW = "reduces, or mixes the elements of a row"
    DATA = "places tensors in a larger one"
    CONTRACTION = "a matrix product"
    WINDOW = "a convolution or pooling"
    ATTENTION = "attention"
    CONSTANT = "a constant tensor: stays outside of kernels"
    OPAQUE = "has a kernel of its own"

    __hash__ = object.__hash__  # that of Enum is no built-in function, and sets of roles are many


ANCHORS = frozenset({KernelRole.CONTRACTION, KernelRole.WINDOW, KernelRole.ATTENTION})
PASSIVE = frozenset({KernelRole.SOURCE, KernelRole.VIEW, KernelRole.CONSTANT})

_SOFTMAX = frozenset({"xyntra.softmax", "xyntra.log_softmax"})
_ALONG_AXIS = _SOFTMAX | {"xyntra.layer_norm", "xyntra.rms_norm"}
_POINTWISE = frozenset({"xyntra.gelu", "xyntra.silu"})
_PLACING = frozenset({"tensor.pad", "tensor.insert_slice", "tensor.concat"})
_PER_ELEMENT = {
    "xyntra.softmax": 18,
    "xyntra.log_softmax": 20,
    "xyntra.layer_norm": 8,
    "xyntra.rms_norm": 5,
    "xyntra.gelu": 18,
    "xyntra.silu": 18,
}


@dataclass(slots=True)
class TensorRead:
    """One tensor that an operation reads.

    Attributes:
        producer: index of the operation of the block that computes it, behind all views; None for
            an argument of the function.
        tensor: number of the tensor as read, behind its views.
        origin: number of the tensor that the views show; equal to `tensor` without views.
        access: how the operation's result relates to the producer's.
        holder, position: the operation (of its body, where it captures) and operand that read it.
        views: indices of the views between, in the order of their application.
        initial: whether it initialises what the operation writes.
    """

    producer: int | None
    tensor: int
    origin: int
    access: RowAccess
    holder: ir.Operation
    position: int
    views: tuple[int, ...] = ()
    initial: bool = False


@dataclass(slots=True)
class FusionNode:
    """An operation.

    Attributes:
        op: the operation.
        role: what it can do in a kernel.
        shape: of its first result.
        rows: numbers of rows of its result that can be computed apart from each other.
        results: numbers of the tensors that it computes.
        matrix_flops, scalar_ops: its work, as the cost model counts it.
        reads: what it reads; constants and empty destinations are left out.
        moves_only: whether it computes nothing.
        static: whether it depends on weights and constants alone.
        nbytes: bytes that it reads and writes, each tensor counted once.
        sources: operands that are constants or destinations: position, and index of the operation.
        columns: numbers of columns of its result that can be computed apart from each other.
    """

    op: ir.Operation
    role: KernelRole
    shape: Shape
    rows: frozenset[int] = frozenset()
    results: tuple[int, ...] = ()
    matrix_flops: int = 0
    scalar_ops: int = 0
    reads: list[TensorRead] = field(default_factory=list)
    moves_only: bool = False
    static: bool = False
    nbytes: int = 0
    sources: list[tuple[int, int]] = field(default_factory=list)
    columns: Columns = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """A type: a number, whether it is a tensor of static shape, and then its shape and bytes."""

    number: int
    is_tensor: bool
    shape: Shape
    nbytes: int


class TensorTypes:
    """Shapes and sizes of tensor types, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[ir.Type, tuple[Shape, int] | None] = {}
        self._kinds: dict[ir.Type, ValueType] = {}
        self.loops: LoopCache = {}

    def kind(self, type_: ir.Type) -> ValueType:
        """Return what is known of a type, the same object for the same type."""
        found = self._kinds.get(type_)
        if found is None:
            known = self.shape_and_bytes(type_)
            found = self._kinds[type_] = ValueType(
                len(self._kinds), known is not None, *known or ((), 0)
            )
        return found

    def shape_and_bytes(self, type_: ir.Type) -> tuple[Shape, int] | None:
        """Shape and bytes of a tensor type of static shape; None for every other type."""
        try:
            return self._known[type_]
        except KeyError:
            found = self._known[type_] = _shape_and_bytes(type_)
            return found


def _shape_and_bytes(type_: ir.Type) -> tuple[Shape, int] | None:
    if not isinstance(type_, ir.RankedTensorType):
        return None
    tensor = ir.RankedTensorType(type_)
    if not tensor.has_static_shape:
        return None
    shape = tuple(tensor.shape)
    return shape, prod(shape) * item_bytes(default_dtype(tensor.element_type))


@dataclass(slots=True)
class Description:
    """An operation without its operands.

    `gathers` tells whether operations of its body may read tensors at computed positions; `loops`
    belong to a linalg.generic.
    """

    role: KernelRole
    rows: frozenset[int] = frozenset()
    matrix_flops: int = 0
    scalar_ops: int = 0
    loops: Loops | None = None
    gathers: bool = False
    moves_only: bool = False
    columns: Columns = frozenset()


OPAQUE = Description(KernelRole.OPAQUE)


def describe(op: ir.Operation, name: str, shape: Shape) -> Description:
    """Describe `op`, no linalg.generic, which is called `name` and first gives a `shape`."""
    if name in TENSOR_VIEWS:
        return Description(KernelRole.VIEW) if _has_static_offsets(op) else OPAQUE
    if name in _ALONG_AXIS:
        axis = ir.IntegerAttr(op.attributes["axis"]).value
        rows, work = row_counts(shape, axis), prod(shape) * _PER_ELEMENT[name]
        behind = axis + 1 if name in _SOFTMAX else len(shape)
        columns = column_counts(shape, axis, behind)
        return Description(KernelRole.ROW, rows, 0, work, columns=columns)
    if name in _POINTWISE:
        rows, work = row_counts(shape), prod(shape) * _PER_ELEMENT[name]
        return Description(KernelRole.LOOP, rows, 0, work, columns=column_counts(shape))
    if name in _PLACING and not _has_dynamic_operands(op):
        return Description(KernelRole.DATA, row_counts(shape), moves_only=True)
    if name == "xyntra.attention":
        return Description(KernelRole.ATTENTION, row_counts(shape), attention_flops(op))
    if name in ("arith.constant", "tensor.empty"):
        return Description(_role_of_source(op))
    if name == "linalg.fill":
        return Description(KernelRole.SOURCE)
    return OPAQUE


def _role_of_source(op: ir.Operation) -> KernelRole:
    if is_source(op):
        return KernelRole.SOURCE
    return KernelRole.OPAQUE if op.name == "tensor.empty" else KernelRole.CONSTANT


def _has_dynamic_operands(op: ir.Operation) -> bool:
    expected = {"tensor.pad": 1, "tensor.insert_slice": 2}
    return len(op.operands) != expected.get(op.name, len(op.operands))


def _has_static_offsets(op: ir.Operation) -> bool:
    return len(op.operands) == 1


def describe_generic(
    loops: Loops, names: tuple[str, ...], shape: Shape, shapes: Sequence[Shape]
) -> Description:
    """Describe a linalg.generic by what many have in common.

    Args:
        loops: its loops.
        names: of the operations of its body.
        shape: of its first result.
        shapes: of its operands.
    """
    about = _body_of(names)
    if about.opaque:
        return OPAQUE
    if loops.is_parallel:
        return _describe_parallel(shape, loops, names, about)
    work = prod(_extents(loops, shapes)) * about.cost
    role = _reducing_role(loops, loops.inputs, about.multiplies)
    flops, ops = (work, 0) if role in ANCHORS else (0, work)
    columns = column_counts(shape) if role is KernelRole.ROW else frozenset[tuple[int, int]]()
    return Description(role, row_counts(shape), flops, ops, loops, about.gathers, columns=columns)


def _describe_parallel(
    shape: Shape, loops: Loops, names: tuple[str, ...], about: _Body
) -> Description:
    if loops.inputs == 0 and len(names) == 1:
        return Description(KernelRole.SOURCE)
    role = KernelRole.LOOP if loops.writes_in_order else KernelRole.OPAQUE
    work = prod(shape) * about.cost
    rows = row_counts(shape)
    numbers = "linalg.index" in names and not about.gathers  # it writes them, and moves nothing
    moves, columns = about.cost == 0 and not numbers, column_counts(shape)
    return Description(role, rows, 0, work, loops, about.gathers, moves, columns)


def gathering(body: ir.Block) -> tuple[ir.Operation, ...]:
    """The operations of a body that read tensors at computed positions."""
    inner = [view.operation for view in body.operations]
    return tuple([op for op in inner if op.name == "tensor.extract"])


@dataclass(frozen=True)
class _Body:
    """A summary of a body, by the names of its operations.

    Attributes:
        cost: instructions for one element.
        gathers: whether it reads a tensor at computed positions.
        multiplies: whether it multiplies.
        opaque: whether it holds control flow.
    """

    cost: int
    gathers: bool
    multiplies: bool
    opaque: bool


@lru_cache(maxsize=1024)
def _body_of(names: tuple[str, ...]) -> _Body:
    return _Body(
        cost=sum(map(scalar_cost, names)),
        gathers="tensor.extract" in names,
        multiplies="arith.mulf" in names or "arith.muli" in names,
        opaque=any(name.startswith(("scf.", "linalg.generic")) for name in names),
    )


def _reducing_role(loops: Loops, inputs: int, multiplies: bool) -> KernelRole:
    if not loops.is_plain:
        return KernelRole.WINDOW
    used = {frozenset(map_) for map_ in loops.maps[:inputs]}
    return KernelRole.CONTRACTION if multiplies and len(used) > 1 else KernelRole.ROW


def _extents(loops: Loops, shapes: Sequence[Shape]) -> list[int]:
    """Extent of each loop that indexes a dimension of an operand by itself."""
    extents = [1] * len(loops.reductions)
    for shape, map_ in zip(shapes, loops.maps, strict=True):
        for loop, extent in zip(map_, shape, strict=False):
            if loop >= 0:
                extents[loop] = extent
    return extents
