# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the reductions on memrefs whose output is filled right before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xyntra.dialects.attention import OP as ATTENTION
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.schedule.told import bad_schedule, own_schedule
from xyntra.passes.lower.kernels.epilogue import Epilogue, FusedNest, joined
from xyntra.passes.lower.kernels.fills import fill_before, initial_of
from xyntra.passes.lower.kernels.following_elementwise import following_elementwise
from xyntra.passes.lower.loops.linear_nest import LinearNest, collapsed
from xyntra.passes.lower.loops.taken import Taken

__all__ = ["Filled", "Reduction", "filled"]


@dataclass(frozen=True)
class Reduction:
    """A reduction, alone or with what follows it, as loops.

    Attributes:
        together: the loops of both.
        nest: the reduction, with as few loops as can be.
        code: what happens to each element of its result, over the same loops.
    """

    together: FusedNest
    nest: LinearNest
    code: Epilogue | None

    @property
    def exact(self) -> bool:
        """Tell whether no element of the output may be computed twice."""
        return self.together.is_in_place


@dataclass(frozen=True)
class Filled:
    """A reduction whose output is filled with one value.

    Attributes:
        op: the reduction.
        fill: what its output starts from.
        taken: what others make code of.
    """

    op: ir.Operation
    fill: ir.Operation
    taken: Taken

    @property
    def initial(self) -> ir.Value:
        """The scalar that every element of the output starts from."""
        return initial_of(self.fill)

    @cached_property
    def following(self) -> ir.Operation | None:
        """What computes on the output next, element by element, and has no code of its own."""
        found = following_elementwise(self.op, self.taken)
        return None if found is None or own_schedule(found) else found

    def group(self, *, epilogue: bool) -> list[ir.Operation]:
        """The fill and the reduction, and what follows with `epilogue`."""
        following = self.following if epilogue else None
        return [self.fill, self.op, *([] if following is None else [following])]

    @cached_property
    def _known(self) -> dict[bool, Reduction | None]:
        return {}

    def reduction(self, *, epilogue: bool, flat: bool = False) -> Reduction | None:
        """Return the loops; None where what follows cannot share them.

        Args:
            epilogue: with what follows.
            flat: make the flat views that code is made of.
        """
        if epilogue in self._known and not flat:
            return self._known[epilogue]
        following = self.following if epilogue else None
        together = None
        if following is not None or not epilogue:
            together = joined(self.fill, self.op, following, flat=flat)
        if together is None:
            found = None
        else:
            found = Reduction(together, *together.parts(collapsed(together.nest)))
        if not flat:
            self._known[epilogue] = found
        return found

    def checked(self, *, epilogue: bool) -> Reduction:
        """As `reduction`, for a schedule, which is refused where that is None."""
        found = self.reduction(epilogue=epilogue)
        if found is None:
            raise bad_schedule(self.op, "epilogue = true: nothing that follows fits in")
        return found


def filled(
    is_wanted: Callable[[ir.Operation], bool],
) -> Callable[[ir.Operation, Taken], Filled | None]:
    """Return a function that finds the filled reductions that satisfy `is_wanted`."""

    def find(op: ir.Operation, taken: Taken) -> Filled | None:
        if ATTENTION in op.attributes or not is_wanted(op):
            return None
        fill = fill_before(op, taken)
        return None if fill is None or own_schedule(fill) else Filled(op, fill, taken)

    return find
