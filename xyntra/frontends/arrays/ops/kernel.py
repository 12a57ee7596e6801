# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels written in Python inside of recorded graphs: their operators are built in place."""

from __future__ import annotations

from functools import lru_cache

from xyntra.dialects.builder import Tensor
from xyntra.frontends.arrays.lowering import args, lowers
from xyntra.frontends.kernel.nested import run_program
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.torch.program import AtenProgram


@lru_cache(maxsize=64)
def _read(text: str) -> AtenProgram:
    return AtenProgram.from_bytes(text.encode())


@lowers("kernel")
def kernel(node: AtenNode) -> Tensor:
    """One output; what several outputs have in common is found to be equal, and built once."""
    program = _read(str(node["program"]))
    found: Tensor = run_program(program, args(node), node.b)[int(node["output"])]
    return found
