# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says where in our code an exception was raised."""

from __future__ import annotations

import os

__all__ = ["innermost"]


def innermost(error: Exception) -> str:
    """Return the file and line that raised `error`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown line"
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
