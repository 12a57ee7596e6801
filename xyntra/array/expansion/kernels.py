# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records calls of kernels that are written in Python, which fuse with what is around them.

While a function is differentiated, a kernel is recorded as the operations that it consists of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.array.arrays import Array, as_node, wrap
from xyntra.array.autograd.registry import wrap_again
from xyntra.array.dtypes import as_dtype
from xyntra.array.expansion import elementwise, rows, shapes
from xyntra.array.expansion.program import Unexpandable, missing, run_on_arrays
from xyntra.array.interchange import adopted
from xyntra.array.late import late
from xyntra.array.recorded.graph import LazyNode, RecordState, meta_of

__all__ = ["record_program"]

_OPERATORS = (elementwise, shapes, rows)
"""The modules that hold the operators."""


@late
def record_program(
    program: str, inputs: Sequence[Any], types: Sequence[tuple[str, tuple[int, ...]]]
) -> list[Array]:
    """Record a program of `xyntra.frontends.kernel` on arrays; return its outputs.

    Args:
        program: as text.
        inputs: arrays of any library.
        types: dtype and shape of each output.
    """
    nodes = tuple(_node(each) for each in inputs)
    refused = ""
    if RecordState.keep:
        refused = missing(program)
        try:
            if not refused:
                return run_on_arrays(program, [wrap_again(each) for each in nodes])
        except Unexpandable as operator:
            refused = str(operator)
    found = []
    for output, (dtype, shape) in enumerate(types):
        attrs = (("program", program), ("output", output), ("refused", refused))
        found.append(wrap(LazyNode("kernel", nodes, attrs, meta_of(shape, as_dtype(dtype)))))
    return found


def _node(value: Any) -> LazyNode:
    if isinstance(value, Array):
        return as_node(value)
    import numpy as np  # loaded by whoever has such a value

    return adopted(np.asarray(value) if isinstance(value, np.generic) else value)
