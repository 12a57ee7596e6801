# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one random model on the GPU and compares its outputs with those of float64.

Inputs and outputs lie in one block between guards. Block and arena are filled with 0xFF before
each run, which is NaN in every float format: what is read or kept without being written shows, and
so does what is written beside an output. Each case runs twice; both runs must agree in every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.fusion.values import Known, mismatches, widened
from verify.random_models.case import Case
from verify.random_models.reference import expected
from xyntra.executable import Executable
from xyntra.plan.artifact import Artifact
from xyntra.plan.plan import numpy_dtype
from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.driver.gpu import gpu
from xyntra.targets.cuda.driver.memory import DeviceMemory, new_stream
from xyntra.targets.cuda.program import CudaProgram

__all__ = ["SAFETY", "Finding", "check_case", "compared"]

Array = np.ndarray[Any, Any]
SAFETY = 4.0
"""How far beyond its bound a result may be: kernels round in other places than operators."""
_GUARD = 512  # bytes before, between and behind arrays
_POISON = 0xFF


@dataclass(frozen=True)
class Finding:
    """What became of one case.

    Attributes:
        name: of the case.
        problem: what is wrong, or "".
        worst: largest error in units of its bound.
        elements: of all outputs.
        unknown: elements of which the expectation knows nothing.
        launches: kernels launched.
    """

    name: str
    problem: str = ""
    worst: float = 0.0
    elements: int = 0
    unknown: int = 0
    launches: int = 0


def check_case(case: Case, artifact: bytes) -> Finding:
    """Run a case on the first GPU.

    Raises:
        DeviceError: the GPU failed.
    """
    compiled = Artifact.from_bytes(memoryview(artifact), case.name)
    weights = case.arrays("weight")
    executable = Executable(compiled, CudaProgram(compiled, weights, 0), weights)
    inputs = case.arrays("input")
    block = _Block(executable, [inputs[port.name] for port in executable.inputs])
    with gpu(0).entered():
        results, problem, launches = _run_twice(executable, block)
    found = compared(results, expected(case))
    return Finding(case.name, problem or found.problem, found.worst, found.elements,
                   found.unknown, launches)  # fmt: skip


def compared(results: Sequence[Array], references: Sequence[Known]) -> Finding:
    """What is wrong with some arrays, without a name."""
    problems, worst = [], 0.0
    for position, (array, known) in enumerate(zip(results, references, strict=True)):
        if array.shape != known.shape or array.dtype.name != known.dtype:
            problems.append(f"output {position} is {array.dtype.name}{list(array.shape)}")
            continue
        wrong = mismatches(array, known, SAFETY)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            problems.append(
                f"output {position}: {int(wrong.sum())} of {wrong.size} elements; at {list(at)} "
                f"{array[at]} instead of {known.value[at]} +- {SAFETY * known.error[at]:.3g}"
            )
        worst = max(worst, _ratio(array, known))
    elements = sum(known.value.size for known in references)
    unknown = sum(int((~known.certain).sum()) for known in references)
    return Finding("", "; ".join(problems), worst, elements, unknown)


def _ratio(array: Array, known: Known) -> float:
    """The largest error of finite elements in units of its bound."""
    with np.errstate(all="ignore"):
        off = np.abs(widened(array).astype(np.float64) - known.value)
        usable = np.isfinite(off) & (known.error > 0) & known.certain
    return float(np.max(off[usable] / known.error[usable], initial=0.0))


class _Block:
    """Inputs and outputs of a call in the memory of the host, as they will lie on the GPU."""

    def __init__(self, executable: Executable, inputs: Sequence[Array]) -> None:
        self.inputs = inputs
        self.outputs = [(port.shape, numpy_dtype(port.dtype)) for port in executable.outputs]
        sizes = [array.nbytes for array in inputs]
        sizes += [int(np.prod(shape)) * dtype.itemsize for shape, dtype in self.outputs]
        self.offsets = []
        end = _GUARD
        for size in sizes:
            self.offsets.append(end)
            end += -(-size // _GUARD) * _GUARD + _GUARD
        self.bytes = np.full(end, _POISON, np.uint8)
        for offset, array in zip(self.offsets, inputs, strict=False):
            self.bytes[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def results(self, after: Array) -> list[Array]:
        """The outputs in a copy of the block after a run."""
        found = []
        for offset, (shape, dtype) in zip(
            self.offsets[len(self.inputs) :], self.outputs, strict=True
        ):
            nbytes = int(np.prod(shape)) * dtype.itemsize
            found.append(after[offset : offset + nbytes].copy().view(dtype).reshape(shape))
        return found

    def strays(self, after: Array) -> int:
        """Bytes outside the outputs that a run has changed."""
        changed = after != self.bytes
        for offset, (shape, dtype) in zip(
            self.offsets[len(self.inputs) :], self.outputs, strict=True
        ):
            changed[offset : offset + int(np.prod(shape)) * dtype.itemsize] = False
        return int(changed.sum())


def _run_twice(executable: Executable, block: _Block) -> tuple[list[Array], str, int]:
    cuda = driver()
    memory, stream = DeviceMemory(block.bytes.nbytes), new_stream()
    launches = executable.launches([memory.address + offset for offset in block.offsets])
    arena = executable._program._loaded._buffers._arena  # type: ignore[attr-defined]
    states = []
    for _ in range(2):
        nbytes = block.bytes.nbytes
        checked(cuda.cuMemcpyHtoD(memory.address, block.bytes.ctypes.data, nbytes), "copying")
        checked(cuda.cuMemsetD8(arena.address, _POISON, arena.nbytes), "poisoning")
        checked(cuda.cuCtxSynchronize(), "poisoning")
        for launch in launches:
            launch(stream)
        checked(cuda.cuStreamSynchronize(stream), "running")
        after = np.empty_like(block.bytes)
        checked(cuda.cuMemcpyDtoH(after.ctypes.data, memory.address, nbytes), "copying")
        states.append(after)
    problems = []
    if strays := block.strays(states[0]):
        problems.append(f"{strays} bytes beside the outputs have changed")
    if not np.array_equal(*states):
        problems.append("two runs differ")
    return block.results(states[0]), "; ".join(problems), len(launches)
