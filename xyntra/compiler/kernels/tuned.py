# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives kernels the schedules that were found best for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xyntra.cache import cache_key
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import function_name
from xyntra.passes.fallbacks import is_generic
from xyntra.passes.lower.kernels.given_schedules import give_schedules
from xyntra.tune.records import read_schedules

if TYPE_CHECKING:
    from xyntra.compiler.worker.request import Request
    from xyntra.tune.tuned import Tuned

__all__ = ["give_tuned", "tuning_key"]


def tuning_key(text: str, architecture: str, opt_level: int) -> str:
    """Return the key that a kernel has in a tuning database.

    Args:
        text: its function, before it is given schedules.
        architecture: of the GPU that code is generated for; "" for this processor.
        opt_level: LLVM's.
    """
    return cache_key("tuned", text, architecture, str(opt_level))


def give_tuned(
    function: ir.Operation, request: Request, spared: Mapping[str, object]
) -> Tuned | None:
    """Give a kernel the schedules that a request has for it.

    Args:
        function: the kernel.
        request: how to compile.
        spared: names of kernels that get none.

    Returns:
        These; None where it was given none.
    """
    if is_generic(function) or function_name(function) in spared:
        return None
    text = function.get_asm(use_local_scope=True)
    found = request.tuned.get(tuning_key(text, request.architecture, request.opt_level))
    if found is None:
        return None
    give_schedules(function, read_schedules(found.schedules))
    return found
