# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records on a region what it costs, and why it does not hold what it reads."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.cost.work import predict
from xyntra.passes.fusion.partition.group import Group
from xyntra.passes.fusion.partition.groups import Rules
from xyntra.passes.fusion.partition.partitions import Partition
from xyntra.passes.fusion.partition.reasons import Reason

__all__ = ["boundaries_of", "cost_of", "mark_unfused", "node_name"]

_MAX_BOUNDARIES = 64


def cost_of(group: Group, rules: Rules, context: ir.Context) -> ir.Attribute:
    """`{bytes, flops, nanoseconds, bound}` of one launch, as predicted."""
    found = predict(group.nbytes, group.matrix_flops, group.scalar_ops, rules.machine)
    return ir.DictAttr.get(
        {
            "bytes": _integer(group.nbytes, context),
            "flops": _integer(group.matrix_flops + group.scalar_ops, context),
            "nanoseconds": _float(found.nanoseconds, context),
            "bound": ir.StringAttr.get(found.bound, context),
        },
        context,
    )


def mark_unfused(module: ir.Operation, rules: Rules) -> None:
    """Record what the module would cost with one kernel for each operation."""
    alone = rules.chains.alone
    context = module.context
    module.attributes["xyntra.unfused"] = ir.DictAttr.get(
        {
            "kernels": _integer(len(alone), context),
            "bytes": _integer(sum([nbytes for nbytes, _ in alone]), context),
            "nanoseconds": _float(sum([time for _, time in alone]), context),
        },
        context,
    )


def boundaries_of(root: int, partition: Partition) -> ir.Attribute:
    """For every tensor that the group `root` reads from another group, why they are apart."""
    graph = partition.rules.graph
    group = partition.group(root)
    context = graph.nodes[root].op.context
    members = reversed(group.members)
    readers = {read.tensor: index for index in members for read in graph.nodes[index].reads}
    found: list[ir.Attribute] = []
    for tensor, outside in group.reads.items():
        producer = graph.producer[outside.origin]
        if producer is None or len(found) == _MAX_BOUNDARIES:
            continue
        reason, slower = _why_apart(partition, partition.find(producer), root)
        nbytes = graph.nbytes[tensor]
        round_trip = 2 * nbytes / partition.rules.machine.bytes_per_ns
        reader = readers[tensor]
        entries: dict[str, ir.Attribute] = {
            "source": node_name(graph.nodes[producer].op, context),
            "target": node_name(graph.nodes[reader].op, context),
            "reason": ir.StringAttr.get(reason, context),
            "bytes": _integer(nbytes, context),
            "nanoseconds": _float(round_trip, context),
        }
        if slower is not None:
            entries["slower"] = _float(slower, context)
        found.append(ir.DictAttr.get(entries, context))
    return ir.ArrayAttr.get(found, context)


def _why_apart(partition: Partition, producer: int, reader: int) -> tuple[Reason, float | None]:
    """Return why two groups are apart, and how much slower they would be as one if that is why."""
    union = partition.union_of_groups(producer, reader)
    if isinstance(union, str):
        return union, None
    apart = partition.group(producer).nanoseconds + partition.group(reader).nanoseconds
    return "not-faster", max(union[0].nanoseconds - apart, 0.0)


def node_name(op: ir.Operation, context: ir.Context) -> ir.Attribute:
    """The first name in the location of `op`; that of the operation without one."""
    location = op.location
    while isinstance(location, ir.FusedLoc) and location.locations:
        location = location.locations[0]
    name = location.name_str if isinstance(location, ir.NameLoc) else op.name
    return ir.StringAttr.get(name, context)


def _integer(value: int, context: ir.Context) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), value)


def _float(value: float, context: ir.Context) -> ir.Attribute:
    # A tenth of a nanosecond is far below what a model of the machine can tell.
    return ir.FloatAttr.get(ir.F64Type.get(context), round(value, 1), ir.Location.unknown(context))
