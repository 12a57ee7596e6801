# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for the gradients of factorisations, as Giles (2008) and Walter and Lehmann give them."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.array.arrays import Array
from xyntra.array.autograd.registry import BackwardStep, rule, rules, summed_to
from xyntra.array.functions.creation import eye, tril
from xyntra.array.functions.elementwise import reciprocal
from xyntra.array.functions.factorizations import eigh, inv, solve, svd
from xyntra.errors import UnsupportedError

Gradients = Sequence["Array | None"]

rules(
    inv=lambda s: -(s.out.mT @ s.g @ s.out.mT),
    det=lambda s: (s.g * s.out)[..., None, None] * inv(s.args[0]).mT,
    eigvalsh=lambda s: _of_eigenvalues(s),
    svdvals=lambda s: _of_singular_values(s),
)


@rule("slogdet")
def slogdet_gradient(step: BackwardStep) -> Gradients:
    """The sign changes by steps alone."""
    if step.attr("result") == 0:
        return (None,)
    return (step.g[..., None, None] * inv(step.args[0]).mT,)


@rule("solve")
def solve_gradient(step: BackwardStep) -> Gradients:
    a, b = step.args
    vector = step.attr("vector")
    g = step.g[..., None] if vector else step.g
    x = step.out[..., None] if vector else step.out
    of_b = solve(a.mT, g)
    of_a = -(of_b @ x.mT)
    return summed_to(of_a, a.shape), summed_to(of_b[..., 0] if vector else of_b, b.shape)


@rule("cholesky")
def cholesky_gradient(step: BackwardStep) -> Gradients:
    """The gradient of the symmetric matrix, of which both triangles count by half."""
    lower, g = (step.out.mT, step.g.mT) if step.attr("upper") else (step.out, step.g)
    inner = tril(lower.mT @ g)
    inner = inner - inner * eye(inner.shape[-1], dtype=inner.dtype) * 0.5
    back = inv(lower)
    found = back.mT @ inner @ back
    return ((found + found.mT) * 0.5,)


@rule("eigh")
def eigh_gradient(step: BackwardStep) -> Gradients:
    """Eigenvectors of equal eigenvalues are not determined: their gradient is not finite."""
    if step.attr("result") == 0:
        return (_of_eigenvalues(step),)
    values, vectors = eigh(step.args[0])
    one = eye(values.shape[-1], dtype=values.dtype)
    apart = values[..., None, :] - values[..., :, None]
    inverse = reciprocal(apart + one) * (1.0 - one)
    found = vectors @ ((vectors.mT @ step.g) * inverse) @ vectors.mT
    return ((found + found.mT) * 0.5,)


def _of_eigenvalues(step: BackwardStep) -> Array:
    vectors = eigh(step.args[0]).eigenvectors
    found: Array = (vectors * step.g[..., None, :]) @ vectors.mT
    return found


@rule("svd")
def svd_gradient(step: BackwardStep) -> Gradients:
    if step.attr("result") != 1:
        raise UnsupportedError(
            "array-gradient",
            "singular vectors have no gradient",
            cause="they are determined up to their sign, and none where values are equal",
            hint="use the singular values alone, or xa.linalg.eigh(x.mT @ x)",
        )
    return (_of_singular_values(step),)


def _of_singular_values(step: BackwardStep) -> Array:
    u, _, vh = svd(step.args[0], full_matrices=False)
    found: Array = (u * step.g[..., None, :]) @ vh
    return found
