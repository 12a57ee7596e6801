# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions and dtypes that kernels compute with, by the names of the Array API standard.

import xyntra
import xyntra.lang as xl

@xyntra.kernel
def normalized(x):
    return x / xl.sqrt(xl.sum(x * x, axis=-1, keepdims=True))
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

e, inf, nan, pi = math.e, math.inf, math.nan, math.pi
newaxis = None


def __getattr__(name: str) -> Any:
    from xyntra.frontends.kernel.functions.creation import DTYPES
    from xyntra.frontends.kernel.language import function_table

    found = DTYPES.get(name) or function_table().get(name)
    if found is None:
        raise AttributeError(f"module 'xyntra.lang' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from xyntra.frontends.kernel.functions.creation import DTYPES
    from xyntra.frontends.kernel.language import function_table

    return sorted({*globals(), *DTYPES, *function_table()})
