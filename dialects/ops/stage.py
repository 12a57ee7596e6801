# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.stage`: what one launch of a kernel on buffers computes."""

from collections.abc import Sequence
from typing import Any

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.base import Region, Xyntra, ir
from xyntra.dialects.ops.yield_ import make_yield
from xyntra.dialects.verify import Rejected, verifier
from xyntra.errors import XyntraError

__all__ = ["STAGE", "StageOp", "make_stage", "schedule_of", "set_schedule"]

STAGE = "xyntra.stage"
_SCHEDULE = "schedule"


class StageOp(Xyntra.Operation, name="stage"):
    """One block without arguments, whose operations read and write memory of the scopes around it.

    They mean what they say one after the other. How a launch shares them among its threads says the
    optional `schedule`, a `#xyntra.schedule`. There are no results.
    """

    body: Region

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check the schedule, the block and its terminator."""
        _check_schedule(op.operation)
        blocks = list(op.operation.regions[0].blocks)
        if len(blocks) != 1 or len(blocks[0].arguments):
            raise Rejected("expects a region of one block without arguments")
        operations = [view.operation for view in blocks[0].operations]
        if any(each.name == STAGE for each in operations):
            raise Rejected("expects no other stage inside")
        if not operations or operations[-1].name != "xyntra.yield":
            raise Rejected("expects its block to end with 'xyntra.yield'")
        if len(operations[-1].operands):
            raise Rejected("yields values, but a stage has no results")


def make_stage(operations: Sequence[ir.Operation]) -> ir.Operation:
    """Return a new stage of `operations`, which move into it, in the place of the last of them."""
    last = operations[-1]
    with last.location, ir.InsertionPoint(last):
        stage = ir.Operation.create(STAGE, regions=1)
    block = stage.regions[0].blocks.append()
    ending = make_yield([], loc=last.location, ip=ir.InsertionPoint(block))
    for op in operations:
        op.move_before(ending)
    return stage


def schedule_of(stage: ir.Operation) -> Schedule | None:
    """Return how `stage` runs; None where that is not decided.

    Raises:
        CompileError: the attribute is not a valid `#xyntra.schedule`.
    """
    return Schedule.of(stage, _SCHEDULE)


def set_schedule(stage: ir.Operation, schedule: Schedule) -> None:
    """Decide how `stage` runs."""
    schedule.attach(stage, _SCHEDULE)


def _check_schedule(stage: ir.Operation) -> None:
    try:
        schedule_of(stage)
    except XyntraError as error:
        raise Rejected(f"has a bad 'schedule': {error.message}") from error
