# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says what functions and methods of numpy are called here, for errors about names that are not."""

from __future__ import annotations

from xyntra.array.late import late

__all__ = ["missing_function", "missing_method"]

_FUNCTIONS = {
    "absolute": "abs",
    "alltrue": "all",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "around": "round",
    "ascontiguousarray": "asarray",
    "atleast_1d": "reshape(x, (-1,))",
    "average": "mean",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "cross": "linalg.cross",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "det": "linalg.det",
    "diag": "linalg.diagonal",
    "diagonal": "linalg.diagonal",
    "dot": "matmul or vecdot",
    "fabs": "abs",
    "fliplr": "flip(x, axis=1)",
    "flipud": "flip(x, axis=0)",
    "frombuffer": "asarray(numpy.frombuffer(…))",
    "hstack": "concat(…, axis=1)",
    "identity": "eye",
    "inner": "vecdot",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "ndarray": "Array",
    "nanmax": "max(xa.where(xa.isnan(x), -xa.inf, x))",
    "nanmin": "min(xa.where(xa.isnan(x), xa.inf, x))",
    "nansum": "sum(xa.where(xa.isnan(x), 0.0, x))",
    "norm": "linalg.vector_norm",
    "power": "pow",
    "product": "prod",
    "ravel": "reshape(x, (-1,))",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "row_stack": "concat",
    "swapaxes": "permute_dims",
    "trace": "linalg.trace",
    "transpose": "permute_dims",
    "true_divide": "divide",
    "unique": "unique_values",
    "vstack": "concat(…, axis=0)",
}
"""The names of this namespace for those of numpy."""
_METHODS = {
    "argsort": "xa.argsort(x)",
    "cumprod": "xa.cumulative_prod(x)",
    "cumsum": "xa.cumulative_sum(x)",
    "diagonal": "xa.linalg.diagonal(x)",
    "dot": "x @ y",
    "fill": "x[...] = value",
    "nonzero": "xa.nonzero(x)",
    "ravel": "x.reshape(-1)",
    "repeat": "xa.repeat(x, n)",
    "round": "xa.round(x)",
    "sort": "x[...] = xa.sort(x)",
    "swapaxes": "xa.permute_dims(x, axes)",
    "take": "xa.take(x, indices)",
    "tobytes": "x.numpy().tobytes()",
    "trace": "xa.linalg.trace(x)",
}
"""What methods of numpy's arrays are written as here."""


def missing_function(name: str) -> str:
    """Return the message for a name that the namespace does not have."""
    found = f"module 'xyntra.array' has no attribute {name!r}"
    if name in _FUNCTIONS:
        return f"{found}; by the array API standard it is xa.{_FUNCTIONS[name]}"
    return found


@late
def missing_method(name: str) -> str:
    """Return the message for a name that arrays do not have."""
    found = f"arrays have no attribute {name!r}"
    return f"{found}; write {_METHODS[name]}" if name in _METHODS else found
