# SPDX-License-Identifier: MIT OR Apache-2.0
"""Warp-specialised attention for Hopper: a producer thread copies by TMA, consumers run wgmma.

Blocks stay on their multiprocessors and take several tiles of queries; the next tile's first
product is issued behind this one's last. The division of work among warpgroups follows Shah et al.,
"FlashAttention-3" (2024).
"""

from __future__ import annotations

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.hopper.block import HopperBlock
from xyntra.passes.lower.cuda.attention.hopper.consumer import Consumer
from xyntra.passes.lower.cuda.attention.hopper.order import tile_order
from xyntra.passes.lower.cuda.attention.hopper.plan import (
    GROUP_ROWS,
    HopperPlan,
    tensor_map,
)
from xyntra.passes.lower.cuda.attention.hopper.producer import KeyValueProducer
from xyntra.passes.lower.cuda.attention.machine import shared_address
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.ptx.tma import prefetch_tensormap, tensormap_address
from xyntra.passes.lower.cuda.ptx.warpgroups import setmaxnreg_asm
from xyntra.passes.lower.cuda.ptx.warps import shfl_first_asm
from xyntra.passes.lower.cuda.tensor_map import TensorMap, map_argument
from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.attention.values import when
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import barrier, block_number, thread_number

_GROUP = 128  # threads of a warpgroup


def emit_hopper(
    problem: Problem, plan: HopperPlan, shared: SharedMemory, device: GpuDevice
) -> CudaLaunch:
    """Emit an attention for a launch of the returned shape."""
    b, h, s, _, _, _ = problem.sizes
    grid = min(b * h * -(-s // plan.rows), device.multiprocessors)
    memory = [operand.matrix.memory for operand in (problem.query, problem.key, problem.value)]
    query, key, value = (map_argument(each, number) for number, each in enumerate(memory))
    place = shared_address(dynamic_memory(shared))
    order = tile_order(problem, plan, grid, Scalar(block_number(), "uint32"), shared)
    _emit(HopperBlock(problem, plan, order, place, (query, key, value)))
    return CudaLaunch(grid, plan.threads, shared=plan.shared, maps=_maps(problem, plan), resident=1)


def _maps(problem: Problem, plan: HopperPlan) -> tuple[TensorMap, ...]:
    _, _, s, t, d, e = problem.sizes
    return (
        tensor_map(problem.query, GROUP_ROWS, s, d),
        tensor_map(problem.key, plan.keys, t, d),
        tensor_map(problem.value, plan.keys, t, e),
    )


def _emit(block: HopperBlock) -> None:
    thread = Scalar(thread_number(), "uint32")
    group = Scalar(shfl_first_asm((thread / _GROUP).value), "uint32")
    with when(thread.equals(0)):
        for map_ in block.maps:
            prefetch_tensormap(tensormap_address(map_))
        block.barriers.begin()
    barrier()
    computing, copying = block.plan.registers
    branch = scf.IfOp(group.equals(0).value, has_else=True)
    with ir.InsertionPoint(branch.then_block):
        setmaxnreg_asm(copying, increase=False)
        with when(thread.equals(0)):
            KeyValueProducer(block).run()
        scf.YieldOp([])
    with ir.InsertionPoint(branch.else_block):
        setmaxnreg_asm(computing, increase=True)
        Consumer(block, group - 1, thread & (_GROUP - 1)).run()
        scf.YieldOp([])
