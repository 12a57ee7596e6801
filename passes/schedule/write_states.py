# SPDX-License-Identifier: MIT OR Apache-2.0
"""`write-states`: lets results that are aliases of inputs be written where these lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from xyntra.dialects.aliases import (
    COPIED,
    aliases_of,
    donated_results,
    set_apart,
    set_result_texts,
)
from xyntra.dialects.attributes.kernel import KernelFacts
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.kernel_function import inplace_pairs
from xyntra.passes.analysis.states import states_of, updated_by_loops
from xyntra.passes.analysis.views import origin_of, readers_of
from xyntra.passes.registry import register_pass
from xyntra.passes.schedule.inplace_variants import Variants, callee_of, kernels_of
from xyntra.passes.schedule.pointwise_pairs import Pairs, PointwisePairs


@register_pass
@dataclass(frozen=True)
class WriteStates:
    """Decide how each result with `xyntra.alias` comes to lie where its input does.

    The kernel that computes it writes there, if it does not read the input, or reads no element of
    it after writing it: an elementwise kernel, or loops that update a tensor. That kernel then has
    the attribute `xyntra.inplace`, and stands behind all others that read the input. Where no such
    order exists, or the kernel reads the input in another way, the result is computed elsewhere and
    copied at the end; the attribute `xyntra.copied` of the result says why. A result with
    `xyntra.donated` is an alias in the first case; in the second it has memory of its own, and
    `xyntra.apart` says why.
    """

    name: ClassVar[str] = "write-states"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module` that has such results."""
        kernels = kernels_of(module)
        others = kernels_of(module, overwriting=True)
        variants = Variants(kernels)
        called: set[str] = set()
        for function in functions(module):
            if KernelFacts.of(function) is None and states_of(function):
                _States(function, kernels, others, variants).decide()
            called |= {callee_of(op) for op in _operations(function) if op.name == "func.call"}
        variants.erase_unused(called)


def _operations(function: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in function.regions[0].blocks[0].operations]


@dataclass
class _States:
    """The aliases of one function.

    Attributes:
        function: it.
        kernels: those that it calls, by name.
        overwriting: those among them that overwrite an argument already.
        variants: of kernels that write in place.
        settled: calls that write an input, with the input.
        chosen: kernels and pairs of calls that also read it.
        places: of operations in order; empty where that has changed.
        possible: pairs that may share a buffer, by kernel.
    """

    function: ir.Operation
    kernels: Mapping[str, ir.Operation]
    overwriting: Mapping[str, ir.Operation]
    variants: Variants
    settled: list[tuple[ir.Operation, ir.Value]] = field(default_factory=list)
    chosen: dict[ir.Operation, tuple[str, Pairs]] = field(default_factory=dict)
    places: dict[ir.Operation, int] = field(default_factory=dict)
    possible: dict[str, frozenset[tuple[int, int]]] = field(default_factory=dict)

    def decide(self) -> None:
        """Settle every alias, in the order of the results."""
        block = self.function.regions[0].blocks[0]
        returning, copied = _operations(self.function)[-1], dict[int, str]()
        donated, apart = donated_results(self.function), dict[int, str]()
        for alias in aliases_of(self.function):
            value, state = returning.operands[alias.result], block.arguments[alias.argument]
            reason = self._write_in_place(origin_of(value), state)
            if reason and alias.result in donated:
                apart[alias.result] = reason
            elif reason:
                returning.operands[alias.result] = self._copy(value, returning)
                copied[alias.result] = reason
        set_result_texts(self.function, COPIED, copied)
        if donated:
            set_apart(self.function, apart)

    def _write_in_place(self, value: ir.Value, state: ir.Value) -> str:
        """Let what computes `value` write it where `state` lies; returns why not, or ""."""
        if isinstance(value.owner, ir.Block) or value.owner.name != "func.call":
            return "no kernel computes it"
        call = value.owner.operation
        name, before = self.chosen.get(call, (callee_of(call), ()))
        kernel = self.kernels.get(name)
        given = [number for number, each in enumerate(call.operands) if origin_of(each) == state]
        result = list(call.results).index(value)
        if kernel is None:
            there = inplace_pairs(self.overwriting[name]).get(result)
            is_there = given == ([] if there is None else [there])
            return "" if is_there else "the kernel that computes it overwrites another buffer"
        if len(given) > 1:
            return "the kernel that computes it reads the input twice"
        pairs = tuple((result, argument) for argument in given)
        if not set(pairs) <= self._possible(name, kernel):
            return "the kernel that computes it reads elements that it has overwritten"
        if not self._stands_last(call, state):
            return "its old value is read after that"
        self.settled.append((call, state))
        if pairs:
            self.chosen[call] = name, tuple(sorted({*before, *pairs}))
            self.variants.use(call, *self.chosen[call])
        return ""

    def _possible(self, name: str, kernel: ir.Operation) -> frozenset[tuple[int, int]]:
        """Return the pairs (result, argument) of a kernel that may share a buffer."""
        if name not in self.possible:
            found = (*PointwisePairs().of(kernel), *_updated_pairs(kernel))
            self.possible[name] = frozenset(found)
        return self.possible[name]

    def _stands_last(self, call: ir.Operation, state: ir.Value) -> bool:
        """Tell whether a call comes behind all others that read `state`, which are moved for it."""
        places = self._placed()
        late = [op for op in readers_of(state) if places[op] > places[call]]
        if not late:
            return True
        order = list(places)
        moved = _needed(late, set(order[places[call] :]))
        if call in moved or order[-1] in moved:
            return False
        for op in sorted(moved, key=places.__getitem__):
            op.move_before(call)
        self.places.clear()
        after = self._placed()
        if all(
            after[op] <= after[call] for call, state in self.settled for op in readers_of(state)
        ):
            return True
        self.places.clear()
        for before, op in pairwise(order):
            op.move_after(before)
        return False

    def _placed(self) -> dict[ir.Operation, int]:
        """Return the operations in order, with their places: one look for many aliases."""
        if not self.places:
            self.places.update({op: n for n, op in enumerate(_operations(self.function))})
        return self.places

    def _copy(self, value: ir.Value, returning: ir.Operation) -> ir.Value:
        """Return what a new kernel, called at the end, copies `value` to."""
        self.places.clear()
        kernel = _copy_kernel(self.function, ir.RankedTensorType(value.type))
        with returning.location:
            return ir.Operation.create(
                "func.call",
                results=[value.type],
                operands=[value],
                attributes={"callee": ir.FlatSymbolRefAttr.get(kernel)},
                ip=ir.InsertionPoint(returning),
            ).result


def _needed(readers: list[ir.Operation], among: set[ir.Operation]) -> set[ir.Operation]:
    """The operations, `among` some, without which `readers` cannot be computed; they as well."""
    found: set[ir.Operation] = set()
    waiting = list(readers)
    while waiting:
        op = waiting.pop()
        if op in found or op not in among:
            continue
        found.add(op)
        owners = [value.owner for value in op.operands]
        waiting += [owner.operation for owner in owners if not isinstance(owner, ir.Block)]
    return found


def _updated_pairs(kernel: ir.Operation) -> Pairs:
    """Pairs (result, argument) where loops update what the argument holds, and nothing else."""
    block = kernel.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operands)
    starts = map(updated_by_loops, returned)
    return tuple(
        (result, start.arg_number) for result, start in enumerate(starts) if start is not None
    )


def _copy_kernel(function: ir.Operation, type_: ir.RankedTensorType) -> str:
    """Return the name of a kernel that copies a tensor, which is made where there is none."""
    element = default_dtype(type_.element_type)
    name = "_".join(["state_copy", element, *map(str, type_.shape)])
    block = function.parent.regions[0].blocks[0]
    for view in block.operations:
        if ir.StringAttr(view.operation.attributes["sym_name"]).value == name:
            return name
    with function.location:
        kernel = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_], [type_])),
            },
            regions=1,
            ip=ir.InsertionPoint(function),
        )
        KernelFacts("elementwise").mark(kernel)
        body = kernel.regions[0].blocks.append(type_, arg_locs=[function.location])
        builder = TensorBuilder(ir.InsertionPoint(body), function.location)
        source = Tensor(body.arguments[0], element)
        copied = builder.view(source, list(type_.shape), lambda *place: list(place))
        builder.emit("func.return", [copied.value], [])
    return name
