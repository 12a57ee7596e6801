# SPDX-License-Identifier: MIT OR Apache-2.0
"""`outline-kernels`: gives every `xyntra.fused` region a function; equal regions share one."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.fusion.graph.block_graph import is_source
from xyntra.passes.fusion.graph.captures import Captures, Use
from xyntra.passes.fusion.weights.known_at_load import KnownAtLoad
from xyntra.passes.registry import register_pass

from torch_mlir.passmanager import PassManager  # isort: skip  (after our way to import MLIR)

_DRAFT = "kernel"
_REPORTED = ("xyntra.cost", "xyntra.boundaries")
_ANCHORED = frozenset({"contraction", "conv", "attention", "generic"})


@register_pass
@dataclass(frozen=True)
class OutlineKernels:
    """Move every xyntra.fused into a private kernel function and call it.

    A kernel is named by its kind and a hash of its body, so that equal kernels are one function,
    and have one name in every model. The call keeps the location of the region it replaces, and
    what the region was told about its cost and boundaries.

    Arguments that are weights, or computed from weights alone, carry `xyntra.constant` in kernels
    with an anchor: their target may bring them into another order once, when the model is loaded.
    """

    name: ClassVar[str] = "outline-kernels"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        drafts: list[_Draft] = []
        for function in functions(module):
            drafts += _outline(function, ir.InsertionPoint(function))
            _erase_unused_sources(function)
        if drafts:
            _name(drafts, module.context)


@dataclass(frozen=True)
class _Draft:
    """A kernel function that has no name yet, and the one call of it."""

    kernel: ir.Operation
    kind: str
    call: ir.Operation


def _outline(function: ir.Operation, ip: ir.InsertionPoint) -> list[_Draft]:
    """Replace every region in `function` with a call of a function of its own, made at `ip`."""
    block = function.regions[0].blocks[0]
    captures = Captures(function)
    captures.follow(block.arguments)
    weights = KnownAtLoad.of(function)
    drafts = []
    for view in list(block.operations):
        op = view.operation
        if op.name == "xyntra.fused":
            drafts.append(_draft(op, ip, captures.of(op)))
            op.erase()
            op = drafts[-1].call
            if drafts[-1].kind in _ANCHORED:
                weights.mark(drafts[-1].kernel, list(op.operands), list(op.results))
        weights.follow(op)
        captures.follow(op.results)
    return drafts


def _draft(fused: ir.Operation, ip: ir.InsertionPoint, captured: Sequence[Use]) -> _Draft:
    """Give `fused`, which reads what is `captured`, a function; nothing uses it any more."""
    kind = ir.StringAttr(fused.attributes["kind"]).value
    results = list(fused.results)
    with fused.location:
        kernel = _new_function(ip)
        inputs = _move_body(fused, kernel, captured)
        KernelFacts(kind).mark(kernel)
        call = ir.Operation.create(
            "func.call",
            results=[result.type for result in results],
            operands=inputs,
            attributes={"callee": ir.FlatSymbolRefAttr.get(_DRAFT)},
            ip=ir.InsertionPoint(fused),
        )
    for attribute in _REPORTED:
        if attribute in fused.attributes:
            call.attributes[attribute] = fused.attributes[attribute]
    for old, new in zip(results, call.results, strict=True):
        old.replace_all_uses_with(new)
    return _Draft(kernel, kind, call)


def _name(drafts: Sequence[_Draft], context: ir.Context) -> None:
    """Name kernels by kind and content; of equal ones, all calls get the first."""
    named: dict[str, bytes] = {}
    duplicates = []
    for draft, content in zip(drafts, _contents(drafts, context), strict=True):
        name = _unique_name(draft.kind, content, named)
        if name in named:
            duplicates.append(draft.kernel)
        else:
            named[name] = content
            draft.kernel.attributes["sym_name"] = ir.StringAttr.get(name, context)
        draft.call.attributes["callee"] = ir.FlatSymbolRefAttr.get(name, context)
    # Not earlier: the bindings may give an operation that is created where an erased one was the
    # wrapper of the erased one.
    for kernel in duplicates:
        kernel.erase()


def _unique_name(kind: str, content: bytes, named: Mapping[str, bytes]) -> str:
    """The name for `content`, longer where the usual one names something else."""
    digest = hashlib.sha256(content).hexdigest()
    length = 8
    name = f"{kind}_{digest[:length]}"
    while named.get(name, content) != content:
        length += 4
        name = f"{kind}_{digest[:length]}"
    return name


def _contents(drafts: Sequence[_Draft], context: ir.Context) -> Iterator[bytes]:
    """What tells kernels apart: everything but the names of the nodes that they come from."""
    copies = ir.Module.create(ir.Location.unknown(context))
    end = ir.InsertionPoint(copies.body)
    for draft in drafts:
        draft.kernel.clone(ip=end)
    strip = PassManager.parse("builtin.module(strip-debuginfo)", context)
    strip.enable_verifier(False)
    strip.run(copies.operation)
    for view in copies.body.operations:
        file = io.BytesIO()
        view.operation.write_bytecode(file)
        yield file.getvalue()


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


def _move_body(
    fused: ir.Operation, kernel: ir.Operation, captured: Sequence[Use]
) -> list[ir.Value]:
    """Move the block of `fused` into `kernel`; returns what becomes the arguments."""
    block = fused.regions[0].blocks[0]
    block.append_to(kernel.regions[0])
    start = ir.InsertionPoint.at_block_begin(block)
    inputs: list[ir.Value] = []
    inside: dict[ir.Value, ir.Value] = {}
    for use in captured:
        value = use.value
        inner = inside.get(value)
        if inner is None:
            if not isinstance(value.owner, ir.Block) and is_source(value.owner):
                inner = value.owner.clone(ip=start).results[0]
            else:
                inputs.append(value)
                inner = block.add_argument(value.type, fused.location)
            inside[value] = inner
        use.holder.operands[use.position] = inner
    _return_results(block)
    types = [value.type for value in inputs], [result.type for result in fused.results]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    return inputs


def _return_results(block: ir.Block) -> None:
    last = block.operations[len(block.operations) - 1].operation
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
