# SPDX-License-Identifier: MIT OR Apache-2.0
"""Combines values in subgroups, of which code does not know how many threads they have."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import as_i32, as_index, barrier, i32, when
from xyntra.passes.math.values import Builder, Float, Int

__all__ = ["SubgroupReduction", "reduce_by_subgroups", "subgroup_reduction"]

_FEWEST = 4  # threads of a subgroup (WebGPU, "subgroupMinSize")
_SIGN = -(1 << 31)
_INFINITY = 0x7F800000


@dataclass(frozen=True)
class SubgroupReduction:
    """How a subgroup combines values.

    Attributes:
        operation: the name of it in the `gpu` dialect.
        nan: None where values are combined as they are. Else they are numbers, of which the largest
            or the smallest is wanted: the key that stands for NaN, which has the last word.
    """

    operation: str
    nan: int | None = None


_SUM = SubgroupReduction("add")
_KINDS = {
    ("arith.addf", "f32"): _SUM,
    ("arith.addi", "i32"): _SUM,
    ("arith.maximumf", "f32"): SubgroupReduction("maxui", nan=-1),
    ("arith.minimumf", "f32"): SubgroupReduction("minui", nan=0),
}


def subgroup_reduction(combiner: Combiner) -> SubgroupReduction | None:
    """Return how subgroups combine values as `combiner` does; None where they cannot."""
    return _KINDS.get((combiner.operation.name, str(combiner.type)))


def reduce_by_subgroups(
    value: ir.Value,
    combiner: Combiner,
    kind: SubgroupReduction,
    threads: int,
    shared: SharedMemory,
) -> ir.Value:
    """Return, in every thread, the combination of `value` over the threads of a block.

    Each subgroup leaves one word in shared memory, and every thread combines these in their order.

    Args:
        value: the thread's own.
        combiner: how two are combined.
        kind: how a subgroup does it.
        threads: of the block.
        shared: where the subgroups' results are put.
    """
    index = ir.IndexType.get()
    own = _of_subgroup(value, kind)
    words = shared.kept(threads // _FEWEST, value.type)
    barrier()  # until all have loaded what was there
    with when(arith.cmpi(arith.CmpIPredicate.eq, as_i32(emit("gpu.lane_id", [], index)), i32(0))):
        place = emit("gpu.subgroup_id", [], index)
        ir.Operation.create("memref.store", operands=[own, words, place])
    barrier()

    def word(place: ir.Value) -> ir.Value:
        return emit("memref.load", [words, as_index(place)], value.type)

    count = as_i32(emit("gpu.num_subgroups", [], index))
    loop = scf.ForOp(i32(1), count, i32(1), [word(i32(0))])
    with ir.InsertionPoint(loop.body):
        (total,) = loop.inner_iter_args
        scf.YieldOp([combiner.combine(total, word(loop.induction_variable))])
    return loop.results[0]


def _of_subgroup(value: ir.Value, kind: SubgroupReduction) -> ir.Value:
    if kind.nan is None:
        return _reduced(value, kind)
    key = _key(value, kind.nan)
    return _number(Int(key.build, _reduced(key.value, kind))).value


def _reduced(value: ir.Value, kind: SubgroupReduction) -> ir.Value:
    operation = ir.Attribute.parse(f"#gpu<all_reduce_op {kind.operation}>")
    return emit("gpu.subgroup_reduce", [value], value.type, op=operation)


def _key(value: ir.Value, nan: int) -> Int:
    """Return an unsigned number that is in the order of numbers."""
    build = Builder(value.type)
    bits = Float(build, value).bits()
    key = bits ^ ((bits >> 31) | _SIGN)
    is_number = (bits & 0x7FFFFFFF) < _INFINITY + 1
    return is_number.select_int(key, nan)


def _number(key: Int) -> Float:
    """Return the number of a key: both keys of NaN are NaN."""
    flipped = (key >> 31) ^ -1
    return (key ^ (flipped | _SIGN)).as_float()
