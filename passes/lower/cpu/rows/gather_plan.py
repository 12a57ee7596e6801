# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds elementwise code that looks elements up, and can do so on vectors.

A value is uniform, where it is the same along the innermost loop, a step, where it is an index that
moves with that loop, or has lanes. Where every element of a row is repeated, the loops over
elements and over their copies are the innermost one together. A sum of elements at a few rows and
columns, each with a weight for its row and one for its column, as interpolation makes it, is
separable: rows are added first, once for a row of the result, and columns looked up in that (Keys,
"Cubic convolution interpolation for digital image processing", 1981, section IV).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.sizes.session import sized, sized_strides
from xyntra.passes.lower.cpu.schedule.emitter import Choices
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import has_static_layout, root

__all__ = [
    "GatherChoices",
    "GatherPlan",
    "Reuse",
    "Separable",
    "Variation",
    "looks_up_tables",
    "plan_gathers",
]

_LOAD = "memref.load"
_MAX_TERMS = 64
_MAX_SPAN = 1 << 31  # places of lanes have 32 bits
_LEAST = 4  # iterations of the innermost loop
_LONG = 32  # elements of a row, among which some may follow one another
_MANY_ROWS = 8  # which pay for looking through a table of columns first
_LEAST_REUSED = 8  # operations on vectors that a loop inside is worth
_MAX_COPIES = 4  # of one element, side by side; more are copied by a loop of their own
_ROW_COST = 0.2  # to add one element to a row, in gathered elements


class Variation(Enum):
    """The way in which a value varies along the innermost loop."""

    UNIFORM = auto()
    STEP = auto()
    LANES = auto()


@dataclass(frozen=True)
class GatherChoices(Choices):
    """The choices of the emitter of gathers.

    Attributes:
        vector: elements of a vector.
        past_caches: whether the result is stored past the caches.
        separable: whether the rows of a sum over rows and columns are added first.
        reused: whether a loop along which places are the same goes inside the one over vectors.
        runs: whether columns that are contiguous, as a table of them says, are read as such.
        neighbours: whether a vector of places that follow one another is looked for, and loaded.
    """

    vector: int = 0
    past_caches: bool = False
    separable: bool = False
    reused: bool = False
    runs: bool = False
    neighbours: bool = False


@dataclass(frozen=True)
class Separable:
    """A sum over rows and columns.

    Attributes:
        rows: for every row an element of it, which is loaded at some column, and its weights.
        columns: for every column the lanes of its place, and its weights.
        add, multiply: operations whose attributes hold for the sums and products.
    """

    rows: tuple[tuple[ir.Operation, tuple[ir.Value, ...]], ...]
    columns: tuple[tuple[ir.Value, tuple[ir.Value, ...]], ...]
    add: ir.Operation
    multiply: ir.Operation


@dataclass(frozen=True)
class Reuse:
    """A loop along which most of what has lanes is the same, such as the places in every channel.

    Attributes:
        loop: its number.
        moving: the arguments and results in the body that move with it.
    """

    loop: int
    moving: frozenset[ir.Value]


@dataclass(frozen=True)
class GatherPlan:
    """A vectorisation of a nest that looks elements up.

    Attributes:
        nest: the loops.
        outer: the loops around, outermost first.
        lane: the innermost loop.
        element: the loop over elements that the innermost one repeats, which is part of it; None
            where they are not repeated.
        kinds: of all arguments and results in the body.
        separable: what the body yields, where that is such a sum.
        reuse: the loop that can go inside the one over vectors; None where that saves little.
        table: the number of the input that holds the column of every lane, the same for many rows;
            None where columns come from elsewhere.
    """

    nest: LinearNest
    outer: tuple[int, ...]
    lane: int
    element: int | None
    kinds: dict[ir.Value, Variation]
    separable: Separable | None
    reuse: Reuse | None
    table: int | None

    @property
    def repeats(self) -> int:
        """Return how often every element is repeated."""
        return 1 if self.element is None else self.nest.loops[self.lane].extent

    @property
    def extent(self) -> int:
        """Iterations of the innermost loop."""
        elements = 1 if self.element is None else self.nest.loops[self.element].extent
        return self.nest.loops[self.lane].extent * elements

    @property
    def is_in_place(self) -> bool:
        """Whether the result is written over an input, so that no element may be computed twice."""
        written = root(self.nest.outputs[0].value)
        read = (root(each.value) for each in self.nest.inputs if not each.is_scalar)
        return any(each == written for each in read)

    def widest(self, lanes: int) -> int:
        """Return the longest legal vector of at most `lanes`; less than 2 where there is none.

        The last vector of a row moves back to where it fits, over elements that are done.
        """
        most = min(lanes, 1 << (self.extent.bit_length() - 1))
        return min(most, self.extent & -self.extent) if self.is_in_place else most

    @property
    def gathers(self) -> bool:
        """Tell whether lanes look up elements that need not be contiguous."""
        loads = (view for view in self.nest.body.operations if view.operation.name == _LOAD)
        places = (place for load in loads for place in list(load.operation.operands)[1:])
        return any(self.kinds.get(place) is Variation.LANES for place in places)

    def is_repeated(self, access: BufferOperand) -> bool:
        """Tell whether `access`, which has lanes, reads elements that are repeated."""
        return self.element is not None and not access.strides[self.lane]


def plan_gathers(nest: LinearNest) -> GatherPlan | None:
    """Return how `nest` is computed on vectors; None where it looks nothing up, or cannot be."""
    if nest.reductions or nest.reads_outputs or len(nest.outputs) != 1 or _has_bits(nest):
        return None
    lanes = [i for i, step in enumerate(nest.outputs[0].strides) if step == 1]
    if len(lanes) != 1:
        return None
    looks_up = any(view.operation.name == _LOAD for view in nest.body.operations)
    element = None if looks_up else _repeated(nest, lanes[0])
    if element is None and not looks_up:
        return None
    kinds = _kinds(nest, lanes[0], element)
    if kinds is None:
        return None
    outer = [number for number in range(len(nest.loops)) if number not in (lanes[0], element)]
    outer.sort(key=lambda number: -nest.outputs[0].strides[number])
    separable = None if element is not None else _separable(nest, lanes[0], kinds)
    reuse = None if element is not None or separable is not None else _reuse(nest, outer, kinds)
    if element is None and not _takes_apart(nest, lanes[0], kinds, reuse):
        return None
    is_plain = element is None and separable is None and reuse is None
    table = _table(nest, lanes[0], kinds) if is_plain else None
    found = GatherPlan(nest, tuple(outer), lanes[0], element, kinds, separable, reuse, table)
    return found if found.extent >= _LEAST else None


def _reuse(
    nest: LinearNest, outer: Sequence[int], kinds: dict[ir.Value, Variation]
) -> Reuse | None:
    """Return the outer loop along which most operations on vectors are the same."""
    best, most = None, _LEAST_REUSED - 1
    for number in outer:
        moving = _moving(nest, number)
        saved = _work(nest, kinds, moving)
        if saved > most and moving:
            best, most = Reuse(number, moving), saved
    return best


def looks_up_tables(plan: GatherPlan) -> bool:
    """Tell whether places come from long rows of integers, as those of the frames of a wave do."""
    is_plain = plan.element is None and plan.reuse is None and plan.separable is None
    return (
        is_plain
        and plan.extent >= _LONG
        and any(
            not each.is_scalar
            and isinstance(each.element_type, ir.IntegerType)
            and each.strides[plan.lane] == 1
            for each in plan.nest.inputs
        )
    )


def _table(nest: LinearNest, lane: int, kinds: dict[ir.Value, Variation]) -> int | None:
    """Return the input from which all columns come that are looked up; None where there is none."""
    rows = prod(loop.extent for number, loop in enumerate(nest.loops) if number != lane)
    if rows < _MANY_ROWS:
        return None
    columns = set()
    for view in nest.body.operations:
        op = view.operation
        if op.name != _LOAD:
            continue
        places = list(op.operands)[1:]
        found = [place for place in places if kinds.get(place) is Variation.LANES]
        if not found:
            continue
        if not _looks_up_a_column(op, kinds) or isinstance(found[0].owner, ir.Block):
            return None
        columns.add(found[0].owner.operation.operands[0])
    arguments = list(nest.body.arguments)[: len(nest.inputs)]
    if len(columns) != 1 or (column := columns.pop()) not in arguments:
        return None
    number = arguments.index(column)
    access = nest.inputs[number]
    is_table = all(not step for i, step in enumerate(access.strides) if i != lane)
    return number if is_table and access.strides[lane] == 1 else None


def _moving(nest: LinearNest, loop: int) -> frozenset[ir.Value]:
    """Return the arguments and results in the body that move with `loop`."""
    pairs = zip(nest.body.arguments, nest.inputs, strict=False)
    found = {argument for argument, each in pairs if not each.is_scalar and each.strides[loop]}
    for view in nest.body.operations:
        op = view.operation
        if op.name == "linalg.index":
            if nest.indices[ir.IntegerAttr(op.attributes["dim"]).value][loop]:
                found.add(op.result)
        elif any(value in found for value in op.operands):
            found.update(op.results)
    return frozenset(found)


def _work(nest: LinearNest, kinds: dict[ir.Value, Variation], moving: frozenset[ir.Value]) -> int:
    """Count the operations on vectors whose results are not among `moving`."""
    results = [
        view.operation.result for view in nest.body.operations if len(view.operation.results)
    ]
    return sum(kinds.get(each) is Variation.LANES and each not in moving for each in results)


def _takes_apart(
    nest: LinearNest, lane: int, kinds: dict[ir.Value, Variation], reuse: Reuse | None
) -> bool:
    """Tell whether the operands whose lanes lie apart are few beside the work that follows."""
    apart = [
        argument
        for argument, each in zip(nest.body.arguments, nest.inputs, strict=False)
        if not each.is_scalar and each.strides[lane] not in (0, 1)
    ]
    if not apart or (reuse is not None and not reuse.moving.intersection(apart)):
        return True
    return _work(nest, kinds, frozenset()) >= _LEAST_REUSED * len(apart)


def _repeated(nest: LinearNest, lane: int) -> int | None:
    """The loop over elements that loop `lane` repeats; None where it repeats none."""
    copies = nest.loops[lane].extent
    if copies & (copies - 1) or copies > _MAX_COPIES:
        return None
    found = [i for i, step in enumerate(nest.outputs[0].strides) if step == copies and i != lane]
    moves = [(each.strides[found[0]], each.strides[lane]) for each in nest.inputs] if found else []
    return found[0] if (1, 0) in moves else None


def _has_bits(nest: LinearNest) -> bool:
    """Tell whether an operand has booleans, which are bytes in memory and bits in a vector."""
    return any(not each.is_scalar and str(each.element_type) == "i1" for each in nest.accesses)


def _kinds(nest: LinearNest, lane: int, element: int | None) -> dict[ir.Value, Variation] | None:
    kinds: dict[ir.Value, Variation] = {}
    for argument, access in zip(nest.body.arguments, nest.inputs, strict=False):
        kind = _of_access(access, lane, element, nest.loops[lane].extent)
        if kind is None:
            return None
        kinds[argument] = kind
    written = root(nest.outputs[0].value)
    for view in nest.body.operations:
        op = view.operation
        if op.name == "linalg.yield":
            continue
        found = _of_result(op, nest, lane, kinds)
        if found is None or (op.name == _LOAD and root(op.operands[0]) == written):
            return None
        kinds[op.result] = found
    return kinds


def _of_access(
    access: BufferOperand, lane: int, element: int | None, copies: int
) -> Variation | None:
    if access.is_scalar:
        return Variation.UNIFORM
    if element is None:
        return Variation.LANES if access.strides[lane] else Variation.UNIFORM
    steps = access.strides[element], access.strides[lane]
    return {(0, 0): Variation.UNIFORM, (1, 0): Variation.LANES, (copies, 1): Variation.LANES}.get(
        steps
    )


def _of_result(
    op: ir.Operation, nest: LinearNest, lane: int, kinds: dict[ir.Value, Variation]
) -> Variation | None:
    if op.name == "linalg.index":
        steps = nest.indices[ir.IntegerAttr(op.attributes["dim"]).value]
        return {0: Variation.UNIFORM, 1: Variation.STEP}.get(steps[lane])
    operands = [kinds.get(value, Variation.UNIFORM) for value in op.operands]
    if op.name == _LOAD:
        return _of_load(op, operands[1:])
    if not op.name.startswith(("arith.", "math.")) or len(op.results) != 1:
        return None
    if all(kind is Variation.UNIFORM for kind in operands):
        return Variation.UNIFORM
    indexed = [str(value.type) == "index" for value in (*op.operands, *op.results)]
    if Variation.STEP in operands:
        is_sum = op.name == "arith.addi" and operands.count(Variation.STEP) == 1
        return Variation.STEP if is_sum and Variation.LANES not in operands else None
    is_place = op.name == "arith.index_cast" and str(op.operands[0].type) in ("i32", "i64")
    return Variation.LANES if is_place or not any(indexed) else None


def _of_load(op: ir.Operation, places: Sequence[Variation]) -> Variation | None:
    memory = op.operands[0]
    if not has_static_layout(memory) or str(ir.MemRefType(memory.type).element_type) == "i1":
        return None
    if Variation.STEP in places:
        steps = sized_strides(ir.MemRefType(memory.type))
        moves = [step for step, kind in zip(steps, places, strict=True) if kind is Variation.STEP]
        return Variation.LANES if moves == [1] and Variation.LANES not in places else None
    if Variation.LANES not in places:
        return Variation.UNIFORM
    kind = ir.MemRefType(memory.type)
    pairs = zip(map(sized, kind.shape), sized_strides(kind), strict=True)
    is_near = 1 + sum((size - 1) * step for size, step in pairs) < _MAX_SPAN
    return Variation.LANES if is_near else None


@dataclass(frozen=True)
class _Term:
    """A product of uniform values, of values with lanes, and of an element that is looked up."""

    uniform: tuple[ir.Value, ...] = ()
    lanes: tuple[ir.Value, ...] = ()
    element: ir.Operation | None = None


def _separable(nest: LinearNest, lane: int, kinds: dict[ir.Value, Variation]) -> Separable | None:
    yielded = terminator(nest.body).operands
    terms = _terms(yielded[0], kinds)
    if terms is None or any(term.element is None for term in terms):
        return None
    columns: dict[tuple[ir.Value, ...], dict[tuple[ir.Value, ...], _Term]] = {}
    for term in terms:
        if term.element is None or not _looks_up_a_column(term.element, kinds):
            return None
        memory, *places, column = term.element.operands
        row = columns.setdefault((column, *term.lanes), {})
        if row.setdefault((memory, *places, *term.uniform), term) != term:
            return None
    rows = next(iter(columns.values()))
    if len(rows) < 2 or len({column for column, *_ in columns}) < len(columns):
        return None
    if any(each.keys() != rows.keys() for each in columns.values()):
        return None
    if not _pays(nest.loops[lane].extent, len(rows), len(columns), next(iter(rows.values()))):
        return None
    operations = [view.operation for view in nest.body.operations]
    first = {op.name: op for op in reversed(operations)}
    if not {"arith.addf", "arith.mulf"} <= first.keys():
        return None
    return Separable(
        tuple((each.element, each.uniform) for each in rows.values() if each.element is not None),
        tuple((column, tuple(weights)) for column, *weights in columns),
        first["arith.addf"],
        first["arith.mulf"],
    )


def _looks_up_a_column(op: ir.Operation, kinds: dict[ir.Value, Variation]) -> bool:
    """Tell whether lanes of a load differ in their place along the last dimension alone."""
    steps, _ = ir.MemRefType(op.operands[0].type).get_strides_and_offset()
    *places, column = list(op.operands)[1:]
    uniform = all(kinds.get(each, Variation.UNIFORM) is Variation.UNIFORM for each in places)
    return uniform and kinds.get(column) is Variation.LANES and list(steps)[-1:] == [1]


def _pays(extent: int, rows: int, columns: int, term: _Term) -> bool:
    if term.element is None:
        return False
    width = ir.MemRefType(term.element.operands[0].type).shape[-1]
    return bool(width > 1 and width * rows * _ROW_COST + extent * columns < extent * rows * columns)


def _terms(value: ir.Value, kinds: dict[ir.Value, Variation]) -> list[_Term] | None:
    """Return `value` as a sum of products; None where it is something else."""
    if kinds.get(value, Variation.UNIFORM) is Variation.UNIFORM:
        return [_Term(uniform=(value,))]
    if isinstance(value.owner, ir.Block):
        return [_Term(lanes=(value,))]
    op = value.owner.operation
    if op.name == _LOAD:
        return [_Term(element=op)]
    if op.name not in ("arith.addf", "arith.mulf"):
        return None
    left, right = (_terms(each, kinds) for each in op.operands)
    if left is None or right is None:
        return None
    if op.name == "arith.addf":
        found = [*left, *right]
    elif any(a.element is not None and b.element is not None for a in left for b in right):
        return None
    else:
        found = [
            _Term(a.uniform + b.uniform, a.lanes + b.lanes, a.element or b.element)
            for a in left
            for b in right
        ]
    return found if len(found) <= _MAX_TERMS else None
