# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes arrays of other libraries in, and gives ours out: numpy, DLPack, Python's numbers."""

from __future__ import annotations

import sys
from typing import Any

from xyntra.array.dtypes import ElementType, as_dtype, default_float
from xyntra.array.recorded.graph import LazyNode, leaf, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.errors import InputError, UnsupportedError

__all__ = ["adopted", "exported", "exported_device", "is_foreign", "of_python"]

_CPU = (1, 0)
"""How DLPack numbers the processor."""


def is_foreign(value: Any) -> bool:
    """Tell whether a value is an array of another library, or a scalar of numpy's."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        return True
    return hasattr(value, "__dlpack__")


def adopted(value: Any, *, copy: bool | None = None) -> LazyNode:
    """Return the node of an array of another library; its memory is copied unless `copy=False`.

    Raises:
        InputError: its elements are of a type that arrays do not have, or it cannot be read.
    """
    import numpy as np

    own = isinstance(value, np.ndarray | np.generic)
    found = np.asarray(value) if own else _by_dlpack(value)
    dtype = as_dtype(found.dtype)
    if not found.dtype.isnative:
        found = found.astype(found.dtype.newbyteorder("="))
    dense = np.ascontiguousarray(found).reshape(found.shape)
    if copy is not False and np.may_share_memory(dense, found):
        dense = dense.copy()
    return leaf(dense, meta_of(found.shape, dtype))


def _by_dlpack(value: Any) -> Any:
    import numpy as np

    if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # which numpy's DLPack does not read
        import ml_dtypes

        plain = value.detach().cpu().contiguous()
        return plain.view(sys.modules["torch"].int16).numpy().view(ml_dtypes.bfloat16)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            "array-dlpack",
            f"a {type(value).__name__} cannot be read through DLPack",
            place=user_place(),
            cause=str(error),
            hint="detach it and move it to the CPU",
        ) from None


def exported(value: Any, stream: Any, version: Any, device: Any, copy: bool | None) -> Any:
    """Return a DLPack capsule of a computed value; see `Array.__dlpack__`."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        return value.__dlpack__(stream=stream)
    if value.dtype.name == "bfloat16":
        raise BufferError("numpy exports no bfloat16; x.astype(xa.float32) holds the same values")
    found = value.copy() if copy else value
    return found.__dlpack__(max_version=version, dl_device=device, copy=copy)


def exported_device(value: Any) -> tuple[int, int]:
    """Return how DLPack numbers the device of a computed value."""
    found = value.__dlpack_device__()
    return int(found[0]), int(found[1])


def of_python(value: Any, dtype: ElementType | None) -> LazyNode:
    """Return the node of a number of Python, or of nested sequences of numbers and arrays.

    Raises:
        InputError: rows differ in length, or something is no number.
    """
    import numpy as np

    try:
        found = np.asarray(value, None if dtype is None else dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "array-values",
            "the values do not make an array",
            place=user_place(),
            cause=str(error),
        ) from None
    if found.dtype.kind == "c":
        raise UnsupportedError("dtype-unsupported", "complex numbers are not supported")
    if dtype is None:
        default = default_float if found.dtype.kind == "f" and not _typed(value) else None
        dtype = default or as_dtype(found.dtype)
    return leaf(
        np.ascontiguousarray(found, dtype.numpy).reshape(found.shape), meta_of(found.shape, dtype)
    )


def _typed(value: Any) -> bool:
    """Tell whether nested sequences hold arrays, whose type counts."""
    if isinstance(value, list | tuple):
        return any(_typed(each) for each in value)
    return not isinstance(value, bool | int | float)
