# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepares weights for kernels once, when a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from xyntra.plan.plan import Plan, Step
from xyntra.targets.cpu.device import host_device
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.memory import Bytes, address_of, allocate
from xyntra.targets.cpu.replay import StepTable

_Key = tuple[str, tuple[int, ...]]


def prepare_name(kernel: str) -> str:
    """The symbol of the function that prepares the constants of `kernel`."""
    return f"{kernel}.prepare"


def prepared_kernels(plan: Plan) -> list[str]:
    """Names of the kernels that prepare some of their constants."""
    return [name for name, code in plan.kernels.items() if code.prepared]


class PreparedOperands:
    """Memory that kernels fill once, for every kernel and the weights that it is called with.

    Kernels that make the same of the same weights share one copy: those of the steps of a sequence
    would not stay in the caches otherwise.

    Args:
        plan: whose steps need it; one prepared operand may serve several.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._memory: dict[_Key, Bytes] = {}

    def fill(self, library: ObjectLibrary, fixed: Mapping[int, np.ndarray[Any, Any]]) -> None:
        """Let every kernel prepare what its steps need.

        Args:
            library: the kernels.
            fixed: the contents of weights, constants and prepared buffers.
        """
        tables = []
        for step in self._plan.steps:
            nbytes = self._plan.kernels[step.kernel].prepared
            if not nbytes or self._key(step) in self._memory:
                continue
            self._memory[self._key(step)] = allocate(nbytes)
            buffers = self._plan.argument_buffers(step)
            arguments = [address_of(fixed[each]) if each in fixed else 0 for each in buffers]
            function = library.address(prepare_name(step.kernel))
            tables.append(StepTable([(function, [*arguments, *self.addresses(step)])]))
        _run(tables)
        self._share()

    def _share(self) -> None:
        """Keep one of equal copies of the same weights."""
        kept: dict[tuple[int, ...], list[Bytes]] = {}
        for (kernel, weights), memory in self._memory.items():
            known = kept.setdefault(weights, [])
            equal = next((each for each in known if np.array_equal(each, memory)), None)
            if equal is None:
                known.append(memory)
            else:
                self._memory[kernel, weights] = equal

    def addresses(self, step: Step) -> list[int]:
        """The argument that a launch gives its kernel, if it takes one."""
        if not self._plan.kernels[step.kernel].prepared:
            return []
        return [address_of(self._memory[self._key(step)])]

    def _key(self, step: Step) -> _Key:
        known = ("parameter", "constant", "prepared")
        weights = (each for each in step.inputs if self._plan.buffers[each].kind in known)
        return step.kernel, tuple(weights)


def _run(tables: list[StepTable]) -> None:
    """Run what is independent of each other, on all processors where there is enough of it."""
    threads = min(len(tables), host_device().cores)
    if threads < 2:
        for table in tables:
            table.run()
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(StepTable.run, tables))
