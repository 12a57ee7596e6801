# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the attributes of kernel functions, for which MLIR calls no verifier of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.attributes.kernel import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.registry import register_pass

__all__ = ["VerifyKernels"]


@register_pass
@dataclass(frozen=True)
class VerifyKernels:
    """Check that xyntra.kernel of every function is valid."""

    name: ClassVar[str] = "verify-kernels"

    def run(self, module: ir.Operation) -> None:
        """Check the functions of `module`, which is left as it is.

        Raises:
            PassFailure: a function has an invalid attribute.
        """
        for view in module.regions[0].blocks[0].operations:
            _check(view.operation)


def _check(function: ir.Operation) -> None:
    try:
        KernelFacts.of(function)
    except CompileError as error:
        raise PassFailure.at(function, error.message, code=error.code) from error
