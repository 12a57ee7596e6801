# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-scans`: running sums and their like along columns, or few long rows, in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    function_name,
    kernel_function,
    operations_named,
)
from xyntra.passes.analysis.loop_bounds import constant_trips, number_of
from xyntra.passes.lower.gpu.device import DEFAULT, GpuDevice, device_of
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.loops.loop_threads import loops_of, shared_loops
from xyntra.passes.lower.gpu.scan_sort.column_scans import (
    Columns,
    emit_column_scan,
    plan_columns,
)
from xyntra.passes.lower.gpu.scan_sort.row_parts import emit_parts, plan_parts
from xyntra.passes.lower.gpu.scan_sort.scans import plan_scan
from xyntra.passes.lower.loops.scan_loop import scan_of
from xyntra.passes.registry import register_pass

_MIN_LENGTH = 8
_MIN_COLUMNS = 2


@register_pass
@dataclass(frozen=True)
class SplitScans:
    """Replace loops that scan columns or long rows by blocks that share them: one loop, or two.

    Two where columns or rows are few and long: of parts, and of what parts begin with.
    """

    name: ClassVar[str] = "split-scans"
    device: str = DEFAULT
    """What the code is for, by its name in the table of devices."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`, on buffers."""
        function, device = kernel_function(module), device_of(self.device)
        module.context.get_dialect_descriptor("gpu")  # loads it
        launches = 0

        def shared() -> SharedMemory:
            nonlocal launches
            launches += 1
            return SharedMemory(module, f"{function_name(function)}_scan{launches}", device)

        for op in operations_named(function, "scf.for"):
            if op.parent != function:
                continue
            with op.location, ir.InsertionPoint(op):
                is_done = _share_columns(op, device, shared) or _share_rows(op, device, shared)
            if is_done:
                op.erase()


def _share_columns(op: ir.Operation, device: GpuDevice, shared: Callable[[], SharedMemory]) -> bool:
    """Emit what stands for a scan along columns; tell whether it is one."""
    found = _columns(op)
    if found is None:
        return False
    plan = plan_columns(found.count, found.scan.length, device)
    if plan.strips * plan.parts > device.grid:
        return False
    emit_column_scan(found, plan, shared)
    return True


def _share_rows(op: ir.Operation, device: GpuDevice, shared: Callable[[], SharedMemory]) -> bool:
    """Emit what stands for a scan along few long rows; tell whether it is one."""
    found = plan_scan(op, device)
    plan = None if found is None else plan_parts(found, device)
    if plan is None:
        return False
    emit_parts(plan, shared)
    return True


def _columns(whole: ir.Operation) -> Columns | None:
    """Return what is known of `whole`; None where it is something else, or too small."""
    loops, rows = loops_of(whole), shared_loops(whole)
    units = tuple(each for each in loops if constant_trips(each) == 1)
    inner = [each for each in loops if each not in rows and each not in units]
    scan = scan_of(inner[0], whole, at_any_depth=True) if len(inner) == 1 else None
    if scan is None or not rows or scan.length < _MIN_LENGTH:
        return None
    last = list(scan.store.operands)[-1]
    walking = [each for each in rows if number_of(each) == last]
    if not walking:
        return None
    columns = (*(each for each in rows if each not in walking), *walking)
    found = Columns(whole, scan, columns, units)
    return found if found.count >= _MIN_COLUMNS else None
