# SPDX-License-Identifier: MIT OR Apache-2.0
"""`outline-kernels`: gives every `xyntra.fused` region a function; equal regions share one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import Kernel
from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import captured, is_source
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
        self.texts: dict[str, str] = {}
        self.duplicates: list[ir.Operation] = []

    def outline(self, fused: ir.Operation) -> None:
        inputs = _clone_constants(fused)
        kernel = _build_function(fused, inputs, self.ip)
        with fused.location:
            Kernel(ir.StringAttr(fused.attributes["kind"]).value).mark(kernel)
            if "schedule" in fused.attributes:
                kernel.attributes["xyntra.schedule"] = fused.attributes["schedule"]
            name = self._name(kernel, ir.StringAttr(fused.attributes["kind"]).value)
            call = ir.Operation.create(
                "func.call",
                results=[result.type for result in fused.results],
                operands=inputs,
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
                loc=fused.location,
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
        text = kernel.get_asm(use_local_scope=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        length = 8
        name = f"{kind}_{digest[:length]}"
        while self.texts.get(name, text) != text:
            length += 4
            name = f"{kind}_{digest[:length]}"
        if name in self.texts:
            self.duplicates.append(kernel)
        else:
            self.texts[name] = text
            kernel.attributes["sym_name"] = ir.StringAttr.get(name)
        return name


def _clone_constants(fused: ir.Operation) -> list[ir.Value]:
    """Bring constants and empty destinations into the region; return what else it captures."""
    block = fused.regions[0].blocks[0]
    while True:
        inside = _results_inside(fused)
        inputs: dict[ir.Value, None] = {}
        sources: dict[ir.Value, ir.Operation] = {}
        for value in captured(fused):
            owner = value.owner
            if isinstance(owner, ir.Block):
                if owner == fused.block:
                    inputs[value] = None
            elif value not in inside:
                if is_source(owner):
                    sources[value] = owner
                else:
                    inputs[value] = None
        if not sources:
            return list(inputs)
        for value, owner in sources.items():
            clone = owner.clone(ip=ir.InsertionPoint.at_block_begin(block))
            _replace_inside(fused, value, clone.results[0])


def _erase_unused_sources(function: ir.Operation) -> None:
    for view in reversed(list(function.regions[0].blocks[0].operations)):
        op = view.operation
        if is_source(op) and not any(len(list(result.uses)) for result in op.results):
            op.erase()


def _results_inside(op: ir.Operation) -> set[ir.Value]:
    found: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                found.update(nested.operation.results)
                found |= _results_inside(nested.operation)
    return found


def _replace_inside(op: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                operands = nested.operation.operands
                for position, value in enumerate(operands):
                    if value == old:
                        operands[position] = new
                _replace_inside(nested.operation, old, new)


def _build_function(
    fused: ir.Operation, inputs: list[ir.Value], ip: ir.InsertionPoint | None
) -> ir.Operation:
    results = [result.type for result in fused.results]
    with fused.location:
        kernel = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(_DRAFT),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(
                    ir.FunctionType.get([value.type for value in inputs], results)
                ),
            },
            regions=1,
            ip=ip,
        )
    types = [value.type for value in inputs]
    block = kernel.regions[0].blocks.append(*types, arg_locs=[fused.location] * len(types))
    for value, argument in zip(inputs, block.arguments, strict=True):
        _replace_inside(fused, value, argument)
    for view in list(fused.regions[0].blocks[0].operations):
        op = view.operation
        if op.name == "xyntra.yield":
            ir.Operation.create(
                "func.return",
                operands=list(op.operands),
                loc=op.location,
                ip=ir.InsertionPoint(block),
            )
        else:
            block.append(op)
    return kernel
