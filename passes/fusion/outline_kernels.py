# SPDX-License-Identifier: MIT OR Apache-2.0
"""`outline-kernels`: gives every `xyntra.fused` region a function; equal regions share one."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import Kernel
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import is_source
from xyntra.passes.fusion.functions import functions
from xyntra.passes.registry import register_pass

_DRAFT = "kernel"
_REPORTED = ("xyntra.cost", "xyntra.boundaries")


@register_pass
@dataclass(frozen=True)
class OutlineKernels:
    """Move every xyntra.fused into a private kernel function and call it.

    A kernel is named by its kind and a hash of its body, so that equal kernels are one function,
    and have one name in every model. The call keeps the location of the region it replaces, and
    what the region was told about its cost and boundaries.
    """

    name: ClassVar[str] = "outline-kernels"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        outliner = _Outliner(module)
        for function in functions(module):
            for view in list(function.regions[0].blocks[0].operations):
                if view.operation.name == "xyntra.fused":
                    outliner.outline(view.operation)
            _erase_unused_sources(function)
        # Not earlier: the bindings may give an operation that is created where an erased one was
        # the wrapper of the erased one.
        for kernel in outliner.duplicates:
            kernel.erase()


class _Outliner:
    def __init__(self, module: ir.Operation) -> None:
        self.module = module
        first = next(functions(module), None)
        self.ip = ir.InsertionPoint(first) if first is not None else None
        self.contents: dict[str, bytes] = {}
        self.duplicates: list[ir.Operation] = []

    def outline(self, fused: ir.Operation) -> None:
        """Replace `fused` with a call of a kernel that does the same."""
        kind = ir.StringAttr(fused.attributes["kind"]).value
        with fused.location:
            kernel = _new_function(self.ip)
            inputs = _move_body(fused, kernel)
            Kernel(kind).mark(kernel)
            if "schedule" in fused.attributes:
                kernel.attributes["xyntra.schedule"] = fused.attributes["schedule"]
            call = ir.Operation.create(
                "func.call",
                results=[result.type for result in fused.results],
                operands=inputs,
                attributes={"callee": ir.FlatSymbolRefAttr.get(self._name(kernel, kind))},
                ip=ir.InsertionPoint(fused),
            )
        for attribute in _REPORTED:
            if attribute in fused.attributes:
                call.attributes[attribute] = fused.attributes[attribute]
        for old, new in zip(list(fused.results), call.results, strict=True):
            old.replace_all_uses_with(new)
        fused.erase()

    def _name(self, kernel: ir.Operation, kind: str) -> str:
        """Name `kernel` by its content; where an equal one exists, it is a duplicate."""
        content = _content(kernel)
        digest = hashlib.sha256(content).hexdigest()
        length = 8
        name = f"{kind}_{digest[:length]}"
        while self.contents.get(name, content) != content:
            length += 4
            name = f"{kind}_{digest[:length]}"
        if name in self.contents:
            self.duplicates.append(kernel)
        else:
            self.contents[name] = content
            kernel.attributes["sym_name"] = ir.StringAttr.get(name)
        return name


def _content(kernel: ir.Operation) -> bytes:
    """What tells kernels apart: everything but the names of the nodes that they come from."""
    located: list[ir.Operation | ir.BlockArgument] = []
    _collect_located(kernel, located)
    locations = [each.location for each in located]
    unknown = ir.Location.unknown(kernel.context)
    _relocate(located, [unknown] * len(located))
    file = io.BytesIO()
    kernel.write_bytecode(file)
    _relocate(located, locations)
    return file.getvalue()


def _collect_located(op: ir.Operation, found: list[ir.Operation | ir.BlockArgument]) -> None:
    found.append(op)
    if not len(op.regions):
        return
    for region in op.regions:
        for block in region.blocks:
            found.extend(block.arguments)
            for view in block.operations:
                _collect_located(view.operation, found)


def _relocate(
    located: Sequence[ir.Operation | ir.BlockArgument], locations: Sequence[ir.Location]
) -> None:
    for each, location in zip(located, locations, strict=True):
        if isinstance(each, ir.BlockArgument):
            each.set_location(location)
        else:
            each.location = location


def _new_function(ip: ir.InsertionPoint | None) -> ir.Operation:
    return ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(_DRAFT),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
        },
        regions=1,
        ip=ip,
    )


def _move_body(fused: ir.Operation, kernel: ir.Operation) -> list[ir.Value]:
    """Move the block of `fused` into `kernel`; returns what becomes the arguments."""
    block = fused.regions[0].blocks[0]
    uses: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
    _collect_captured(block, set(), uses)
    block.append_to(kernel.regions[0])
    start = ir.InsertionPoint.at_block_begin(block)
    inputs = []
    for value, holders in uses.items():
        if not isinstance(value.owner, ir.Block) and is_source(value.owner):
            inner = value.owner.clone(ip=start).results[0]
        else:
            inputs.append(value)
            inner = block.add_argument(value.type, fused.location)
        for holder, position in holders:
            holder.operands[position] = inner
    _return_results(block)
    types = [value.type for value in inputs], [result.type for result in fused.results]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    return inputs


def _collect_captured(
    block: ir.Block, inside: set[ir.Value], uses: dict[ir.Value, list[tuple[ir.Operation, int]]]
) -> None:
    """Find where operations of `block`, and nested ones, use values from outside."""
    inside.update(block.arguments)
    for view in block.operations:
        op = view.operation
        for position, value in enumerate(op.operands):
            if value not in inside:
                uses.setdefault(value, []).append((op, position))
        if len(op.regions):
            for region in op.regions:
                for nested in region.blocks:
                    _collect_captured(nested, inside, uses)
        inside.update(op.results)


def _return_results(block: ir.Block) -> None:
    last = list(block.operations)[-1].operation
    ir.Operation.create(
        "func.return",
        operands=list(last.operands),
        loc=last.location,
        ip=ir.InsertionPoint(last),
    )
    last.erase()


def _erase_unused_sources(function: ir.Operation) -> None:
    for view in reversed(list(function.regions[0].blocks[0].operations)):
        op = view.operation
        if is_source(op) and not any(len(list(result.uses)) for result in op.results):
            op.erase()
