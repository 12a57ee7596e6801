# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for operators that compute with complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from xyntra.frontends.torch.complex_pairs.pair import Pair, Rule, as_pair, parts
from xyntra.frontends.torch.reducing.traces import TooHardError

__all__ = ["ARITHMETIC"]

_MOST_FACTORS = 4
"""An integer power up to this is a product."""


def _add(x: Any, y: Any, *, alpha: Any = 1) -> Pair:
    (a, b), (c, d) = parts(x), parts(y if alpha == 1 else _mul(y, alpha))
    re = a + c
    if d is None:
        return Pair(re, b.expand_as(re))
    im = d if b is None else b + d
    return Pair(re, im if isinstance(im, Tensor) else torch.full_like(re, im))


def _sub(x: Any, y: Any, *, alpha: Any = 1) -> Pair:
    return _add(x, _mul(y, -alpha))


def _rsub(x: Any, y: Any, alpha: Any = 1) -> Pair:
    return _sub(y, x, alpha=alpha)


def _mul(x: Any, y: Any) -> Any:
    (a, b), (c, d) = parts(x), parts(y)
    if b is None and d is None:
        return a * c
    if d is None:
        return Pair(a * c, b * c)
    if b is None:
        return Pair(a * c, a * d)
    return Pair(a * c - b * d, a * d + b * c)


def _div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Divide without overflow where the square of the denominator has one."""
    (a, b), (c, d) = parts(x), parts(y)
    if rounding_mode is not None:
        raise TooHardError
    if d is None:
        return Pair(a / c, b / c)
    if not isinstance(c, Tensor):
        number = 1 / complex(c, d)
        return _mul(x, number)
    scale = torch.maximum(c.abs(), d.abs())
    c_, d_ = c / scale, d / scale
    size = c * c_ + d * d_
    if b is None:
        return Pair(a * c_ / size, -(a * d_) / size)
    return Pair((a * c_ + b * d_) / size, (b * c_ - a * d_) / size)


def _reciprocal(x: Pair) -> Any:
    return _div(torch.ones_like(x.re), x)


def _conj(x: Pair) -> Pair:
    return Pair(x.re, -x.im)


def _abs(x: Pair) -> Tensor:
    return torch.hypot(x.re, x.im)


def _angle(x: Pair) -> Tensor:
    return torch.atan2(x.im, x.re)


def _polar(size: Tensor, angle: Tensor) -> Pair:
    return Pair(size * angle.cos(), size * angle.sin())


def _exp(x: Pair) -> Pair:
    return _polar(x.re.exp(), x.im)


def _log(x: Pair) -> Pair:
    return Pair(_abs(x).log(), _angle(x))


def _sqrt(x: Pair) -> Pair:
    return _polar(_abs(x).sqrt(), _angle(x) / 2)


def _square(x: Pair) -> Any:
    return _mul(x, x)


def _sgn(x: Pair) -> Pair:
    size = _abs(x)
    is_zero = size == 0
    divisor = torch.where(is_zero, 1.0, size)
    return Pair(x.re / divisor, x.im / divisor)


def _pow(x: Any, exponent: Any) -> Any:
    if not isinstance(x, Pair) or not isinstance(exponent, (int, float)):
        raise TooHardError
    if exponent in range(1, _MOST_FACTORS + 1):
        result: Any = x
        for _ in range(int(exponent) - 1):
            result = _mul(result, x)
        return result
    if exponent == -1:
        return _reciprocal(x)
    return _polar(_abs(x) ** exponent, _angle(x) * exponent)


def _eq(x: Any, y: Any) -> Any:
    (a, b), (c, d) = parts(x), parts(y)
    return (a == c) & ((0.0 if b is None else b) == (0.0 if d is None else d))


def _ne(x: Any, y: Any) -> Any:
    return ~_eq(x, y)


def _either(test: Callable[[Tensor], Tensor]) -> Rule:
    return lambda x: test(x.re) | test(x.im)


def _bilinear(product: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule of a product of matrices or vectors."""

    def rule(x: Any, y: Any) -> Pair:
        (a, b), (c, d) = parts(x), parts(y)
        if d is None:
            return Pair(product(a, c), product(b, c))
        if b is None:
            return Pair(product(a, c), product(a, d))
        return Pair(product(a, c) - product(b, d), product(a, d) + product(b, c))

    return rule


def _vdot(x: Any, y: Any) -> Any:
    return _bilinear(torch.dot)(_conj(as_pair(x)), y)


def _added(product: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule of a product that is added to something."""
    rule = _bilinear(product)

    def added(start: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Pair:
        return _add(_mul(start, beta), _mul(rule(x, y), alpha))

    return added


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    turned = Pair(weight.re.t(), weight.im.t()) if isinstance(weight, Pair) else weight.t()
    product = _bilinear(torch.matmul)(x, turned)
    return product if bias is None else _add(product, bias)


def _vector_norm(x: Pair, *args: Any, **kwargs: Any) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(_abs(x), *args, **kwargs)
    return norm


ARITHMETIC: dict[str, Rule] = {
    "_conj": _conj,
    "_conj_copy": _conj,
    "_conj_physical": _conj,
    "abs": _abs,
    "add": _add,
    "addmm": _added(torch.mm),
    "addmv": _added(torch.mv),
    "angle": _angle,
    "baddbmm": _added(torch.bmm),
    "bmm": _bilinear(torch.bmm),
    "conj_physical": _conj,
    "div": _div,
    "dot": _bilinear(torch.dot),
    "eq": _eq,
    "exp": _exp,
    "isinf": _either(torch.isinf),
    "isnan": _either(torch.isnan),
    "linalg_vector_norm": _vector_norm,
    "linear": _linear,
    "log": _log,
    "matmul": _bilinear(torch.matmul),
    "mm": _bilinear(torch.mm),
    "mul": _mul,
    "mv": _bilinear(torch.mv),
    "ne": _ne,
    "polar": _polar,
    "pow": _pow,
    "reciprocal": _reciprocal,
    "resolve_conj": lambda x: x,
    "resolve_neg": lambda x: x,
    "rsub": _rsub,
    "sgn": _sgn,
    "sqrt": _sqrt,
    "square": _square,
    "sub": _sub,
    "vdot": _vdot,
}
"""Rules by the names of operators; all return a pair or a real tensor."""
