# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups elementwise operations of a block that can become one loop nest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.lower.tensor.row_major import (
    Shape,
    common_refinement,
    reads_in_order,
    without_units,
)


@dataclass
class PointwiseNode:
    """One operation of a block, and what it depends on; sets are bit masks of node numbers.

    Attributes:
        op: the operation.
        domain: its iteration space, if it is elementwise; else None.
        operands: nodes that it reads.
        needs: the same, reshapes looked through.
        streams: nodes among them whose results it reads element by element, and no other way.
        ancestors: everything that it depends on.
        values: tensors that it reads element by element, reshapes looked through.
        is_indexed: its body asks for the number of the iteration.
    """

    op: ir.Operation
    domain: Shape | None
    operands: int = 0
    needs: int = 0
    streams: int = 0
    ancestors: int = 0
    values: set[ir.Value] = field(default_factory=set)
    is_indexed: bool = False


@dataclass(frozen=True)
class PointwiseGroup:
    """Operations, by number, that become one nest over `domain`."""

    members: tuple[int, ...]
    domain: Shape


def analyse(block: ir.Block) -> list[PointwiseNode]:
    """Return the operations of `block` in order, the terminator last."""
    nodes: list[PointwiseNode] = []
    numbers: dict[ir.Value, int] = {}
    for number, view in enumerate(block.operations):
        node = PointwiseNode(view.operation, _elementwise_domain(view.operation))
        others = _note_operands(node, numbers)
        node.streams &= ~others
        node.needs |= others
        for needed in bits(node.needs):
            node.ancestors |= nodes[needed].ancestors | 1 << needed
        nodes.append(node)
        numbers.update(dict.fromkeys(node.op.results, number))
    return nodes


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers in a mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def origin(value: ir.Value) -> ir.Value:
    """Return the tensor that `value` is a reshape of."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in RESHAPES:
        value = value.owner.operands[0]
    return value


def find_groups(nodes: list[PointwiseNode]) -> list[PointwiseGroup]:
    """Return the largest groups of two or more elementwise operations.

    Members read each other element by element, perhaps through reshapes, and no path between two of
    them leaves the group. Operations that only share an operand are one group where nothing else
    has to be computed for one of them alone.
    """
    groups: dict[int, int] = {}
    readers: dict[ir.Value, list[int]] = {}
    for number, node in enumerate(nodes):
        if node.domain is None:
            continue
        groups[number] = 1 << number
        siblings = {other for value in node.values for other in readers.get(value, [])}
        for other in [*reversed(list(bits(node.streams))), *sorted(siblings)]:
            _join(nodes, groups, number, other)
        for value in node.values:
            readers.setdefault(value, []).append(number)
    found = {mask: tuple(bits(mask)) for mask in groups.values()}
    return [
        PointwiseGroup(members, _domain(nodes, members))
        for members in found.values()
        if len(members) > 1
    ]


def _join(nodes: list[PointwiseNode], groups: dict[int, int], number: int, other: int) -> None:
    if other not in groups or groups[number] & 1 << other:
        return
    first, second = groups[number], groups[other]
    merged = first | second
    members = list(bits(merged))
    is_stream = any(nodes[member].streams & second for member in bits(first))
    if not is_stream and _outside(nodes, first) != _outside(nodes, second):
        return
    if not _fits(nodes, members) or not _is_convex(nodes, groups, merged):
        return
    for member in members:
        if nodes[member].needs & merged & ~nodes[member].streams:
            return
    for member in members:
        groups[member] = merged


def _outside(nodes: list[PointwiseNode], mask: int) -> int:
    found = 0
    for member in bits(mask):
        found |= nodes[member].ancestors
    found &= ~mask
    sources = [number for number in bits(found) if not nodes[number].needs]
    return found & ~sum(1 << number for number in sources)


def _is_convex(nodes: list[PointwiseNode], groups: dict[int, int], mask: int) -> bool:
    """Tell whether no path between two of `mask` leaves it, groups taken as wholes."""
    between, waiting = 0, mask
    while waiting:
        needed = 0
        for number in bits(waiting):
            needed |= nodes[number].ancestors
        for number in bits(needed & ~mask & ~between):
            needed |= groups.get(number, 0)
        waiting = needed & ~mask & ~between
        between |= waiting
    return not any(nodes[number].needs & mask for number in bits(between))


def _fits(nodes: list[PointwiseNode], members: list[int]) -> bool:
    domains = {domain for member in members if (domain := nodes[member].domain) is not None}
    if len(domains) == 1:
        return True
    if any(nodes[member].is_indexed for member in members):
        return False
    return _refined(domains) is not None


def _refined(domains: set[Shape]) -> Shape | None:
    refined: Shape | None = None
    for domain in sorted(domains):
        refined = common_refinement(domain if refined is None else refined, domain)
        if refined is None:
            return None
    return refined


def _domain(nodes: list[PointwiseNode], members: tuple[int, ...]) -> Shape:
    """The space of the merged nest: that of its last members, where it is fine enough."""
    domains = [domain for member in members if (domain := nodes[member].domain) is not None]
    if len(set(domains)) == 1:
        return domains[0]
    refined = _refined(set(domains)) or ()
    fitting = [domain for domain in domains if without_units(domain) == refined]
    return fitting[-1] if fitting else refined


def _elementwise_domain(op: ir.Operation) -> Shape | None:
    """The iteration space of a linalg.generic that computes every element on its own, or None."""
    if op.name != "linalg.generic" or not len(op.results):
        return None
    if any("parallel" not in str(kind) for kind in op.attributes["iterator_types"]):
        return None
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    identity = ir.AffineMap.get_identity(maps[0].n_dims, op.context)
    outputs = len(op.results)
    if any(map_ != identity for map_ in maps[-outputs:]):
        return None
    arguments = list(op.regions[0].blocks[0].arguments)[-outputs:]
    if any(len(list(argument.uses)) for argument in arguments):
        return None
    return tuple(ir.RankedTensorType(op.results[0].type).shape)


def _note_operands(node: PointwiseNode, numbers: dict[ir.Value, int]) -> int:
    """Sort the operands of an operation; returns what it reads otherwise than as a stream."""
    op, others = node.op, 0
    pointwise = _pointwise_operands(op, node.domain)
    for position, value in enumerate(op.operands):
        node.operands |= _bit(numbers, value)
        source = origin(value)
        if position in pointwise:
            node.values.add(source)
            node.streams |= _bit(numbers, source)
        else:
            others |= _bit(numbers, source)
    node.needs = node.streams
    for nested in nested_operations(op):
        node.is_indexed = node.is_indexed or nested.name == "linalg.index"
        for value in nested.operands:
            node.operands |= _bit(numbers, value)
            others |= _bit(numbers, origin(value))
    return others


def _bit(numbers: dict[ir.Value, int], value: ir.Value) -> int:
    number = numbers.get(value)
    return 0 if number is None else 1 << number


def _pointwise_operands(op: ir.Operation, domain: Shape | None) -> set[int]:
    """Positions of the inputs that an elementwise operation reads element by element."""
    if domain is None:
        return set()
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    identity = ir.AffineMap.get_identity(len(domain), op.context)
    found = set()
    for position in range(len(op.operands) - len(op.results)):
        kind = op.operands[position].type
        if not isinstance(kind, ir.RankedTensorType):
            continue
        shape = tuple(kind.shape)
        same = maps[position] == identity and shape == domain
        if same or reads_in_order(maps[position], shape, domain):
            found.add(position)
    return found
