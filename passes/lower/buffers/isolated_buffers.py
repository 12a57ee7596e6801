# SPDX-License-Identifier: MIT OR Apache-2.0
"""`isolated-buffers`: copies that let any kernel be bufferized, at a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named, terminator
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class IsolatedBuffers:
    """Copy what loops hand to their next iteration, and what is written in place.

    One-shot bufferization wants a loop's tensor to stay in one buffer, and refuses to write two
    arguments that depend on each other. Copying each value aside, and from there into its
    destination, satisfies both whatever the values are.
    """

    name: ClassVar[str] = "isolated-buffers"

    def run(self, module: ir.Operation) -> None:
        """Insert the copies below `module`, after `destination-passing`."""
        with module.context:
            _read_before_writing(_inplace_writes(module))
            for loop in operations_named(module, "scf.for"):
                body = loop.regions[0].blocks[0]
                _stay_in_place(body, list(body.arguments)[1:])
            for loop in operations_named(module, "scf.while"):
                _stay_in_place(loop.regions[1].blocks[0], _forwarded(loop))


def is_needed(module: ir.Operation) -> bool:
    """Tell whether `module` has anything that the pass would change."""
    return bool(operations_named(module, "scf.for", "scf.while") or _inplace_writes(module))


def _inplace_writes(module: ir.Operation) -> list[ir.Operation]:
    writes = operations_named(module, "bufferization.materialize_in_destination")
    return [op for op in writes if len(op.results)]


def _read_before_writing(writes: list[ir.Operation]) -> None:
    # They stand together at the end of the kernel, so every value exists at the first of them.
    for op in writes:
        with op.location, ir.InsertionPoint(writes[0]):
            op.operands[0] = _copy(op.operands[0])


def _stay_in_place(body: ir.Block, destinations: list[ir.Value | None]) -> None:
    """Write every tensor that `body` yields into the buffer of its destination."""
    yielding = terminator(body)
    with yielding.location, ir.InsertionPoint(yielding):
        moves = [
            (index, _copy(value), destination)
            for index, (value, destination) in enumerate(
                zip(list(yielding.operands), destinations, strict=True)
            )
            if destination is not None
            and value != destination
            and isinstance(value.type, ir.RankedTensorType)
        ]
        for index, value, destination in moves:
            yielding.operands[index] = ir.Operation.create(
                "bufferization.materialize_in_destination",
                results=[destination.type],
                operands=[value, destination],
            ).result


def _forwarded(loop: ir.Operation) -> list[ir.Value | None]:
    """Return, for each argument of the first region, the one of the second that it is passed to."""
    before, after = (region.blocks[0] for region in loop.regions)
    passed = list(terminator(before).operands)[1:]
    return [
        next((a for p, a in zip(passed, after.arguments, strict=True) if p == argument), None)
        for argument in before.arguments
    ]


def _copy(value: ir.Value) -> ir.Value:
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    return ir.Operation.create(
        "bufferization.alloc_tensor",
        results=[value.type],
        operands=[value],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1, 0])},
    ).result
