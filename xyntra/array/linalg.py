# SPDX-License-Identifier: MIT OR Apache-2.0
"""The standard's extension of linear algebra: `xa.linalg.solve(a, b)`.

Products, norms and what moves elements are recorded. Factorisations are computed at once, by
LAPACK in the memory of the host.
"""

from xyntra.array.functions.factorizations import (
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from xyntra.array.functions.manipulation import matrix_transpose
from xyntra.array.functions.matrices import (
    cross,
    diagonal,
    matrix_norm,
    matrix_power,
    trace,
    vector_norm,
)
from xyntra.array.functions.products import matmul, outer, tensordot, vecdot

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
