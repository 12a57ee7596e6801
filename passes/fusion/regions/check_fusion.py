# SPDX-License-Identifier: MIT OR Apache-2.0
"""`check-fusion`: refuses kernels that hold what one kernel cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from xyntra.dialects import KernelFacts, Kind
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.legality.aliasing import check_destinations
from xyntra.passes.fusion.legality.calls import check_calls
from xyntra.passes.fusion.legality.facts import Facts
from xyntra.passes.fusion.legality.inplace import INPLACE, Pairs, check_inplace, inplace_pairs
from xyntra.passes.fusion.legality.kinds import check_kind
from xyntra.passes.fusion.legality.members import Contents, read_block
from xyntra.passes.fusion.legality.resources import check_resources
from xyntra.passes.fusion.legality.violation import IllegalFusion, Violation
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName
from xyntra.passes.targets.target import KernelLimits

__all__ = ["CheckFusion", "violations"]

Found = Iterator[tuple[ir.Operation, Violation]]


@register_pass
@dataclass(frozen=True)
class CheckFusion:
    """Check that every xyntra.fused and every kernel function is legal.

    Checked are whether the operations are those that the kind promises and can share a loop nest,
    side effects, order, destinations and in-place results, and what the target offers to one
    kernel. Each violation is an error at the kernel with notes at the operations at fault; the IR
    stays as it is. Limits that are not given are those of the target.
    """

    name: ClassVar[str] = "check-fusion"

    target: TargetName = DEFAULT
    """Whose limits apply."""
    max_buffers: int | None = None
    """Largest number of tensors that a kernel reads and writes."""
    max_operations: int | None = None
    """Largest number of operations in a kernel."""
    max_row_bytes: int | None = None
    """Largest row, in bytes, that one worker keeps to itself."""
    max_column_bytes: int | None = None
    """Longest column, in bytes, that operations may share; 0 where they share none."""

    def run(self, module: ir.Operation) -> None:
        """Check the functions of `module`.

        Raises:
            IllegalFusion: kernels break rules; all of them are reported.
        """
        checker = _Checker(self._limits())
        found = list(checker.check(module.regions[0].blocks[0]))
        if found:
            raise IllegalFusion.because(found)

    def _limits(self) -> KernelLimits:
        defaults = TARGETS[self.target].limits
        given = {entry.name: getattr(self, entry.name) for entry in fields(KernelLimits)}
        return KernelLimits(
            **{
                name: getattr(defaults, name) if value is None else value
                for name, value in given.items()
            }
        )


def violations(module: ir.Operation, target: TargetName) -> Found:
    """Yield every kernel of `module` that breaks a rule of `target`, with the rule."""
    return _Checker(TARGETS[target].limits).check(module.regions[0].blocks[0])


class _Checker:
    def __init__(self, limits: KernelLimits) -> None:
        self.limits = limits
        self.facts = Facts()

    def check(self, module: ir.Block) -> Found:
        """Check all functions of a module with the body `module`."""
        callers, inplace = [], dict[str, Pairs]()
        for view in module.operations:
            op = view.operation
            kernel = KernelFacts.of(op) if op.name == "func.func" else None
            if kernel is None:
                callers.append(op)
            elif len(op.regions[0].blocks):
                yield from self._kernel(op, kernel.kind)
                if INPLACE in op.attributes:
                    name = ir.StringAttr(op.attributes["sym_name"]).value
                    inplace[name] = inplace_pairs(op) or []
        for op in callers:
            yield from self._blocks_of(op, inplace)

    def _blocks_of(self, op: ir.Operation, inplace: dict[str, Pairs]) -> Found:
        for region in op.regions:
            for block in region.blocks:
                yield from self._block(block, inplace)
                if inplace:
                    yield from check_calls(block, inplace)

    def _block(self, block: ir.Block, inplace: dict[str, Pairs]) -> Found:
        defined: set[ir.Value] = set()
        for view in block.operations:
            op = view.operation
            if op.name == "xyntra.fused":
                yield from self._fused(op, block, defined)
            elif op.name != "linalg.generic" and len(op.regions):
                yield from self._blocks_of(op, inplace)
            defined.update(op.results)

    def _fused(self, op: ir.Operation, block: ir.Block, defined: set[ir.Value]) -> Found:
        body = op.regions[0].blocks[0]
        contents = read_block(body, self.facts)
        kind: Kind = ir.StringAttr(op.attributes["kind"]).value
        for value in contents.captured:
            if value not in defined and _belongs_to(value, block):
                text = f"reads what '{value.owner.name}' computes only afterwards"
                at_fault = ((value.owner, "computes it"),)
                yield op, Violation("use-before-definition", text, at_fault)
        for violation in self._contents(kind, body, contents):
            yield op, violation

    def _kernel(self, op: ir.Operation, kind: Kind) -> Found:
        blocks = list(op.regions[0].blocks)
        contents = read_block(blocks[0], self.facts)
        contents.captured.update(dict.fromkeys(blocks[0].arguments))
        for violation in self._contents(kind, blocks[0], contents):
            yield op, violation
        if INPLACE in op.attributes and contents.members:
            for violation in check_inplace(kind, op, contents, self.facts):
                yield op, violation

    def _contents(self, kind: Kind, block: ir.Block, contents: Contents) -> Iterator[Violation]:
        if contents.impure:
            at_fault = tuple((op, "is not known to have no side effects") for op in contents.impure)
            yield Violation("side-effect", "a kernel has no side effects", at_fault)
        yield from self._types(contents)
        yield from self._kind(kind, block, contents)
        yield from check_destinations(kind, contents)
        yield from check_resources(contents, self.limits)

    def _kind(self, kind: Kind, block: ir.Block, contents: Contents) -> list[Violation]:
        """Check the kind, with rows in either order where reductions store in another one."""
        found = list(check_kind(kind, contents, self.limits))
        if found and any(member.order for member in contents.members):
            stored = read_block(block, self.facts, rows_of_loops=False)
            if not any(True for _ in check_kind(kind, stored, self.limits)):
                return []
        return found

    def _types(self, contents: Contents) -> Iterator[Violation]:
        for role, values in (
            ("reads", contents.captured),
            ("gives", [value for value, _ in contents.ends]),
        ):
            for value in values:
                if self.facts.tensor(value.type) is None:
                    text = f"a kernel reads and gives tensors of static shape; this one {role} "
                    yield Violation("not-a-buffer", text + str(value.type))


def _belongs_to(value: ir.Value, block: ir.Block) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.operation.block == block
