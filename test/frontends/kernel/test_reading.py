# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that are wrong are errors on a line and a column of the user's file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import xyntra.lang as xl
from xyntra.errors import KernelError
from xyntra.frontends.kernel.reading import ArrayType, KernelProgram, read_kernel

X, Y = ArrayType("float32", (3, 4)), ArrayType("float32", (5,))
N, FLAGS = ArrayType("int32", (3, 4)), ArrayType("bool", (3, 4))


def read(function: Callable[..., Any], **arguments: Any) -> KernelProgram:
    assert isinstance(function, FunctionType)
    return read_kernel(function, arguments)


def helper(z: Any) -> Any:
    return z @ z


def endless(x: Any) -> Any:
    return endless(x) + 1


def unrolled(x: Any) -> Any:
    while True:
        x = x + 1
    return x


def chosen(x: Any) -> Any:
    if x > 0:
        return x
    return -x


def changed(x: Any) -> Any:
    x[0] = 1.0
    return x


def shared(x: Any) -> Any:
    y = xl.exp(x)
    z = y
    z[0] = 1.0
    return y + z


def caught(x: Any) -> Any:
    try:
        return x
    except ValueError:
        return x


def reduced(x: Any) -> Any:
    return xl.reduce(lambda a, b: a + b * x, x)


def checked(x: Any) -> Any:
    assert x.shape[0] == 4, f"{x.shape[0]} rows"
    return x


WRONG: tuple[tuple[Callable[..., Any], dict[str, Any], str, str], ...] = (
    (lambda x, y: xl.exp(x) + y, {"x": X, "y": Y}, "kernel-shape", "(3, 4) and (5,)"),
    (lambda x: xl.sum(x, axis=2), {"x": X}, "kernel-shape", "no dimension 2"),
    (lambda x: x.reshape(5, 2), {"x": X}, "kernel-shape", "12 elements"),
    (lambda x: x[3], {"x": X}, "kernel-shape", "index 3 is out of range"),
    (lambda x: x @ x, {"x": X}, "kernel-shape", "have no product"),
    (lambda x: xl.max(x[:0]), {"x": X}, "kernel-shape", "no elements"),
    (lambda x: xl.conv(x, x), {"x": X}, "kernel-shape", "[N, C, …]"),
    (lambda x, n: x * n, {"x": X, "n": N}, "kernel-dtype", "float32 and int32"),
    (lambda n: n * 0.5, {"n": N}, "kernel-dtype", "float meets an array of int32"),
    (lambda n: n / 2, {"n": N}, "kernel-dtype", "x // y for integers"),
    (lambda f: f + 1, {"f": FLAGS}, "kernel-dtype", "xl.where"),
    (lambda n: xl.exp(n), {"n": N}, "kernel-dtype", "floating-point"),
    (lambda n: n + 2**31, {"n": N}, "kernel-dtype", "out of the range of int32"),
    (lambda x: np.exp(x), {"x": X}, "kernel-type", "xl.exp"),
    (lambda x: max(x, 0), {"x": X}, "kernel-type", "xl.maximum(a, b)"),
    (lambda x: x > 0 and x < 1, {"x": X}, "kernel-type", "(a) & (b)"),
    (lambda x: 0 < x < 1, {"x": X}, "kernel-type", "(a < b) & (b < c)"),
    (lambda x: x[x > 0], {"x": X}, "kernel-type", "xl.where(mask, x, 0)"),
    (lambda x: xl.sum(x, 1, 2, 3, 4), {"x": X}, "kernel-type", "xl.sum(x, /, axis=None"),
    (lambda x: xl.softmx(x), {"x": X}, "kernel-name", "did you mean 'softmax'?"),
    (lambda x: x.softmax(), {"x": X}, "kernel-name", "xl.softmax(x)"),
    (lambda x: exp(x), {"x": X}, "kernel-name", "xl.exp, with: import"),  # type: ignore[name-defined]  # noqa: F821
    (lambda x: print(x), {"x": X}, "kernel-syntax", "return the value"),
    (lambda x: {x.ndim}, {"x": X}, "kernel-syntax", "a set is not read"),
    (lambda x: x.shape, {"x": X}, "kernel-type", "returns no array"),
    (lambda x: (1).foo, {"x": X}, "kernel-python", "AttributeError"),
    (endless, {"x": X}, "kernel-limit", "more than 40 calls"),
    (unrolled, {"x": X}, "kernel-limit", "20,000 operators"),
    (chosen, {"x": X}, "kernel-type", "xl.where(condition, a, b)"),
    (changed, {"x": X}, "kernel-type", "'x' is an argument"),
    (shared, {"x": X}, "kernel-type", "'z' and 'y' are the same array"),
    (caught, {"x": X}, "kernel-syntax", "try is not read in kernels"),
    (reduced, {"x": X}, "kernel-shape", "computes with single elements"),
    (checked, {"x": X}, "kernel-assert", "3 rows"),
)


@pytest.mark.parametrize(("function", "arguments", "code", "text"), WRONG)
def test_wrong_kernels_are_refused(
    function: Callable[..., Any], arguments: dict[str, Any], code: str, text: str
) -> None:
    with pytest.raises(KernelError) as caught_error:
        read(function, **arguments)
    error = caught_error.value
    assert error.code == code
    assert text in str(error)
    assert __file__ in (error.place or "")


def test_an_error_has_a_line_a_column_and_the_calls_that_led_there() -> None:
    def outer(x: Any) -> Any:
        return helper(x)

    with pytest.raises(KernelError) as caught_error:
        read(outer, x=X)
    lines = (caught_error.value.place or "").split("\n")
    first = helper.__code__.co_firstlineno + 1
    assert lines[0] == f"{__file__}:{first}:12, in helper"
    assert lines[1:3] == ["return z @ z", "       ^^^^^"]
    assert lines[3] == f"called from {__file__}:{outer.__code__.co_firstlineno + 1}:16, in outer"
    assert "z is float32 (3, 4)" in (caught_error.value.cause or "")


def test_source_that_is_not_available(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec("def f(x): return x", names)  # noqa: S102
    with pytest.raises(KernelError, match="the source of f is not available"):
        read(names["f"], x=X)
    path = tmp_path / "kernels.py"
    path.write_text("def g(x): return x\n")
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102
    assert read(names["g"], x=X).program.outputs
    path.write_text("# moved\ndef g(x): return x\n")
    with pytest.raises(KernelError, match="is not where Python has read it"):
        read(names["g"], x=X)


def test_lambdas_of_one_line_are_told_apart() -> None:
    first, second = (lambda x: x + 1), (lambda x: x * 2)
    assert read(first, x=X).program.calls[0].operator == "aten.add.Tensor"
    assert read(second, x=X).program.calls[0].operator == "aten.mul.Tensor"


def test_python_that_constants_decide_is_run() -> None:
    def kernel(x: Any, mode: str = "twice", *more: Any, scale: int = 3, **rest: Any) -> Any:
        """Take branches, unroll loops and call closures."""
        parts = [x * k for k in range(scale) if k != 1]
        for k, part in enumerate(parts):
            if k == 0:
                continue
            x = x + part
            if k > 5:
                break
        else:
            x = x if mode == "once" else 2 * x
        total, *others = (x, *parts)
        names = {f"{k}": each for k, each in enumerate(others)}
        done = lambda y, k=(len(names)): y - k  # noqa: E731, B008
        while scale > 0:
            scale -= 1
        assert not scale, "constants"
        return done(total) if (n := x.ndim) == 2 else n

    program = read(kernel, x=X).program
    found = [call.operator for call in program.calls]
    assert found.count("aten.mul.Tensor") == 2  # x * 0 is in no result
    assert found.count("aten.sub.Tensor") == 1
    assert program.calls[0].label == "kernel:3:18#2"  # the second of that place
