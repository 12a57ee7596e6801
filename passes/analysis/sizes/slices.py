# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells whether slices lie where they do at a sample of sizes for all sizes of a range.

What a pass finds of a slice at a sample, such as the part of a concatenation that it is, may be
otherwise at other sizes: the first row of a past and what follows it is none of the past where
that is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import Bounds, Expr, constant, parse
from xyntra.passes.analysis.sizes.agreement import Agreement, operations_of
from xyntra.passes.analysis.sizes.session import not_free

__all__ = ["are_settled", "check_slices"]

_EXTRACT = ("tensor.extract_slice", "memref.subview")
_INSERT = "tensor.insert_slice"
_NEAR_ENDS = 40
_MOST = 4000
"""Sizes next to either end of a range, and combinations of them, that are looked at."""


@dataclass(frozen=True)
class _Sizes:
    """The sizes that code is for."""

    ranges: Mapping[str, Bounds]
    definitions: Mapping[str, str]

    def least(self, difference: Expr) -> int:
        """Return a number that the difference is never below."""
        return difference.bounds(self.ranges)[0]

    def points(self) -> Iterator[dict[str, int]]:
        """Yield combinations of sizes: all of short ranges."""
        names = [name for name in self.ranges if name not in self.definitions]
        choices = []
        for name in names:
            low, high = self.ranges[name]
            near = (*range(low, low + _NEAR_ENDS), *range(high - _NEAR_ENDS, high + 1))
            choices.append(sorted({size for size in near if low <= size <= high}))
        for chosen in islice(product(*choices), _MOST):
            sizes = dict(zip(names, chosen, strict=True))
            sizes |= {name: parse(text).at(sizes) for name, text in self.definitions.items()}
            yield sizes


@dataclass(frozen=True)
class _Cut:
    """What a slice takes of one dimension."""

    start: Expr
    end: Expr
    extent: Expr


def check_slices(
    kernel: ir.Operation,
    agreement: Agreement,
    ranges: Mapping[str, Bounds],
    definitions: Mapping[str, str],
) -> None:
    """Check that no slice of a kernel reads or writes beyond its tensor, whatever the sizes are.

    Args:
        kernel: at the first sample.
        agreement: of the samples.
        ranges: the least and the largest size of each symbol.
        definitions: of those that others decide, expressions of these.

    Raises:
        CompileError: `kernel-not-free`, one does.
    """
    sizes = _Sizes(ranges, definitions)
    for op in operations_of(kernel):
        if op.name in (*_EXTRACT, _INSERT):
            cuts = _cuts(op, agreement.numbers[0])
            if not all(_is_inside(cut, sizes) for cut in cuts) and _is_beyond(cuts, sizes):
                raise not_free("it takes a part of a tensor that is shorter at some sizes")


def are_settled(
    model: ir.Operation,
    agreement: Agreement,
    ranges: Mapping[str, Bounds],
    definitions: Mapping[str, str],
) -> bool:
    """Tell whether slices hold the same parts of concatenations at all sizes.

    Slices and insertions in dimensions of one extent are compared, whatever lies between them.
    """
    sizes, numbers = _Sizes(ranges, definitions), agreement.numbers[0]
    extracted, inserted = set[_Cut](), set[_Cut]()
    for op in operations_of(model):
        if op.name in (*_EXTRACT, _INSERT):
            found = (cut for cut in _cuts(op, numbers) if not _is_whole(cut))
            (inserted if op.name == _INSERT else extracted).update(found)
    pairs = [(a, b) for a in extracted for b in inserted if a.extent == b.extent]
    ends = {(a - b) for one, other in pairs for a, b in _borders(one, other)}
    return all(_has_one_sign(each, sizes) for each in ends)


def _cuts(op: ir.Operation, numbers: Mapping[int, Expr]) -> list[_Cut]:
    def size(number: int) -> Expr:
        found = numbers.get(number)
        return constant(number) if found is None else found

    whole = op.operands[1 if op.name == _INSERT else 0].type
    words = [
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    ]
    found = []
    for start, length, step, extent in zip(*words, ir.ShapedType(whole).shape, strict=True):
        if min(start, length, step) < 0:
            continue  # known in the call alone
        first, count = size(start), size(length)
        last = first + (count - constant(1)) * constant(step) + constant(1)
        found.append(_Cut(first, last if step != 1 else first + count, size(extent)))
    return found


def _is_whole(cut: _Cut) -> bool:
    return not cut.start.terms and cut.end == cut.extent


def _is_inside(cut: _Cut, sizes: _Sizes) -> bool:
    return sizes.least(cut.start) >= 0 and sizes.least(cut.extent - cut.end) >= 0


def _is_beyond(cuts: Sequence[_Cut], sizes: _Sizes) -> bool:
    """Tell whether a slice that has elements reaches beyond its tensor at some sizes."""
    for point in sizes.points():
        ends = [tuple(each.at(point) for each in (c.start, c.end, c.extent)) for c in cuts]
        is_empty = any(end <= start for start, end, _ in ends)
        if not is_empty and any(start < 0 or end > extent for start, end, extent in ends):
            return True
    return False


def _borders(one: _Cut, other: _Cut) -> Iterator[tuple[Expr, Expr]]:
    """Yield the pairs of ends whose order says how two cuts lie to each other."""
    yield one.start, other.start
    yield one.end, other.end
    yield one.start, other.end
    yield one.end, other.start


def _has_one_sign(difference: Expr, sizes: _Sizes) -> bool:
    """Tell whether a difference is never above 0, or never below."""
    least, most = difference.bounds(sizes.ranges)
    if least >= 0 or most <= 0:
        return True
    values = [difference.at(point) for point in sizes.points()]
    return min(values) >= 0 or max(values) <= 0
