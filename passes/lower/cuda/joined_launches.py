# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins small launches that follow one another to one launch of a cluster, step by step.

The steps of a recurrent layer, or of any loop that was unrolled, are launches of a few warps, each
of which waits for the one ahead. One cluster does them all: its blocks take the places of the
blocks of every launch, and meet at a barrier of the cluster in between, which orders what they
write and read in memory, too. All blocks of a cluster run at once, so that none waits for one that
has no place.

A thread of one step has the place of a thread of all others. So what it loads of weights at each
step may stay in its registers, if nothing but the barriers is in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from torch_mlir.dialects import arith, gpu, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.loop_bounds import constant_trips
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.ptx.assembly import ASSEMBLY
from xyntra.passes.lower.cuda.ptx.clusters import barrier_cluster
from xyntra.passes.lower.cuda.ptx.launches import is_griddepcontrol_launch_dependents
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.loops.loop_builder import index

__all__ = ["join_launches"]

_BLOCKS = 8  # of a cluster, which every GPU that has clusters takes
_LAUNCH_NS = 1900.0
"""From one launch of a chain to the next: 1.5 to 2.3 us of 20 steps of seven layers on an H100."""
_BARRIER_NS = 1150.0
"""Writing to the second cache, a barrier of the cluster, and reading there what others wrote.

By these numbers chains of the seven layers take 0.84 and 0.77 of the time of launches where 0.91
and 0.81 was measured (LSTM and GRU of 64), and 0.89 to 1.3 where it was 0.97 to 1.23.
"""
_CLUSTER_NS = 500.0  # that a launch of clusters takes longer to begin
_BYTES_NS = 64.0  # that a multiprocessor loads from its caches
_LANES_NS = 128 * 1.7  # instructions of threads that a multiprocessor issues
_MARGIN = 0.86  # of the time of launches: what the numbers above may be wrong by
_MOST_STEPS = 128
"""Launches in one: what the assembler has to see at once."""
_PLAIN = ("arith.", "math.", "scf.", "vector.", "affine.", "ub.")
_OTHERS = MEMREF_VIEWS | {
    "gpu.block_id",
    "gpu.shuffle",
    "gpu.thread_id",
    "memref.get_global",
    "memref.load",
    "memref.store",
    "xyntra.yield",
}
_LOADS = ("memref.load", "vector.load")


@dataclass(frozen=True)
class _Step:
    """A launch that a cluster may do.

    Attributes:
        stage: the operation around its code.
        shape: the launch.
        work: what a thread does.
    """

    stage: ir.Operation
    shape: CudaLaunch
    work: _Work

    @property
    def threads(self) -> int:
        """Threads of the launch."""
        return self.shape.grid * self.shape.block

    def nanoseconds(self, multiprocessors: int) -> float:
        """Return what so many multiprocessors take at least for the code of all threads."""
        loads = self.threads * self.work.bytes / _BYTES_NS
        return max(loads, self.threads * self.work.instructions / _LANES_NS) / multiprocessors

    def gains(self, device: GpuDevice) -> bool:
        """Tell whether the step is faster behind a barrier, on the blocks of a cluster."""
        return _BARRIER_NS + self.nanoseconds(_BLOCKS) < _LAUNCH_NS + self.apart(device)

    def apart(self, device: GpuDevice) -> float:
        """Return nanoseconds of the code on the multiprocessors that the launch has by itself."""
        return self.nanoseconds(min(self.shape.grid, device.multiprocessors))


@dataclass(frozen=True)
class _Work:
    """What a thread loads, in bytes, and how many instructions it executes, roughly."""

    bytes: float = 0.0
    instructions: float = 0.0

    def __add__(self, other: _Work) -> _Work:
        return _Work(self.bytes + other.bytes, self.instructions + other.instructions)

    def __mul__(self, count: int) -> _Work:
        return _Work(self.bytes * count, self.instructions * count)


def join_launches(
    stages: Sequence[ir.Operation], shapes: Sequence[CudaLaunch | None], device: GpuDevice
) -> list[CudaLaunch | None]:
    """Move the code of small launches into the last one of each chain of them.

    Args:
        stages: hold nothing but their code.
        shapes: of their launches; None for what is not launched.
        device: that the code is for.

    Returns:
        The launches; None for those whose code is in a later one.
    """
    found = list(shapes)
    if not device.has(Feature.CLUSTERS):
        return found
    for chain in _chains(stages, shapes, device):
        last = chain[-1]
        joined = _joined([step for _, step in chain])
        for number, _ in chain[:-1]:
            found[number] = None
        found[last[0]] = joined
    return found


def _chains(
    stages: Sequence[ir.Operation], shapes: Sequence[CudaLaunch | None], device: GpuDevice
) -> Iterator[list[tuple[int, _Step]]]:
    """Return launches that follow one another and are all faster as steps, with their numbers."""
    chain: list[tuple[int, _Step]] = []
    for number, (stage, shape) in enumerate(zip(stages, shapes, strict=True)):
        if shape is None:
            continue
        step = _step(stage, shape, device)
        if step is None or len(chain) == _MOST_STEPS or not _fits(chain, step, device):
            if _pays([each for _, each in chain], device):
                yield chain
            chain = []
        if step is not None:
            chain.append((number, step))
    if _pays([each for _, each in chain], device):
        yield chain


def _pays(steps: Sequence[_Step], device: GpuDevice) -> bool:
    """Tell whether steps surely take less time than launches."""
    apart = sum(_LAUNCH_NS + step.apart(device) for step in steps)
    barriers = _BARRIER_NS * (len(steps) - 1)
    together = sum(step.nanoseconds(_BLOCKS) for step in steps)
    return _LAUNCH_NS + _CLUSTER_NS + barriers + together < _MARGIN * apart


def _fits(chain: Sequence[tuple[int, _Step]], step: _Step, device: GpuDevice) -> bool:
    """Tell whether a block may be as large as the steps of a chain and another one ask."""
    block = _block([*(each for _, each in chain), step])
    return block <= device.block_threads and all(
        block % each.shape.block == 0 for each in (*(known for _, known in chain), step)
    )


def _block(steps: Sequence[_Step]) -> int:
    """Return threads of a block: the largest step is done at once where there may be so many."""
    largest = max(step.shape.block for step in steps)
    wanted = max(-(-step.threads // _BLOCKS) for step in steps)
    return min(-(-wanted // largest) * largest, max(1024 // largest * largest, largest))


def _step(stage: ir.Operation, shape: CudaLaunch, device: GpuDevice) -> _Step | None:
    """Return the launch as a step, if a cluster may do it and gains by that."""
    if shape.cluster > 1 or shape.shared or shape.maps or not shape.programmatic:
        return None
    if shape.block % device.subgroup or not all(map(_is_plain, nested_operations(stage))):
        return None
    step = _Step(stage, shape, _work(stage.regions[0].blocks[0]))
    return step if step.gains(device) else None


def _is_plain(op: ir.Operation) -> bool:
    """Tell whether threads, or their warp alone, do an operation, as often as code says."""
    if op.name in ("gpu.block_id", "gpu.thread_id"):
        return "dim x" in str(op.attributes["dimension"])
    if op.name == "scf.while" or (op.name == "scf.for" and constant_trips(op) is None):
        return False  # nobody knows how much there is to do
    plain = op.name.startswith(_PLAIN) or op.name in _OTHERS
    return plain or (op.name == ASSEMBLY and is_griddepcontrol_launch_dependents(op))


def _work(block: ir.Block) -> _Work:
    """Return what a thread does in a block of code; of two branches it is taken to do both."""
    total = _Work()
    for view in block.operations:
        op = view.operation
        inner = _Work()
        for region in op.regions:
            for each in region.blocks:
                inner += _work(each)
        if op.name == "scf.for":
            inner *= constant_trips(op) or 0
        total += inner + _own_work(op)
    return total


def _own_work(op: ir.Operation) -> _Work:
    if op.name in MEMREF_VIEWS or op.name in ("arith.constant", "scf.yield") or not op.results:
        return _Work()
    kind = op.results[0].type
    count, element = 1, kind
    if isinstance(kind, ir.VectorType):
        count, element = prod(kind.shape), kind.element_type
    if op.name in _LOADS:
        return _Work(count * max(_width(element) // 8, 1), 1)
    return _Work(instructions=count)


def _width(kind: ir.Type) -> int:
    return int(kind.width) if isinstance(kind, ir.IntegerType | ir.FloatType) else 64


def _joined(steps: Sequence[_Step]) -> CudaLaunch:
    """Move the code of all steps into the stage of the last one; returns its launch."""
    block = _block(steps)
    codes = [
        [view.operation for view in step.stage.regions[0].blocks[0].operations] for step in steps
    ]
    ending = codes[-1][-1]
    for number, (step, code) in enumerate(zip(steps, codes, strict=True)):
        own = code[:-1] if step is steps[-1] else _without_release(code[:-1])
        with step.stage.location, ir.InsertionPoint(ending):
            if number:
                barrier_cluster()
            _place(step, own, block, ending)
    words = ", ".join(dict.fromkeys(step.shape.schedule for step in steps))
    schedule = f"{len(steps)} steps of a cluster: {words}"
    return replace(
        steps[-1].shape, grid=_BLOCKS, block=block, cluster=_BLOCKS, schedule=schedule,
        steps=len(steps),
    )  # fmt: skip


def _without_release(code: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Leave it to the last step to let the launch behind all of them begin."""
    released = [op for op in code if op.name == ASSEMBLY]
    kept = [op for op in code if op.name != ASSEMBLY]
    for op in released:
        op.erase()
    return kept


def _place(step: _Step, code: Sequence[ir.Operation], block: int, ending: ir.Operation) -> None:
    """Move the code of a step before `ending`, for threads that stand for those of its launch."""
    thread = gpu.thread_id(gpu.Dimension.x)
    number = arith.addi(arith.muli(gpu.block_id(gpu.Dimension.x), index(block)), thread)
    at_once = block * _BLOCKS
    if step.threads > at_once:
        loop = scf.ForOp(index(0), index(step.threads), index(at_once))
        with ir.InsertionPoint(loop.body):
            _some(step, code, arith.addi(loop.induction_variable, number), thread)
            scf.yield_([])
    elif step.threads == at_once:
        _stand_for(step, code, number, thread)
        for op in code:
            op.move_before(ending)
    else:
        _some(step, code, number, thread)


def _some(step: _Step, code: Sequence[ir.Operation], number: ir.Value, thread: ir.Value) -> None:
    """Let threads up to the last one of a step do its code; whole warps do, or do not."""
    below = arith.cmpi(arith.CmpIPredicate.ult, number, index(step.threads))
    branch = scf.IfOp(below)
    with ir.InsertionPoint(branch.then_block):
        ending = scf.YieldOp([]).operation
    with ir.InsertionPoint(ending):
        _stand_for(step, code, number, thread)
    for op in code:
        op.move_before(ending)


def _stand_for(
    step: _Step, code: Sequence[ir.Operation], number: ir.Value, thread: ir.Value
) -> None:
    """Emit the numbers of a thread in its step's launch, and let the code use them."""
    size = index(step.shape.block)
    numbers = {
        "gpu.block_id": arith.divui(number, size),
        "gpu.thread_id": arith.remui(thread, size),
    }
    for op in [inner for each in code for inner in (each, *nested_operations(each))]:
        if op.name in numbers:
            op.results[0].replace_all_uses_with(numbers[op.name])
