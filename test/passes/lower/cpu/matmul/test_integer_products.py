# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products and convolutions of narrow integers through dot-product instructions, exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from xyntra.passes.lower.cpu import LoweringOptions
from xyntra.targets.cpu.device import host_device

RNG = np.random.default_rng(29)
KINDS = ["pairs", "quads"]
if host_device().dot_products != "none":
    KINDS.append(host_device().dot_products)
LAYOUTS = {"": ("(m, k)", "(k, n)"), "a": ("(k, m)", "(k, n)"), "b": ("(m, k)", "(n, k)")}


def product(
    a: str, b: str, c: str, maps: list[str], iterators: str, widths: str = "88", signs: str = "ss"
) -> str:
    """A kernel that sums products of integers of 8 or 16 bits, signed or unsigned."""
    kinds = [f"i{'16' if width == '6' else '8'}" for width in widths]
    names = [f"tensor<{a}x{kinds[0]}>", f"tensor<{b}x{kinds[1]}>", f"tensor<{c}xi32>"]
    words = ", ".join(f'"{"parallel" if letter == "p" else "reduction"}"' for letter in iterators)
    return f"""
    func.func @k(%a: {names[0]}, %b: {names[1]}) -> {names[2]} {{
      %zero = arith.constant 7 : i32
      %e = tensor.empty() : {names[2]}
      %f = linalg.fill ins(%zero: i32) outs(%e: {names[2]}) -> {names[2]}
      %r = linalg.generic {{
        indexing_maps = [{", ".join(f"affine_map<{text}>" for text in maps)}],
        iterator_types = [{words}]}}
        ins(%a, %b: {names[0]}, {names[1]}) outs(%f: {names[2]}) {{
      ^bb0(%x: {kinds[0]}, %y: {kinds[1]}, %o: i32):
        %wx = arith.ext{signs[0]}i %x : {kinds[0]} to i32
        %wy = arith.ext{signs[1]}i %y : {kinds[1]} to i32
        %p = arith.muli %wx, %wy : i32
        %s = arith.addi %o, %p : i32
        linalg.yield %s : i32
      }} -> {names[2]}
      return %r : {names[2]}
    }}"""


def matmul(
    m: int, n: int, k: int, layout: str = "", batch: int = 0, signs: str = "ss", widths: str = "88"
) -> str:
    size, lead = {"m": m, "n": n, "k": k}, f"{batch}x" if batch else ""
    loops = "(z, m, n, k)" if batch else "(m, n, k)"
    texts = [*LAYOUTS[layout], "(m, n)"]
    shapes = [lead + "x".join(str(size[name]) for name in text[1:-1].split(", ")) for text in texts]
    maps = [f"{loops} -> ({'z, ' if batch else ''}{text[1:]}" for text in texts]
    return product(*shapes, maps, "pppr" if batch else "ppr", widths, signs)


def with_constant(text: str, name: str) -> str:
    """The kernel with an operand that is known when a model is loaded."""
    head, rest = text.split(f"%{name}: ", 1)
    kind, rest = rest.split(">", 1)
    return f"{head}%{name}: {kind}> {{xyntra.constant}}{rest}"


def stored(values: np.ndarray, sign: str) -> np.ndarray:
    """Integers as a kernel takes them, whose types have no sign."""
    return values.view(np.int8) if sign == "u" else values


def drawn(shape: tuple[int, ...], sign: str, *, extreme: bool = False) -> np.ndarray:
    limits = np.iinfo(np.uint8 if sign == "u" else np.int8)
    if extreme:
        return RNG.choice([limits.min, limits.max], shape).astype(limits.dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(limits.dtype)


def check(
    kernel: Callable[..., list[np.ndarray]], a: np.ndarray, b: np.ndarray, layout: str, signs: str
) -> None:
    left = np.swapaxes(a, -1, -2) if layout == "a" else a
    right = np.swapaxes(b, -1, -2) if layout == "b" else b
    arrays = [np.ascontiguousarray(each) for each in (left, right)]
    (found,) = kernel(*(stored(x, sign) for x, sign in zip(arrays, signs, strict=True)))
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32) + 7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signs", ["ss", "us", "su", "uu"])
@pytest.mark.parametrize(("m", "n", "k"), [(4, 4, 8), (5, 9, 13), (7, 31, 33), (70, 40, 50)])
def test_every_sign(
    compiled: Callable[..., object], kind: str, signs: str, m: int, n: int, k: int
) -> None:
    kernel = compiled(matmul(m, n, k, signs=signs), options=LoweringOptions(dot_products=kind))
    for extreme in (False, True):
        a, b = drawn((m, k), signs[0], extreme=extreme), drawn((k, n), signs[1], extreme=extreme)
        check(kernel, a, b, "", signs)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["", "a", "b"])
@pytest.mark.parametrize(
    ("batch", "m", "n", "k"), [(0, 13, 300, 51), (0, 300, 17, 64), (3, 9, 33, 32)]
)
def test_layouts_and_batches(
    compiled: Callable[..., object], kind: str, layout: str, batch: int, m: int, n: int, k: int
) -> None:
    text = matmul(m, n, k, layout, batch, "us")
    lead = (batch,) if batch else ()
    kernel = compiled(text, options=LoweringOptions(dot_products=kind))
    check(kernel, drawn((*lead, m, k), "u"), drawn((*lead, k, n), "s"), layout, "us")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constant", ["a", "b"])
@pytest.mark.parametrize("signs", ["ss", "us"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 24, 9), (7, 33, 51), (130, 40, 64), (9, 300, 20)])
def test_constants_are_prepared(
    compiled: Callable[..., object], kind: str, constant: str, signs: str, m: int, n: int, k: int
) -> None:
    text = with_constant(matmul(m, n, k, signs=signs), constant)
    kernel = compiled(text, options=LoweringOptions(dot_products=kind))
    if m > 1 or constant == "b":
        assert kernel.lowered.prepared_bytes  # type: ignore[attr-defined]
    check(kernel, drawn((m, k), signs[0]), drawn((k, n), signs[1]), "", signs)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_sixteen_bits_wrap_around_and_do_not_saturate(
    compiled: Callable[..., object], kind: str
) -> None:
    kernel = compiled(matmul(6, 16, 34, widths="66"), options=LoweringOptions(dot_products=kind))
    a, b = np.full((6, 34), -32768, np.int16), np.full((34, 16), -32768, np.int16)
    (found,) = kernel(a, b)  # type: ignore[operator]
    wanted = np.int64(34 * 2**30 + 7).astype(np.int32)
    np.testing.assert_array_equal(found, np.full((6, 16), wanted, np.int32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize(
    ("stride", "size", "inputs"), [(1, 9, 3), (2, 10, 8), (1, 5, 17), (1, 14, 4)]
)
def test_convolutions(
    compiled: Callable[..., object],
    kind: str,
    channels_last: bool,
    stride: int,
    size: int,
    inputs: int,
) -> None:
    out, count = (size - 3) // stride + 1, 20
    rows, columns = f"h * {stride} + r", f"w * {stride} + s"
    orders = ("c, h, w, i, r, s", "h, w, c, r, s, i")
    shapes = [f"{inputs}x{size}x{size}", f"{count}x{inputs}x3x3", f"{count}x{out}x{out}"]
    maps = [f"(i, {rows}, {columns})", "(c, i, r, s)", "(c, h, w)"]
    if channels_last:
        shapes = [f"{size}x{size}x{inputs}", f"3x3x{inputs}x{count}", f"{out}x{out}x{count}"]
        maps = [f"({rows}, {columns}, i)", "(r, s, i, c)", "(h, w, c)"]
    maps = [f"({orders[channels_last]}) -> {text}" for text in maps]
    text = product(*shapes, maps, "ppprrr", signs="us")
    kernel = compiled(text, options=LoweringOptions(dot_products=kind))
    x, weight = drawn((inputs, size, size), "u"), drawn((count, inputs, 3, 3), "s")
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::stride, ::stride]
    wanted = np.einsum("ihwrs,cirs->chw", windows.astype(np.int64), weight.astype(np.int64)) + 7
    order = [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2)]
    if channels_last:
        order = [(1, 2, 0), (2, 3, 1, 0), (1, 2, 0)]
    a, b = (np.ascontiguousarray(y.transpose(p)) for y, p in zip((x, weight), order, strict=False))
    (found,) = kernel(stored(a, "u"), b)  # type: ignore[operator]
    np.testing.assert_array_equal(found, wanted.transpose(order[2]))
