# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the memory layout that the readers of a tensor prefer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.views.computed_reads import extract_of, own_loops
from xyntra.passes.views.movers import Sources
from xyntra.passes.views.placing import ENLARGING, placed
from xyntra.passes.views.structured import Interned, has_free_loops, identity, is_aligned

_POINTWISE = frozenset({"xyntra.gelu", "xyntra.silu"})
_SOFTMAX = frozenset({"xyntra.softmax", "xyntra.log_softmax"})
ANY_ORDER = _POINTWISE | _SOFTMAX
"""Named ops that compute the same whatever the order of dimensions."""

_MAX_DEPTH = 8
"""Operations to look ahead; further readers count as wanting the order that there is."""
_MAX_PIECES = 64
"""Insertions into one tensor, likewise."""

Order = tuple[int, ...]


@dataclass(frozen=True)
class Want:
    """Dimension i of the wanted tensor is dimension `order[i]`; any order will do where None.

    A firm want comes from a reader that cannot read another order: meeting it saves a copy. The
    others come from elementwise readers, which then run over the same loops as the producer.
    """

    order: Order | None
    firm: bool = False


ANY = Want(None)


class Wants:
    """The orders that readers of a block's tensors want, worked out where asked for."""

    def __init__(
        self,
        block: ir.Block,
        interned: Interned,
        moves: Mapping[ir.Operation, Sources],
    ) -> None:
        self._block = block
        self._interned = interned
        self._moves = moves
        self._known: dict[ir.Value, Want] = {}

    def of(self, value: ir.Value, depth: int = 0) -> Want:
        """What the readers of `value` agree on; the order that there is where they do not."""
        if value not in self._known:
            shape = self._interned.shape_of(value)
            plain = Want(identity(len(shape or ())), firm=shape is None)
            if depth > _MAX_DEPTH or shape is None:
                return plain
            self._known[value] = plain
            self._known[value] = self._agreed(value, plain, depth)
        return self._known[value]

    def _agreed(self, value: ir.Value, plain: Want, depth: int) -> Want:
        agreed = ANY
        for use in value.uses:
            want = self._of_use(value, use, plain, depth + 1)
            if want.order is None or want == agreed:
                continue
            if agreed.order is None or (want.firm and not agreed.firm):
                agreed = want
            elif want.order != agreed.order and want.firm == agreed.firm:
                agreed = Want(plain.order, firm=agreed.firm)
        return agreed

    def _of_use(self, value: ir.Value, use: ir.OpOperand, plain: Want, depth: int) -> Want:
        op, position = use.owner.operation, use.operand_number
        firm = Want(plain.order, firm=True)
        if op.block != self._block:
            return self._of_extract(value, use, depth) or firm
        if len(op.results) != 1:
            return firm
        name, result = op.name, op.results[0]
        if op in self._moves:
            return firm if position else self._of_move(self._moves[op], result, plain, depth)
        if name == "linalg.generic":
            return self._of_generic(op, position, plain, depth)
        if name in RESHAPES:
            return self._of_reshape(op, result, plain, depth)
        if name in ANY_ORDER:
            want = self.of(result, depth)
            return want if keeps_rows(op, want.order) else firm
        if name in ENLARGING:
            want = self.of(_last_insertion(op).results[0], depth)
            is_other = want.order not in (None, plain.order)
            return Want(want.order) if is_other and placed(op) else firm
        if name == "tensor.extract_slice":
            rank = len(result.type.shape)
            return self.of(result, depth) if rank == len(plain.order or ()) else firm
        return ANY if "indexing_maps" in op.attributes else firm

    def _of_extract(self, value: ir.Value, use: ir.OpOperand, depth: int) -> Want | None:
        """The order in which a body that computes where it reads finds neighbours, if another."""
        op = extract_of(use, self._block)
        if op is None or not has_free_loops(op, self._interned):
            return None
        order = self.of(op.results[0], depth).order
        if order is None or order == identity(len(order)):
            return None
        if len(value.type.shape) != len(order) or order[-1] not in own_loops(op, value):
            return None
        return Want(order)

    def _of_move(self, order: Sources, result: ir.Value, plain: Want, depth: int) -> Want:
        want = self.of(result, depth)
        if want.order is None:
            return ANY
        if None in order or len(order) != len(plain.order or ()):
            return Want(plain.order)
        return Want(tuple(order[i] or 0 for i in want.order), want.firm)

    def _of_generic(self, op: ir.Operation, position: int, plain: Want, depth: int) -> Want:
        maps = self._interned.maps_of(op)
        inputs = maps.items[:-1]
        if position >= len(inputs):
            return Want(plain.order, firm=True)
        reductions = self._interned.reductions_of(op)
        if any(reductions):
            return ANY
        # A tensor of fewer dimensions than there are loops is not read element by element.
        if not is_aligned(inputs[position], len(reductions)):
            return ANY if maps.simple else Want(plain.order)
        want = self.of(op.results[0], depth)
        if want.order == plain.order or (want.order is None and inputs.count(plain.order) > 1):
            return Want(plain.order)
        free = has_free_loops(op, self._interned)
        return Want(want.order if free else plain.order)

    def _of_reshape(self, op: ir.Operation, result: ir.Value, plain: Want, depth: int) -> Want:
        groups = reassociation(op)
        want = self.of(result, depth)
        if op.name == "tensor.expand_shape":
            return _through_expansion(groups, want, plain)
        shape = op.operands[0].type.shape
        if want.order is not None:
            return Want(tuple(d for i in want.order for d in groups[i]), want.firm)
        split = any(sum(shape[d] > 1 for d in group) > 1 for group in groups)
        return Want(plain.order, firm=True) if split else ANY


def _last_insertion(op: ir.Operation) -> ir.Operation:
    """The last of the insertions that fill one tensor from `op` on: a concatenation's result."""
    for _ in range(_MAX_PIECES):
        uses = list(op.results[0].uses)
        user = uses[0].owner.operation if len(uses) == 1 else op
        if user.name != "tensor.insert_slice" or user == op or uses[0].operand_number != 1:
            break
        op = user
    return op


def keeps_rows(op: ir.Operation, order: Order | None) -> bool:
    """Whether a named op that reduces contiguous rows reduces such where dimensions are reordered.

    True of an op that reduces none.
    """
    if op.name not in _SOFTMAX:
        return True
    axis, last = op.attributes["axis"].value, len(op.results[0].type.shape) - 1
    return axis != last or (order is not None and order[-1] == last)


def _through_expansion(groups: list[list[int]], want: Want, plain: Want) -> Want:
    if want.order is None or not groups:
        return ANY if groups else plain
    order: list[int] = []
    left = list(want.order)
    while left:
        group = next(i for i, group in enumerate(groups) if left[0] in group)
        size = len(groups[group])
        if left[:size] != groups[group]:
            return Want(plain.order)
        order.append(group)
        left = left[size:]
    return Want(tuple(order), want.firm)


def reassociation(op: ir.Operation) -> list[list[int]]:
    """The groups of dimensions of an expand_shape or collapse_shape."""
    return [[entry.value for entry in group] for group in op.attributes["reassociation"]]
