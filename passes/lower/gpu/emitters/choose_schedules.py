# SPDX-License-Identifier: MIT OR Apache-2.0
"""`choose-schedules`: every stage is told which emitter makes its code, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import set_schedule
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.lower.gpu.device import DEFAULT, device_of
from xyntra.passes.lower.gpu.emitters.families import choose_schedule, families_of
from xyntra.passes.lower.gpu.stages.stage import stages_of, tidy
from xyntra.passes.lower.kernels.given_schedules import place_schedules
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class ChooseSchedules:
    """Give every stage the schedule that should take the least time.

    A schedule that is already there is kept if it is legal.
    """

    name: ClassVar[str] = "choose-schedules"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Change the kernel of `module`.

        Raises:
            PassFailure: a stage has a schedule that cannot be carried out.
        """
        function, device = kernel_function(module), device_of(self.device)
        families = families_of(device)
        stages = stages_of(function)
        place_schedules(function, [stage.op for stage in stages], set_schedule)
        for stage in stages:
            try:
                set_schedule(stage.op, choose_schedule(stage, families, device))
            except CompileError as error:
                raise PassFailure.at(stage.op, error.message, code=error.code) from error
        tidy(function)
