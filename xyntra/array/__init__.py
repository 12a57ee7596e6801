# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays by the array API standard (2024.12): recorded, fused, and run when a value is needed.

import xyntra.array as xa

x = xa.asarray([[1.0, 2.0], [3.0, 4.0]])
print(xa.exp(x - xa.max(x, axis=1, keepdims=True)))

Names are resolved on first use, so that importing takes little time.
"""

from __future__ import annotations

from importlib import import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xyntra.array import linalg as linalg
    from xyntra.array import random as random
    from xyntra.array.arrays import *  # noqa: F403
    from xyntra.array.autograd.checkpoints import *  # noqa: F403
    from xyntra.array.autograd.transforms import *  # noqa: F403
    from xyntra.array.devices import *  # noqa: F403
    from xyntra.array.dtypes import *  # noqa: F403
    from xyntra.array.dtypes import bool_ as bool
    from xyntra.array.functions.creation import *  # noqa: F403
    from xyntra.array.functions.einsum import *  # noqa: F403
    from xyntra.array.functions.elementwise import *  # noqa: F403
    from xyntra.array.functions.indexing import *  # noqa: F403
    from xyntra.array.functions.info import *  # noqa: F403
    from xyntra.array.functions.info import namespace_info as __array_namespace_info__
    from xyntra.array.functions.manipulation import *  # noqa: F403
    from xyntra.array.functions.products import *  # noqa: F403
    from xyntra.array.functions.reductions import *  # noqa: F403
    from xyntra.array.functions.searching import *  # noqa: F403
    from xyntra.array.futures import *  # noqa: F403
    from xyntra.array.recording import *  # noqa: F403

newaxis = None
__array_api_version__ = "2024.12"

_HOMES = {
    "arrays": "Array",
    "autograd.checkpoints": "checkpoint",
    "autograd.transforms": "grad jvp stop_gradient value_and_grad vjp",
    "devices": "device memory",
    "dtypes": """
        ElementType bfloat16 float16 float32 float64 int16 int32 int64 int8 uint16 uint32
        uint64 uint8
    """,
    "functions.creation": """
        arange array asarray compute empty empty_like eye from_dlpack full full_like
        linspace meshgrid ones ones_like tril triu zeros zeros_like
    """,
    "functions.elementwise": """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert
        bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays ceil
        clip conj copysign cos cosh divide equal erf exp exp2 expm1 floor floor_divide fmod
        gelu greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10
        log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
        multiply negative nextafter not_equal positive pow real reciprocal relu remainder
        round rsqrt sigmoid sign signbit silu sin sinh softplus sqrt square subtract tan
        tanh trunc where
    """,
    "functions.indexing": "put_along_axis take take_along_axis",
    "functions.info": "astype can_cast finfo iinfo isdtype namespace_info result_type",
    "functions.manipulation": """
        broadcast_to concat expand_dims flip matrix_transpose moveaxis pad permute_dims
        repeat reshape roll squeeze stack tile unstack
    """,
    "functions.einsum": "einsum",
    "functions.products": "matmul outer tensordot vecdot",
    "functions.reductions": """
        all any argmax argmin count_nonzero cumulative_prod cumulative_sum diff log_softmax
        logsumexp max mean min prod softmax std sum var
    """,
    "functions.searching": """
        argsort isin nonzero searchsorted sort top_k unique_all unique_counts unique_inverse
        unique_values
    """,
    "futures": "submit wait_all wait_any",
    "recording": "jit",
}
"""The names of the namespace by the modules that define them."""
_MODULES = ("linalg", "random")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [
    "__array_api_version__", "__array_namespace_info__", "bool", "e", "inf", "nan", "newaxis", "pi",
    *_MODULES, *_HOME_OF,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"xyntra.array.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"xyntra.array.{name}")
    elif name == "bool":
        value = import_module("xyntra.array.dtypes").bool_
    elif name == "__array_namespace_info__":
        value = import_module("xyntra.array.functions.info").namespace_info
    else:
        raise AttributeError(import_module("xyntra.array.names").missing_function(name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
