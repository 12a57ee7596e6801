# SPDX-License-Identifier: MIT OR Apache-2.0
"""A block of linalg on tensors, seen as a graph of mathematical expressions.

    graph = ExpressionGraph()
    root = graph.expression(value)      # of any tensor of the block; analysed when first asked for
    root.opcode                         # "mul"
    [read.source.opcode for read in root.operands]     # ["argument", "add"]

A `linalg.generic` becomes one expression for each scalar operation in its body; a reduction becomes
`reduce_sum`, `reduce_max` … over the expression that it accumulates, so that a contraction is
`reduce_sum` of a `mul`. An operand is a `Read`: an expression and the dimensions at which it is
read. Broadcasts, transposes, fills, and reshapes that only add or drop dimensions of size 1 do not
appear as expressions of their own: they are in the dimensions of the reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import proxy

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.recognize.matching.bodies import analyse_body
from xyntra.passes.recognize.matching.layouts import UNIT, Dims, Layouts
from xyntra.passes.recognize.matching.nodes import Expression, Read, Type, compose

__all__ = ["UNIT", "Dims", "Expression", "ExpressionGraph", "Read"]

_RENAMED = {"tensor.extract_slice": "slice"}
_ROW_OPS = frozenset(
    f"xyntra.{name}"
    for name in ("softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu")
)
"""Named ops whose operands broadcast to the trailing dimensions of the result."""


@dataclass
class ExpressionGraph:
    """Expressions of values, built when first asked for.

    It describes the IR as it was then: start a new graph after changing the IR. Expressions may be
    used as long as the graph lives.
    """

    layouts: Layouts = field(default_factory=Layouts)
    handle: ExpressionGraph = field(init=False, repr=False)
    _expressions: dict[ir.Value, Expression] = field(default_factory=dict)
    _types: dict[ir.Type, Type] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Without a cycle everything is freed at once: no value outlives the operation it is of.
        self.handle = proxy(self)

    def expression(self, value: ir.Value) -> Expression:
        """Return what computes `value`."""
        found = self._expressions.get(value)
        return found if found is not None else self._analyse(value)

    def read(self, value: ir.Value, dims: Dims) -> Read:
        """Return what is read at `dims` of `value`, with data movement folded into the position.

        `dims` may name dimensions of size 1; they are replaced by `UNIT`.
        """
        while True:
            source = self.expression(value)
            if source.number is not None:
                return Read(source, ())
            dims = tuple(
                UNIT if size == 1 else d for size, d in zip(source.shape, dims, strict=True)
            )
            if source.opcode != "copy":
                return Read(source, dims)
            (operand,) = source.pending
            if isinstance(operand, Read):
                return operand.through(dims)
            value, dims = operand[0], compose(operand[1], dims)

    def whole(self, value: ir.Value) -> Read:
        """Read all of `value`: dimension i at dimension i."""
        return self.read(value, tuple(range(len(self.type_of(value)[0]))))

    def type_of(self, value: ir.Value) -> Type:
        """Return the shape (empty for what is no tensor) and the element type of `value`."""
        type_ = value.type
        known = self._types.get(type_)
        if known is None:
            if isinstance(type_, ir.RankedTensorType):
                known = (tuple(type_.shape), str(type_.element_type))
            else:
                known = ((), str(type_))
            self._types[type_] = known
        return known

    def keep(self, value: ir.Value, expression: Expression) -> Expression:
        """Remember that `expression` is what `value` holds."""
        expression.value = value
        self._expressions[value] = expression
        return expression

    def _analyse(self, value: ir.Value) -> Expression:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self.keep(value, Expression(self.handle, "argument", (), self.type_of(value)))
        operation = owner.operation
        name = operation.name
        found = None
        if name == "linalg.generic":
            found = analyse_body(self.handle, self.layouts, operation)
        if found is not None:
            for result, each in zip(operation.results, found, strict=True):
                self.keep(result, each)
            return self._expressions[value]
        expression = self._plain(operation, name, value)
        expression.operation = operation
        return self.keep(value, expression)

    def _plain(self, operation: ir.Operation, name: str, value: ir.Value) -> Expression:
        """Anything but a `linalg.generic` that is looked into."""
        type_ = self.type_of(value)
        if name == "arith.constant":
            return self.constant(operation)
        if name == "linalg.fill":
            return Expression(self.handle, "copy", ((operation.operands[0], ()),), type_)
        if name in RESHAPES:
            return self._reshape(operation, type_)
        operands = [] if name == "linalg.generic" else operation.operands
        aligned = name in _ROW_OPS
        rank = len(type_[0]) if aligned else 0
        reads = tuple((operand, self._everywhere(operand, rank)) for operand in operands)
        expression = Expression(self.handle, _RENAMED.get(name, name), reads, type_)
        expression.aligned = aligned
        return expression

    def constant(self, operation: ir.Operation) -> Expression:
        """Return what an `arith.constant` is, without keeping a reference to it."""
        type_ = self.type_of(operation.results[0])
        expression = Expression(self.handle, "constant", (), type_)
        expression.number = _number(operation.attributes["value"])
        return expression

    def _reshape(self, operation: ir.Operation, type_: Type) -> Expression:
        source, new = operation.operands[0], type_[0]
        old = self.type_of(source)[0]
        kept = [d for d, size in enumerate(new) if size != 1]
        if [size for size in old if size != 1] != [new[d] for d in kept]:
            expression = Expression(
                self.handle, "reshape", ((source, self._everywhere(source)),), type_
            )
            expression.aligned = False
            return expression
        rest = iter(kept)
        dims = tuple(UNIT if size == 1 else next(rest) for size in old)
        return Expression(self.handle, "copy", ((source, dims),), type_)

    def _everywhere(self, value: ir.Value, rank: int = 0) -> Dims:
        """All dimensions, as the last ones of `rank` if that is given."""
        own = len(self.type_of(value)[0])
        return tuple(range(rank - own, rank) if rank else range(own))


def _number(attribute: ir.Attribute) -> float | int | None:
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value()
    if isinstance(attribute, ir.FloatAttr | ir.BoolAttr):
        return float(attribute.value)
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    # As a signed number of one bit, true would be -1.
    is_bit = isinstance(attribute.type, ir.IntegerType) and attribute.type.width == 1
    return abs(attribute.value) if is_bit else int(attribute.value)
