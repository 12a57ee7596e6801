# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans attention on Hopper's warpgroups: tiles, ring stages and shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.passes.lower.cuda.attention.hopper.instructions import ROW_BYTES
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.attention.problem import Located, Problem
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.loops.memrefs import view_offset

CHUNK = 64
"""Elements of a row of 128 bytes."""
GROUP_ROWS = 64
"""Queries of a warpgroup."""
_LARGEST = 256
_MASKED = 128
_FEWEST = 128  # queries, and keys
_MUCH = 1 << 24  # scores
_SOME = 1 << 20
_USED = 0.6
_TWO_GROUPS = 1.1  # the time of a query with two warpgroups, in that with three
_MOST_DIMENSIONS = 5
_ALIGNED = 16
_ELEMENTS = {"float16": "f16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class HopperPlan:
    """A plan of a block: its tiles, ring and warpgroups.

    Attributes:
        groups: warpgroups that compute, 64 queries each; one more copies.
        key_slots: tiles of keys in shared memory.
        value_slots: likewise of values.
        query_slots: tiles of queries of one warpgroup.
        key_chunks: rows of 128 bytes that a key takes.
        value_chunks: likewise a value.
        registers: of a thread that computes, and of one that copies.
        keys: keys of a step.
    """

    groups: int
    key_slots: int
    value_slots: int
    query_slots: int
    key_chunks: int
    value_chunks: int
    registers: tuple[int, int]
    keys: int = 128

    @property
    def rows(self) -> int:
        """Queries of a tile."""
        return GROUP_ROWS * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 128 * (self.groups + 1)

    @property
    def query_bytes(self) -> int:
        """Bytes of the queries of a warpgroup."""
        return GROUP_ROWS * self.key_chunks * ROW_BYTES

    @property
    def key_bytes(self) -> int:
        """Bytes of a tile of keys."""
        return self.keys * self.key_chunks * ROW_BYTES

    @property
    def value_bytes(self) -> int:
        """Bytes of a tile of values."""
        return self.keys * self.value_chunks * ROW_BYTES

    @property
    def value_size(self) -> int:
        """Elements of a value, with zeros behind the last."""
        return CHUNK * self.value_chunks

    @property
    def key_start(self) -> int:
        """Byte at which keys begin, behind the queries."""
        return self.groups * self.query_slots * self.query_bytes

    @property
    def value_start(self) -> int:
        """Byte at which values begin."""
        return self.key_start + self.key_slots * self.key_bytes

    @property
    def barrier_start(self) -> int:
        """Byte at which barriers begin."""
        return self.value_start + self.value_slots * self.value_bytes

    @property
    def barriers(self) -> int:
        """A full and an empty one for every slot."""
        queries = self.groups * self.query_slots
        return 2 * (self.key_slots + self.value_slots + queries)

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return self.barrier_start + 8 * self.barriers


def plan_hopper(problem: Problem, device: GpuDevice) -> HopperPlan | None:
    """Choose a plan; None where this kernel does not fit, or is not worth it."""
    fitting = hopper_plans(problem, device)
    plan = min(fitting, key=lambda each: _time(problem, each, device), default=None)
    return plan if plan is not None and _is_worth_it(problem, plan) else None


def hopper_plans(problem: Problem, device: GpuDevice) -> list[HopperPlan]:
    """Return every plan by which this kernel computes an attention."""
    *_, d, e = problem.sizes
    if not device.has(Feature.WGMMA) or problem.dtype not in _ELEMENTS or max(d, e) > _LARGEST:
        return []
    if e % 8 or problem.result.access_bytes != _ALIGNED:
        return []
    if not all(map(_has_map, (problem.query, problem.key, problem.value))):
        return []
    if max(d, e) > _MASKED and not (problem.keep is None and problem.bias is None):
        return []  # there are no registers for masks
    return [each for each in _candidates(problem) if each.shared <= device.block_shared_bytes]


def _candidates(problem: Problem) -> list[HopperPlan]:
    d, e = problem.sizes[4:]
    chunks = (-(-d // CHUNK), -(-e // CHUNK))
    if max(chunks) > 2:
        return [HopperPlan(2, 2, 2, 1, *chunks, (240, 24), keys=64)]
    if max(chunks) == 2:
        return [HopperPlan(2, 2, 2, 2, *chunks, (232, 40))]
    two = HopperPlan(2, 4, 3, 2, *chunks, (232, 40))
    return [two] if _has_masks(problem) else [HopperPlan(3, 4, 3, 2, *chunks, (160, 32)), two]


def _time(problem: Problem, plan: HopperPlan, device: GpuDevice) -> float:
    """Return how long the blocks take, in queries."""
    b, h, s, _, _, _ = problem.sizes
    turns = -(-b * h * -(-s // plan.rows) // device.multiprocessors)
    return turns * plan.rows * (_TWO_GROUPS if plan.groups == 2 else 1.0)


def _is_worth_it(problem: Problem, plan: HopperPlan) -> bool:
    """Whether there is enough to do, and little of it for queries and keys that do not exist."""
    b, h, s, t, _, _ = problem.sizes
    if min(s, t) < _FEWEST:
        return False
    scores = b * h * s * t
    whole = -(-s // plan.rows) * plan.rows * -(-t // plan.keys) * plan.keys
    is_used = s * t >= _USED * whole
    return scores >= _MUCH or (scores >= _SOME and is_used and not _has_masks(problem))


def _has_masks(problem: Problem) -> bool:
    return problem.keep is not None or not problem.is_raw


def _has_map(operand: Located) -> bool:
    """Whether TMA can copy from `operand`: contiguous rows, everything at multiples of 16 bytes."""
    item = operand.item_bytes
    down, along = operand.strides
    first = operand.matrix.first + view_offset(operand.matrix.memory)
    steps = [down, *(factor for _, factor in operand.matrix.outer)]
    places = [step * item for step in (first, *steps)]
    return (
        along == 1
        and all(step > 0 for step in steps)
        and not any(place % _ALIGNED for place in places)
        and len(operand.matrix.outer) + 2 <= _MOST_DIMENSIONS
    )


def tensor_map(operand: Located, rows: int, limit: int, size: int) -> TensorMap:
    """A map of `limit` rows of `size` elements, of which `rows` are copied at a time.

    Outer dimensions are the digits of batch and head that the operand moves with.
    """
    item = operand.item_bytes
    digits = [digit for digit, _ in operand.matrix.outer]
    factors = [factor for _, factor in operand.matrix.outer]
    first = operand.matrix.first + view_offset(operand.matrix.memory)
    return TensorMap(
        _ELEMENTS[operand.dtype],
        (size, limit, *(digit.extent for digit in digits)),
        tuple(step * item for step in (operand.strides[0], *factors)),
        (CHUNK, rows, *([1] * len(digits))),
        ROW_BYTES,
        first * item,
    )
