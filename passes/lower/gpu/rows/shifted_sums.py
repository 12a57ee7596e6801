# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums of exponentials less the largest element, for which blocks meet once instead of twice.

A softmax needs the largest element of a row before it can add up exp(x - largest). Every warp can
do so with the largest of its own elements, though: what it has added up is multiplied by
exp(own - largest) once all of these are known (Milakov and Gimelshein, "Online normalizer
calculation for softmax", 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import constant, emit
from xyntra.passes.analysis.owners import only_reader
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.rows.row_accesses import is_row, place_of
from xyntra.passes.lower.loops.linear_nest import LinearNest
from xyntra.passes.lower.loops.memrefs import is_private, root

_LOWEST = -3.4028234663852886e38  # minus infinity less itself would be no number
_POWERS = (
    ["arith.subf", "arith.mulf", "math.exp2"],
    ["arith.subf", "arith.maximumf", "arith.mulf", "math.fma", "math.exp2", "math.fma"],
)


@dataclass(frozen=True)
class ShiftedSum:
    """Three nests over the same rows.

    Attributes:
        largest: finds the largest element.
        powers: computes the exponentials of elements less that.
        total: adds these up.
        combiners: of `largest` and of `total`.
        element: which operand of `powers` is the element; the other one is the largest.
    """

    largest: LinearNest
    powers: LinearNest
    total: LinearNest
    combiners: tuple[Combiner, Combiner]
    element: int

    def bounded(self, largest: ir.Value) -> ir.Value:
        """Return what takes the place of a largest element, so that sums are numbers."""
        return arith.maximumf(largest, constant(_LOWEST, "float32").value)

    def power(self, value: ir.Value, largest: ir.Value) -> ir.Value:
        """Return the exponential of an element, which is given as an f32, less the largest."""
        kind = self.powers.body.arguments[self.element].type
        if value.type != kind:
            value = emit("arith.truncf", [value], kind)
        given = [value, largest] if self.element == 0 else [largest, value]
        return emit_on_scalars(self.powers.body, given)[0]


def shifted_sum(
    nests: Sequence[LinearNest], count: int, generics: Sequence[ir.Operation]
) -> ShiftedSum | None:
    """Return the first sum of exponentials among `nests`, None where there is none.

    Args:
        nests: in order.
        count: loops over rows.
        generics: the operations that they come from.
    """
    for number, largest in enumerate(nests):
        combiner = _plain_reduction(largest, "arith.maximumf")
        if combiner is None:
            continue
        behind = nests[number + 1 :]
        powers = next((each for each in behind if _reads(each, largest)), None)
        element = None if powers is None else _element(powers, largest, count)
        if powers is None or element is None or not _are_private(powers, generics):
            continue
        total = next((each for each in behind if _reads(each, powers)), None)
        adds = None if total is None else _plain_reduction(total, "arith.addf")
        if total is None or adds is None:
            continue
        between = behind[: behind.index(total)]
        if [each for each in between if _reads(each, largest)] == [powers]:
            return ShiftedSum(largest, powers, total, (combiner, adds), element)
    return None


def _plain_reduction(nest: LinearNest, name: str) -> Combiner | None:
    """Return how `nest` combines the elements of one array as f32, if by `name`."""
    if not nest.reductions or len(nest.inputs) != 1 or nest.inputs[0].is_scalar:
        return None
    combiner = Combiner.of(nest)
    if combiner is None or combiner.operation.name != name:
        return None
    names = [view.operation.name for view in nest.body.operations]
    is_f32 = isinstance(combiner.type, ir.F32Type)
    return combiner if is_f32 and names[-2] == name and names[:-2] in ([], ["arith.extf"]) else None


def _element(powers: LinearNest, largest: LinearNest, count: int) -> int | None:
    """Return which operand is the element; None where these are not its exponentials."""
    if powers.reductions or powers.reads_outputs or len(powers.inputs) != 2:
        return None
    names = [view.operation.name for view in powers.body.operations][:-1]
    if (names[1:] if names[:1] == ["arith.extf"] else names) not in _POWERS:
        return None
    whole = largest.inputs[0]
    for number, access in enumerate(powers.inputs):
        other = powers.inputs[1 - number]
        if access.is_scalar or other.is_scalar or is_row(powers, other, count):
            continue
        same = root(access.value) == root(whole.value)
        same = same and place_of(powers, access, count) == place_of(largest, whole, count)
        if same and root(other.value) == root(largest.outputs[0].value):
            return number if _is_difference(powers, number) else None
    return None


def _is_difference(powers: LinearNest, element: int) -> bool:
    """Tell whether the element less the other operand is all that is made of them."""
    taken, other = (powers.body.arguments[each] for each in (element, 1 - element))
    reader = only_reader(taken)
    if reader is not None and reader.name == "arith.extf":
        taken = reader.result
        reader = only_reader(taken)
    if reader is None or reader.name != "arith.subf" or len(list(other.uses)) != 1:
        return False
    return list(reader.operands) == [taken, other]


def _are_private(nest: LinearNest, generics: Sequence[ir.Operation]) -> bool:
    return all(is_private(root(each.value), generics) for each in nest.outputs)


def _reads(nest: LinearNest, other: LinearNest) -> bool:
    """Tell whether a nest reads what another one writes."""
    written = {root(each.value) for each in other.outputs}
    accesses = nest.accesses if nest.reads_outputs else nest.inputs
    return any(not each.is_scalar and root(each.value) in written for each in accesses)
