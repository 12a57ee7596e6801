# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes with numbers of a call by writing the expression that the caller evaluates."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any, Literal

from xyntra.errors import KernelError
from xyntra.frontends.kernel.values import HostScalar, NeedsConstant

__all__ = ["host_binary", "host_call", "host_negative"]

_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
}  # fmt: skip
_WHOLE = ("floor", "ceil", "trunc", "comb", "factorial", "gcd", "isqrt", "lcm", "perm")
_MOST_TEXT = 2000


def host_binary(operator: ast.operator, left: Any, right: Any) -> HostScalar:
    """Return the result of an operator of which an operand, or both, are numbers of the call.

    Raises:
        NeedsConstant: the operator is none of arithmetic.
    """
    symbol = _SYMBOLS.get(type(operator))
    floats = "float" in (_kind(left), _kind(right)) or symbol == "/"
    if symbol is None or (symbol == "**" and not floats):
        raise NeedsConstant(_parameters([left, right]))
    return _made(
        f"({_text(left)} {symbol} {_text(right)})", "float" if floats else "int", [left, right]
    )


def host_negative(value: HostScalar) -> HostScalar:
    """Return the number with the other sign."""
    return _made(f"(-{value.text})", value.kind, [value])


def host_call(function: Any, arguments: Sequence[Any]) -> HostScalar:
    """Return the result of a function of `math`, or of `float`, `int`, `abs`, `min` and `max`.

    Raises:
        NeedsConstant: it is another function.
    """
    name = getattr(function, "__name__", "")
    if function in (float, int, abs, min, max):
        kinds = {_kind(each) for each in arguments}
        whole = function is int or (function is not float and kinds == {"int"})
        text = name
    elif getattr(math, name, None) is function and not name.startswith("is"):
        whole, text = name in _WHOLE, f"math.{name}"
    else:
        raise NeedsConstant(_parameters(arguments))
    return _made(
        f"{text}({', '.join(map(_text, arguments))})", "int" if whole else "float", arguments
    )


def _made(text: str, kind: Literal["int", "float"], operands: Sequence[Any]) -> HostScalar:
    if len(text) > _MOST_TEXT:
        raise KernelError(
            "kernel-limit",
            "a number of the call is computed by too long an expression",
            hint="compute it before the call, and give it as an argument",
        )
    return HostScalar(text, kind, _parameters(operands))


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, HostScalar) else type(value).__name__


def _text(value: Any) -> str:
    if isinstance(value, HostScalar):
        return value.text
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, (bool, int, float)):
        return f"({value!r})"
    raise KernelError("kernel-type", f"a number is needed here, not a {type(value).__name__}")


def _parameters(operands: Sequence[Any]) -> frozenset[str]:
    found = [each.parameters for each in operands if isinstance(each, HostScalar)]
    return frozenset().union(*found)
