# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.fused`: the operations that become one kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xyntra.dialects.base import Pure, Region, Result, Xyntra, ir
from xyntra.dialects.kinds import KINDS, Kind
from xyntra.dialects.ops.yield_ import make_yield
from xyntra.dialects.purity import impurity, is_harmless
from xyntra.dialects.segments import SEGMENTS, assign_segments
from xyntra.dialects.verify import Rejected, verifier

__all__ = ["FusedOp", "NewFused"]


class FusedOp(Xyntra.Operation, name="fused", traits=[Pure]):
    """One block without arguments that reads what it needs from the scopes around it.

    `kind` is one of `KINDS`. The results are ranked tensors, spread over groups of one type each.
    Because the region is not isolated, canonicalization moves constants out of it, where they are
    inputs like any other.
    """

    __annotations__ = {
        **{f"results{i}": Sequence[Result[Any]] for i in range(SEGMENTS)},
        "kind": ir.StringAttr,
        "body": Region,
    }

    @staticmethod
    def build(
        result_types: Sequence[ir.Type],
        kind: Kind,
        *,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ) -> "NewFused":
        """Create the op with an empty block; fill `block`, then call `finish`.

        Raises:
            UnsupportedError: the results have more distinct types than the op has groups.
        """
        segments = assign_segments(result_types)
        attributes: dict[str, ir.Attribute] = {
            "kind": ir.StringAttr.get(kind),
            "resultSegmentSizes": ir.DenseI32ArrayAttr.get(segments.sizes),
        }
        operation = ir.Operation.create(
            "xyntra.fused",
            results=[result_types[index] for index in segments.order],
            attributes=attributes,
            regions=1,
            loc=loc,
            ip=ip,
        )
        operation.regions[0].blocks.append()
        return NewFused(operation, segments.order)

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check the kind, the result types, the block and its terminator."""
        if op.kind.value not in KINDS:
            raise Rejected(f"expects 'kind' to be one of {', '.join(KINDS)}, got {op.kind}")
        results = [result.type for result in op.operation.results]
        for kind in results:
            if not isinstance(kind, ir.RankedTensorType):
                raise Rejected(f"expects ranked tensor results, got {kind}")
        _check_block(op.operation.regions[0], results)


@dataclass(frozen=True)
class NewFused:
    """A `xyntra.fused` with a block to fill; `order[i]` is the caller's index of result i."""

    operation: ir.Operation
    order: tuple[int, ...]

    @property
    def block(self) -> ir.Block:
        """The one block of the region."""
        return self.operation.regions[0].blocks[0]

    @property
    def results(self) -> list[ir.OpResult]:
        """The results, in the order of the types given to `build`."""
        found = list(self.operation.results)
        return [found[place] for place in sorted(range(len(found)), key=self.order.__getitem__)]

    def finish(self, values: Sequence[ir.Value], *, loc: ir.Location | None = None) -> None:
        """End the block with a `xyntra.yield` of `values`, in the order given to `build`."""
        loc = loc or self.operation.location
        make_yield(
            [values[index] for index in self.order], loc=loc, ip=ir.InsertionPoint(self.block)
        )


def _check_block(region: ir.Region, results: list[ir.Type]) -> None:
    blocks = list(region.blocks)
    if len(blocks) != 1:
        raise Rejected(f"expects a region of one block, got {len(blocks)}")
    if len(blocks[0].arguments):
        raise Rejected(f"expects a block without arguments, got {len(blocks[0].arguments)}")
    last = _check_pure(blocks[0], "xyntra.yield")
    if last is None or last.name != "xyntra.yield":
        raise Rejected("expects its block to end with 'xyntra.yield'")
    yielded = [value.type for value in last.operands]
    if yielded != results:
        raise Rejected(f"yields {_listed(yielded)} but its results are {_listed(results)}")


def _check_pure(block: ir.Block, end: str = "") -> ir.Operation | None:
    """Reject a block with side effects, or nested ones; returns its last operation.

    Operations called `end` may stand in the block itself.
    """
    operation = None
    for view in block.operations:
        operation = view.operation
        name = operation.name
        if is_harmless(name) or name == end:
            continue
        reason = impurity(operation)
        if reason is not None:
            raise Rejected(f"expects operations without side effects inside, but {reason}")
        for region in operation.regions:
            for nested in region.blocks:
                _check_pure(nested)
    return operation


def _listed(types: list[ir.Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"
