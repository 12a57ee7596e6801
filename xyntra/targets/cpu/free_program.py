# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a plan with free dimensions: for each combination of sizes the static plan that it makes.

The plans of the sizes used last are kept. All share code, weights, what was prepared of these, and
the memory of a call, which is as large as the largest so far needs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.plan.artifact import Artifact
from xyntra.plan.free.bound_sizes import SizeBinder
from xyntra.plan.free.expressions import with_defined
from xyntra.plan.free.sized import every_step, sized_plan
from xyntra.targets.cpu.program import CpuProgram

__all__ = ["FreeProgram"]

Array = np.ndarray[Any, Any]
_KEPT = 16
"""Combinations of sizes whose plans are kept."""


class FreeProgram:
    """Runs a plan with free dimensions in this process; the arguments are those of `CpuProgram`."""

    def __init__(
        self, artifact: Artifact, weights: Mapping[str, Array], threads: int | None = None
    ) -> None:
        free = artifact.plan.free
        if free is None:
            raise ValueError("no dimension of the plan is free")
        self._plan, self._free = artifact.plan, free
        self._binder = SizeBinder(artifact.plan)
        hints = with_defined(free.symbols, {each.identifier: each.hint for each in free.symbols})
        usual = sized_plan(artifact.plan, free, hints)
        static = replace(artifact, plan=usual.plan)
        self._base = CpuProgram(static, weights, threads, every_step(artifact.plan, free))
        self._kept: OrderedDict[tuple[int, ...], CpuProgram] = OrderedDict()

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> list[Array]:
        """Run the plan once and return its outputs; the arguments are those of `CpuProgram.call`.

        Raises:
            InputError: as `CpuProgram.call`, or a size is out of its range or contradicts another.
        """
        return self._program(arrays).call(arrays, out)

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        """Run the plan once and return each step's nanoseconds; the outputs are new arrays."""
        return self._program(inputs).time_call(inputs)

    def _program(self, arrays: Sequence[Any]) -> CpuProgram:
        # Each operation on the dictionary is atomic: two threads may make one plan twice.
        sizes = self._binder.sizes(arrays)
        found = self._kept.pop(sizes, None) or self._made(sizes)
        self._kept[sizes] = found  # now the one used last
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    def _made(self, sizes: tuple[int, ...]) -> CpuProgram:
        named = dict(zip((each.identifier for each in self._free.symbols), sizes, strict=True))
        sized = sized_plan(self._plan, self._free, named)
        arrays = {
            number: np.array(words, np.int64).view(np.uint8)
            for number, words in sized.arrays.items()
        }
        pairs = enumerate(zip(self._base.plan.buffers, sized.plan.buffers, strict=True))
        for number, (usual, own) in pairs:
            if usual.data != own.data:
                arrays[number] = np.frombuffer(own.data, np.uint8)
        return self._base.with_plan(sized.plan, arrays)
