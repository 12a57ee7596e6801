# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reduces exported programs to core ATen, one operator at a time and each use of one only once.

`ExportedProgram.run_decompositions` traces the whole program twice more. Where nothing in a program
is written to but values that it has just made, operators can be decomposed one by one, and layers
that repeat share what was traced for the first of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.utils import _pytree as pytree

from xyntra.frontends.torch.reducing.traces import TooHardError, inline_operator

__all__ = ["ReducedProgram", "reduce_program"]

_Node: TypeAlias = torch.fx.Node
_CHECKS = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size")
_COPIES = ("detach_", "lift_fresh_copy")
"""Operators that give what they are given, where nothing is written to."""
_KEPT_META = ("nn_module_stack", "custom")
_COMPOSITE_OWN = frozenset(
    """
    adaptive_avg_pool2d batch_norm conv1d conv2d conv3d group_norm instance_norm layer_norm linear
    matmul max_pool1d max_pool2d max_pool3d softmax
    """.split()
)
"""Composite operators that never return a view; others may, and their schemas do not say so."""


@dataclass(frozen=True)
class ReducedProgram:
    """What `describe` reads of an exported program.

    Attributes:
        graph: of core ATen operators, without in-place ones.
        input_specs: of the program's signature.
        output_specs: of the program's signature.
        state_dict: parameters and buffers by name.
        constants: tensors by name.
        range_constraints: the ranges of sizes that are free.
    """

    graph: torch.fx.Graph
    input_specs: list[Any]
    output_specs: list[OutputSpec]
    state_dict: Mapping[str, Any]
    constants: Mapping[str, Any]
    range_constraints: Mapping[Any, Any]


def reduce_program(
    program: torch.export.ExportedProgram,
    table: Mapping[Any, Callable[..., Any]],
    kept: frozenset[Any],
) -> ReducedProgram | None:
    """Return a program in terms of core ATen; None where it takes PyTorch's own decomposition.

    That is where values are written to that others may share, where sizes are not static, and where
    there is control flow.

    Args:
        program: as exported, with in-place operators and composite ones.
        table: decompositions by operator.
        kept: operators that stay as they are.
    """
    specs = program.graph_signature.output_specs
    if any(spec.kind != OutputKind.USER_OUTPUT for spec in specs):
        return None
    try:
        return _Reducer(program, table, kept).run()
    except TooHardError:
        return None


class _Reducer:
    def __init__(
        self,
        program: torch.export.ExportedProgram,
        table: Mapping[Any, Callable[..., Any]],
        kept: frozenset[Any],
    ) -> None:
        self.program, self.table, self.kept = program, table, kept
        self.graph = torch.fx.Graph()
        self.values: dict[_Node, Any] = {}
        self.owners: dict[_Node, _Node] = {}  # of the memory that in-place operators return
        self.shared: set[_Node] = set()

    def run(self) -> ReducedProgram:
        named = {}
        for node in self.program.graph.nodes:
            named[node.name] = node
            if node.op == "placeholder":
                self.values[node] = self._copied(node)
                self.values[node].name = node.name  # which torch.fx changes where Python knows it
            elif node.op == "call_function":
                self._call(node)
            elif node.op != "output":  # attributes are submodules of control flow
                raise TooHardError
        specs = []
        results = []
        for spec in self.program.graph_signature.output_specs:
            if isinstance(spec.arg, TensorArgument):
                results.append(self._value(named[spec.arg.name]))
                spec = OutputSpec(spec.kind, TensorArgument(results[-1].name), spec.target)
            specs.append(spec)
        self.graph.output(tuple(results))
        self.graph.eliminate_dead_code()
        inputs = self.program.graph_signature.input_specs
        program = self.program
        held = program.state_dict, program.constants, program.range_constraints
        return ReducedProgram(self.graph, inputs, specs, *held)

    def _value(self, node: _Node) -> Any:
        return self.values[self.owners.get(node, node)]

    def _call(self, node: _Node) -> None:
        op = node.target
        if op is operator.getitem:
            source: Any = self._value(node.all_input_nodes[0])
            one = isinstance(source, torch.fx.Node)
            self.values[node] = self._copied(node) if one else source[node.args[1]]
            return
        if not isinstance(op, torch._ops.OpOverload) or not _is_static(node):
            raise TooHardError
        if op._opname in _CHECKS:
            return
        if op._opname in _COPIES:
            self.values[node] = self._value(node.all_input_nodes[0])
        elif op._schema.is_mutable:
            owner, functional = self._functional(node, op)
            self.values[owner] = self._reduced(node, functional)
            self.owners[node] = owner
        else:
            self.values[node] = self._reduced(node, op)
        if not op._schema.is_mutable and not _makes_memory(op):
            self.shared |= {self.owners.get(each, each) for each in node.all_input_nodes}

    def _functional(
        self, node: _Node, op: torch._ops.OpOverload
    ) -> tuple[_Node, torch._ops.OpOverload]:
        """Return whose memory an in-place operator writes to, and what computes the new value.

        Nobody else may know that memory: no view of it, and no caller.
        """
        packet = getattr(torch.ops.aten, op._opname.removesuffix("_"), None)
        found = getattr(packet, op._overloadname, None)
        changed = [each for each in op._schema.arguments if _is_written(each)]
        if op.namespace != "aten" or found is None or changed != op._schema.arguments[:1]:
            raise TooHardError
        written = node.all_input_nodes[0]
        owner = self.owners.get(written, written)
        before, after = written.meta["val"], node.meta["val"]
        maker = owner.all_input_nodes[0] if owner.target is operator.getitem else owner
        own = isinstance(maker.target, torch._ops.OpOverload) and _makes_memory(maker.target)
        same = isinstance(after, torch.Tensor) and before.dtype == after.dtype
        if not own or owner in self.shared or not same or before.shape != after.shape:
            raise TooHardError
        return owner, found

    def _reduced(self, node: _Node, op: torch._ops.OpOverload) -> Any:
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self._value)
        if op in self.kept or not (op in self.table or op._can_decompose()):
            made = self.graph.create_node("call_function", op, args, kwargs, node.name)
            made.meta = {"val": node.meta["val"], **_notes(node)}
            return made
        return inline_operator(self.graph, op, (args, kwargs), self.table, _notes(node))

    def _copied(self, node: _Node) -> _Node:
        made = self.graph.node_copy(node, self._value)
        made.meta = dict(node.meta)
        return made


def _is_static(node: _Node) -> bool:
    """Tell whether the results of a node are tensors of static sizes."""
    values = pytree.tree_leaves(node.meta.get("val"))
    return all(
        each is None
        or (
            isinstance(each, torch.Tensor)
            and each.layout == torch.strided
            and all(type(size) is int for size in (*each.shape, *each.stride()))
        )
        for each in values
    )


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _makes_memory(op: torch._ops.OpOverload) -> bool:
    """Tell whether the results of an operator never share memory with its arguments."""
    if any(each.alias_info is not None for each in op._schema.returns):
        return False
    return op._opname in _COMPOSITE_OWN or not op._can_decompose()


def _notes(node: _Node) -> dict[str, Any]:
    return {key: node.meta[key] for key in _KEPT_META if key in node.meta}
