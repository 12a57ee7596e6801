# SPDX-License-Identifier: MIT OR Apache-2.0
"""erf and erfc of an f64.

Below 0.9277 erf(x) = x + x P(x**2), and below 1/2 erfc(x) = 1 - erf(x). Above,
erfc(x) = exp(-x**2) R(t) / (1 + 2 x) with t = (x - 3) / (x + 3) (M. M. Shepherd and J. G.
Laframboise, Math. Comp. 36, 1981), and erf(x) = 1 - erfc(x). The coefficients interpolate the
functions at Chebyshev points.
"""

from __future__ import annotations

from xyntra.passes.math.double.exp import EXP, reduce_sum_by_ln2
from xyntra.passes.math.double.exponent import scale
from xyntra.passes.math.values import Float, fma, polynomial

__all__ = ["erf", "erfc"]

_SWITCH = 0.9277
# erfc(x) underflows to 0 above 27.23.
_HIGHEST = 27.3
# erf(sqrt(t)) / sqrt(t) - 1 on 0 <= t <= _SWITCH**2, error 2^-55.8.
_SMALL = (
    0.1283791670955126,
    -0.3761263890318371,
    0.11283791670952735,
    -0.02686617064461161,
    0.005223977619601503,
    -0.000854832663561777,
    0.00012055316627147678,
    -1.4925195173918341e-05,
    1.6453627889472031e-06,
    -1.6260578187314744e-07,
    1.3967153517076844e-08,
    -8.301815886527071e-10,
)
# (1 + 2 x) exp(x**2) erfc(x) in t on 1/2 <= x <= _HIGHEST, relative error 2^-53.8.
_LARGE = (
    1.2530080582697296,
    -0.13562110612458078,
    -0.047562294353435265,
    0.12964515870271254,
    -0.11927366341629257,
    0.0683080273457887,
    -0.023770514894356023,
    0.002529391783806301,
    0.0018886900530070958,
    -0.000779831946529359,
    -0.00010515756321434678,
    0.00012509732433842115,
    4.9394062176004435e-06,
    -2.0092468813829974e-05,
    -7.028020732013142e-07,
    3.4515839769737127e-06,
    3.054931767849695e-07,
    -5.831505718243247e-07,
    -8.635219698688152e-08,
    7.086022948634711e-08,
    9.413638433491175e-09,
)


def erf(x: Float) -> Float:
    """Return the error function: odd, -0 stays -0, -1 and 1 at the infinities."""
    magnitude = abs(x)
    large = (1.0 - _erfc_of_large(magnitude)).with_sign_of(x)
    # NaN takes the first branch.
    return (magnitude > _SWITCH).select(large, _erf_of_small(x))


def erfc(x: Float) -> Float:
    """Return 1 - erf(x) without cancellation: 2 at -inf, 0 at +inf through denormal results."""
    magnitude = abs(x)
    positive = _erfc_of_large(magnitude)
    outer = (x < 0.0).select(2.0 - positive, positive)
    return (magnitude < 0.5).select(1.0 - _erf_of_small(x), outer)


def _erf_of_small(x: Float) -> Float:
    return fma(x, polynomial(x * x, _SMALL), x)


def _erfc_of_large(magnitude: Float) -> Float:
    """Return erfc of at least 1/2."""
    bounded = magnitude.at_most(_HIGHEST)
    t = (bounded - 3.0) / (bounded + 3.0)
    factor = polynomial(t, _LARGE) / fma(bounded, 2.0, 1.0)
    # The upper half of x has an exact square, so that exp's argument is known to its last bit.
    upper = (bounded.bits() & ~0x7FFFFFF).as_float()
    rest = (upper - bounded) * (upper + bounded)
    n, r = reduce_sum_by_ln2(-(upper * upper), rest)
    return scale(polynomial(r, EXP) * factor, n)
