# SPDX-License-Identifier: MIT OR Apache-2.0
"""Factorises matrices by LAPACK, as numpy calls it, in the memory of the host.

Operands are computed first, and results have their values at once. In functions that are
differentiated they keep what they were made of, so that gradients go through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from xyntra.array.arrays import Array, as_node, wrap
from xyntra.array.dtypes import as_dtype, default_float, float32, float64, int64, promote
from xyntra.array.recorded.evaluate import node_value
from xyntra.array.recorded.graph import LazyNode, RecordState, leaf, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import cast, refuse_kind
from xyntra.errors import InputError

__all__ = [
    "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "det", "eigh", "eigvalsh",
    "inv", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
]  # fmt: skip


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


def _on_host(
    op: str,
    function: Callable[..., Any],
    *operands: Any,
    square: bool = False,
    attrs: tuple[Any, ...] = (),
) -> list[Array]:
    """Return what a function of numpy's arrays makes of the values of operands.

    16-bit floats are computed in 32 bits. Results have the type of the operands, integers keep
    theirs.

    Raises:
        InputError: an operand is no stack of matrices, or a matrix has no such factors.
    """
    import numpy as np

    nodes = tuple([as_node(each) for each in operands])
    dtype = nodes[0].meta.dtype
    for node in nodes:
        dtype = promote(dtype, node.meta.dtype)
    if dtype.kind != "f":
        dtype = default_float
    _check(op, nodes[0], square)
    wide = dtype if dtype is float64 else float32
    values = [np.asarray(node_value(cast(each, wide))) for each in nodes]
    try:
        with np.errstate(all="ignore"):
            found = function(*values)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InputError(
            "array-linalg",
            f"{op} of {', '.join(str(list(each.meta.shape)) for each in nodes)} failed",
            place=user_place(),
            cause=str(error),
        ) from None
    results = []
    for number, each in enumerate(found if isinstance(found, tuple) else (found,)):
        value = np.ascontiguousarray(each).reshape(np.shape(each))
        own = dtype if value.dtype.kind == "f" else as_dtype(value.dtype)
        value = value.astype(own.numpy, copy=False)
        meta = meta_of(value.shape, own)
        if RecordState.keep:
            node = LazyNode(op, nodes, (*attrs, ("result", number)), meta, value)
        else:
            node = leaf(value, meta)
        results.append(wrap(node))
    return results


def _check(op: str, node: LazyNode, square: bool) -> None:
    if RecordState.tracing:
        raise InputError(
            "array-traced",
            f"{op} is computed by LAPACK when it is called, not recorded",
            place=user_place(),
            cause="a function that is recorded as a whole has no values",
            hint="call it outside of the function that @xa.jit records, or leave out @xa.jit",
        )
    shape, dtype = node.meta.shape, node.meta.dtype
    if dtype.kind == "b":
        raise refuse_kind(op, dtype)
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        raise InputError(
            "array-linalg",
            f"{op} of an array of the shape {list(shape)}",
            place=user_place(),
            cause="it takes square matrices" if square else "it takes matrices",
        )


def _linalg() -> Any:
    import numpy as np

    return np.linalg


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """Return the lower triangle L of each positive definite matrix L @ L.mT; its transpose U.

    Only the lower triangle of a matrix is read, with `upper` the upper one.
    """

    def factor(value: Any) -> Any:
        return _linalg().cholesky(value, upper=upper)

    return _on_host("cholesky", factor, x, square=True, attrs=(("upper", upper),))[0]


def det(x: Any, /) -> Array:
    """Return the determinant of each matrix."""
    return _on_host("det", lambda value: _linalg().det(value), x, square=True)[0]


def slogdet(x: Any, /) -> SlogdetResult:
    """Return the sign and the logarithm of the absolute value of each determinant."""
    return SlogdetResult(
        *_on_host("slogdet", lambda value: tuple(_linalg().slogdet(value)), x, square=True)
    )


def eigh(x: Any, /) -> EighResult:
    """Return eigenvalues in ascending order, and eigenvectors in columns, of symmetric matrices."""
    return EighResult(*_on_host("eigh", lambda v: tuple(_linalg().eigh(v)), x, square=True))


def eigvalsh(x: Any, /) -> Array:
    """Return the eigenvalues of symmetric matrices in ascending order."""
    return _on_host("eigvalsh", lambda value: _linalg().eigvalsh(value), x, square=True)[0]


def inv(x: Any, /) -> Array:
    """Return the inverse of each matrix."""
    return _on_host("inv", lambda value: _linalg().inv(value), x, square=True)[0]


def solve(x1: Any, x2: Any, /) -> Array:
    """Return x with `x1 @ x == x2`; a second operand of rank 1 is a vector."""
    vector = len(as_node(x2).meta.shape) == 1

    def solved(a: Any, b: Any) -> Any:
        found = _linalg().solve(a, b[:, None] if vector else b)
        return found[..., 0] if vector else found

    return _on_host("solve", solved, x1, x2, square=True, attrs=(("vector", vector),))[0]


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Return orthonormal columns and an upper triangle whose product each matrix is."""
    if mode not in ("reduced", "complete"):
        raise InputError("array-argument", f"mode={mode!r} is not 'reduced' or 'complete'")
    return QRResult(*_on_host("qr", lambda value: tuple(_linalg().qr(value, mode=mode)), x))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Return U, S and Vh with `x == (U * S) @ Vh`, singular values in descending order."""

    def factors(value: Any) -> Any:
        return tuple(_linalg().svd(value, full_matrices=full_matrices))

    return SVDResult(*_on_host("svd", factors, x))


def svdvals(x: Any, /) -> Array:
    """Return the singular values of each matrix in descending order."""
    return _on_host("svdvals", lambda value: _linalg().svd(value, compute_uv=False), x)[0]


def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """Return the pseudo-inverse; singular values up to `rtol` times the largest count as 0."""

    def inverse(value: Any) -> Any:
        return _linalg().pinv(value, rcond=_tolerance(value, rtol))

    return _on_host("pinv", inverse, x)[0]


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """Return how many singular values exceed `rtol` times the largest."""
    import numpy as np

    def rank(value: Any) -> Any:
        values = _linalg().svd(value, compute_uv=False)
        least = values.max(axis=-1, keepdims=True, initial=0)
        least = least * np.asarray(_tolerance(value, rtol))[..., None]
        return np.count_nonzero(values > least, axis=-1)

    (found,) = _on_host("matrix_rank", rank, x)
    return found.astype(int64, copy=False)


def _tolerance(value: Any, rtol: Any) -> Any:
    """Return the relative tolerance: the larger size times the distance of 1 to the next float."""
    import numpy as np

    if rtol is None:
        return max(value.shape[-2:]) * np.finfo(value.dtype).eps
    return np.asarray(rtol, dtype=value.dtype)
