# SPDX-License-Identifier: MIT OR Apache-2.0
"""Named operations of linalg with an accumulator, against their definitions in numpy's float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlir_programs import Array, check, function, type_of

Settings = dict[str, object]
PRODUCTS = {
    "matmul": "mk,kn->mn",
    "batch_matmul": "bmk,bkn->bmn",
    "batch_reduce_matmul": "bmk,bkn->mn",
    "matvec": "mk,k->m",
    "vecmat": "k,kn->n",
    "batch_matvec": "bmk,bk->bm",
    "batch_vecmat": "bk,bkn->bn",
    "dot": "k,k->",
    "mmt4d": "mkac,ndbc->mnab".replace("d", "k"),
    "batch_mmt4d": "xmkac,xnkbc->xmnab",
}
CONVOLUTIONS = {
    "conv_1d": ("w", "w", "w"),
    "conv_2d": ("hw", "hw", "hw"),
    "conv_3d": ("dhw", "dhw", "dhw"),
    "conv_1d_ncw_fcw": ("ncw", "fcw", "nfw"),
    "conv_1d_nwc_wcf": ("nwc", "wcf", "nwf"),
    "conv_2d_nchw_fchw": ("nchw", "fchw", "nfhw"),
    "conv_2d_ngchw_fgchw": ("ngchw", "fgchw", "ngfhw"),
    "conv_2d_ngchw_gfchw": ("ngchw", "gfchw", "ngfhw"),
    "conv_2d_nhwc_fhwc": ("nhwc", "fhwc", "nhwf"),
    "conv_2d_nhwc_hwcf": ("nhwc", "hwcf", "nhwf"),
    "conv_2d_nhwgc_gfhwc": ("nhwgc", "gfhwc", "nhwgf"),
    "conv_3d_ncdhw_fcdhw": ("ncdhw", "fcdhw", "nfdhw"),
    "conv_3d_ndhwc_dhwcf": ("ndhwc", "dhwcf", "ndhwf"),
    "depthwise_conv_1d_ncw_cw": ("ncw", "cw", "ncw"),
    "depthwise_conv_1d_nwc_wc": ("nwc", "wc", "nwc"),
    "depthwise_conv_1d_nwc_wcm": ("nwc", "wcm", "nwcm"),
    "depthwise_conv_2d_nchw_chw": ("nchw", "chw", "nchw"),
    "depthwise_conv_2d_nhwc_hwc": ("nhwc", "hwc", "nhwc"),
    "depthwise_conv_2d_nhwc_hwcm": ("nhwc", "hwcm", "nhwcm"),
    "depthwise_conv_3d_ncdhw_cdhw": ("ncdhw", "cdhw", "ncdhw"),
    "depthwise_conv_3d_ndhwc_dhwc": ("ndhwc", "dhwc", "ndhwc"),
    "depthwise_conv_3d_ndhwc_dhwcm": ("ndhwc", "dhwcm", "ndhwcm"),
}
POOLINGS = [
    f"pooling_{layout}_{kind}"
    for layout, kinds in {
        "nhwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"),
        "nchw": ("sum", "max"),
        "nwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"),
        "ncw": ("sum", "max"),
        "ndhwc": ("sum", "max", "min"),
    }.items()
    for kind in kinds
]
SIZES = {"n": 2, "c": 3, "f": 5, "g": 2, "m": 2}
EXTENTS, TAPS, STEPS, DILATIONS = (
    {"d": 5, "h": 9, "w": 11},
    {"d": 2, "h": 3, "w": 2},
    {"d": 1, "h": 2, "w": 3},
    {"d": 2, "h": 1, "w": 2},
)


def out_size(letter: str) -> int:
    reach = (TAPS[letter] - 1) * DILATIONS[letter] + 1
    return (EXTENTS[letter] - reach) // STEPS[letter] + 1


def image_shape(layout: str) -> list[int]:
    return [EXTENTS[x] if x in EXTENTS else SIZES[x] for x in layout]


def result_shape(layout: str) -> list[int]:
    return [out_size(x) if x in EXTENTS else SIZES[x] for x in layout]


def windows(image: Array, layout: str) -> Any:
    """Yield, for every tap, its positions and the part of `image` that it meets."""
    spatial = [x for x in layout if x in EXTENTS]
    for taps in np.ndindex(*(TAPS[x] for x in spatial)):
        at = dict(zip(spatial, taps, strict=True))
        parts = tuple(
            slice(at[x] * DILATIONS[x], None, STEPS[x]) if x in at else slice(None) for x in layout
        )
        part = image[parts]
        sizes = tuple(slice(out_size(x)) if x in at else slice(None) for x in layout)
        yield at, part[sizes]


def convolve(image: Array, taps: Array, layouts: tuple[str, str, str]) -> Array:
    total = 0
    for at, part in windows(image, layouts[0]):
        tap = taps[tuple(at.get(x, slice(None)) for x in layouts[1])]
        left = "".join(x for x in layouts[1] if x not in at)
        total = total + np.einsum(f"{layouts[0]},{left}->{layouts[2]}", part, tap)
    return np.asarray(total)


def normal(shape: Any, generator: np.random.Generator) -> Array:
    return generator.standard_normal(shape).astype(np.float32)


def integers(shape: Any, generator: np.random.Generator, dtype: Any = np.int8) -> Array:
    return generator.integers(-128, 128, shape).astype(dtype)


def named(op: str, arguments: list[Array], attributes: str = "") -> str:
    """The operation on %0, %1 … of which the last one is the accumulator."""
    *inputs, last = [(f"%{i}", type_of(array)) for i, array in enumerate(arguments)]
    names, types = (", ".join(each[part] for each in inputs) for part in (0, 1))
    return (
        f"  %r0 = linalg.{op} {attributes} ins({names} : {types})"
        f" outs({last[0]} : {last[1]}) -> {last[1]}"
    )


@pytest.mark.parametrize("size", [7, 1, 0])
@pytest.mark.parametrize("op", PRODUCTS)
def test_products(op: str, size: int, settings: Settings) -> None:
    generator = np.random.default_rng()
    factors, result = PRODUCTS[op].split("->")
    sizes = {letter: 3 + i for i, letter in enumerate(sorted(set(factors) - {","}))} | {"k": size}
    a, b = (normal([sizes[x] for x in factor], generator) for factor in factors.split(","))
    c = normal([sizes[x] for x in result], generator)
    expected = np.einsum(PRODUCTS[op], a.astype(float), b.astype(float)) + c
    text = function(named(op, [a, b, c]), [a, b, c], [c])
    check(text, [a, b, c], [expected.astype(np.float32)], settings, 4)


@pytest.mark.parametrize("op", CONVOLUTIONS)
def test_convolutions(op: str, settings: Settings) -> None:
    generator = np.random.default_rng()
    layouts = CONVOLUTIONS[op]
    x = normal(image_shape(layouts[0]), generator)
    w = normal([TAPS[x] if x in TAPS else SIZES[x] for x in layouts[1]], generator)
    acc = normal(result_shape(layouts[2]), generator)
    expected = acc + convolve(x.astype(float), w.astype(float), layouts)
    body = named(op, [x, w, acc], attributes_of(layouts[0], plain=len(op) == 7))
    text = function(body, [x, w, acc], [acc])
    if len(op) == 7:  # conv_1d and the like have steps of 1
        return
    check(text, [x, w, acc], [expected.astype(np.float32)], settings, 8)


def attributes_of(layout: str, plain: bool = False) -> str:
    spatial = [x for x in "dhw" if x in layout]
    if plain:
        return ""
    fields = {"strides": STEPS, "dilations": DILATIONS}
    parts = [
        f"{name} = dense<{[numbers[x] for x in spatial]}> : tensor<{len(spatial)}xi64>"
        for name, numbers in fields.items()
    ]
    return f"{{{', '.join(parts)}}}"


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions_of_single_images(rank: int, settings: Settings) -> None:
    generator = np.random.default_rng()
    x, w = normal([6, 7, 8][:rank], generator), normal([3, 2, 3][:rank], generator)
    shape = [a - b + 1 for a, b in zip(x.shape, w.shape, strict=True)]
    acc = normal(shape, generator)
    expected = acc.astype(float)
    for at in np.ndindex(*w.shape):
        part = tuple(slice(i, i + n) for i, n in zip(at, shape, strict=True))
        expected = expected + x[part].astype(float) * w[at]
    text = function(named(f"conv_{rank}d", [x, w, acc]), [x, w, acc], [acc])
    check(text, [x, w, acc], [expected.astype(np.float32)], settings, 8)


@pytest.mark.parametrize("op", POOLINGS)
def test_poolings(op: str, settings: Settings) -> None:
    generator = np.random.default_rng()
    layout, kind = op.split("_")[1], "_".join(op.split("_")[2:])
    unsigned = kind.endswith("unsigned")
    make = (
        (lambda s: integers(s, generator, np.int32)) if unsigned else lambda s: normal(s, generator)
    )
    x, acc = make(image_shape(layout)), make(result_shape(layout))
    w = make([TAPS[x] for x in layout if x in TAPS])
    if not unsigned:
        x.flat[::29] = np.nan
    wide = np.uint32 if unsigned else np.float64
    combine: Any = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind.split("_")[0]]
    expected = acc.view(np.uint32) if unsigned else acc.astype(wide)
    for _, part in windows(x.view(np.uint32) if unsigned else x.astype(wide), layout):
        expected = combine(expected, part)
    expected = expected.view(np.int32) if unsigned else expected.astype(np.float32)
    text = function(named(op, [x, w, acc], attributes_of(layout)), [x, w, acc], [acc])
    check(text, [x, w, acc], [expected], settings, 4)


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in CONVOLUTIONS
        if op
        in {
            "conv_2d_nchw_fchw",
            "conv_2d_ngchw_gfchw",
            "conv_2d_nhwc_fhwc",
            "conv_2d_nhwc_hwcf",
            "conv_2d_nhwgc_gfhwc",
            "conv_3d_ndhwc_dhwcf",
            "depthwise_conv_2d_nhwc_hwc",
            "depthwise_conv_2d_nhwc_hwcm",
        }
    ],
)
def test_quantized_convolutions(op: str, settings: Settings) -> None:
    generator = np.random.default_rng()
    layouts = CONVOLUTIONS[op]
    x = integers(image_shape(layouts[0]), generator)
    w = integers([TAPS[x] if x in TAPS else SIZES[x] for x in layouts[1]], generator)
    acc = integers(result_shape(layouts[2]), generator, np.int32)
    expected = acc + convolve(x.astype(np.int64) - 3, w.astype(np.int64) + 5, layouts)
    types = f"{type_of(x)}, {type_of(w)}, i32, i32"
    body = (
        "  %p = arith.constant 3 : i32\n  %q = arith.constant -5 : i32\n"
        f"  %r0 = linalg.{op}_q {attributes_of(layouts[0])} ins(%0, %1, %p, %q : {types})"
        f" outs(%2 : {type_of(acc)}) -> {type_of(acc)}"
    )
    check(function(body, [x, w, acc], [acc]), [x, w, acc], [expected.astype(np.int32)], settings)


@pytest.mark.parametrize(
    ("op", "equation"),
    [
        ("quantized_matmul", "mk,kn->mn"),
        ("quantized_batch_matmul", "bmk,bkn->bmn"),
    ],
)
def test_quantized_products(op: str, equation: str, settings: Settings) -> None:
    generator = np.random.default_rng()
    sizes = {"b": 2, "m": 5, "n": 6, "k": 7}
    factors, result = equation.split("->")
    a, b = (integers([sizes[x] for x in factor], generator) for factor in factors.split(","))
    c = integers([sizes[x] for x in result], generator, np.int32)
    p, q = np.array(3, np.int32), np.array(-5, np.int32)
    expected = np.einsum(equation, a.astype(np.int64) - p, b.astype(np.int64) - q) + c
    body = (
        "  %p = tensor.extract %3[] : tensor<i32>\n  %q = tensor.extract %4[] : tensor<i32>\n"
        f"  %r0 = linalg.{op} ins(%0, %1, %p, %q : {type_of(a)}, {type_of(b)}, i32, i32)"
        f" outs(%2 : {type_of(c)}) -> {type_of(c)}"
    )
    text = function(body, [a, b, c, p, q], [c])
    check(text, [a, b, c, p, q], [expected.astype(np.int32)], settings)


MAPS = {
    "transposed a": ("km,kn->mn", "d2, d0", "d2, d1"),
    "transposed b": ("mk,nk->mn", "d0, d2", "d1, d2"),
    "both": ("km,nk->mn", "d2, d0", "d1, d2"),
    "row of a": ("k,kn->mn", "d2", "d2, d1"),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("op", ["matmul", "contract"])
def test_products_with_maps(op: str, name: str, settings: Settings) -> None:
    generator = np.random.default_rng()
    equation, left, right = MAPS[name]
    sizes = {"m": 5, "n": 6, "k": 7}
    a, b = (
        normal([sizes[x] for x in factor], generator)
        for factor in equation.split("->")[0].split(",")
    )
    c = normal([5, 6], generator)
    expected = (
        np.einsum(
            equation.replace("->mn", "->n" if "m" not in equation[:-2] else "->mn"),
            a.astype(float),
            b.astype(float),
        )
        + c
    )
    maps = ", ".join(f"affine_map<(d0, d1, d2) -> ({each})>" for each in (left, right, "d0, d1"))
    body = named(op, [a, b, c], f"indexing_maps = [{maps}]")
    check(function(body, [a, b, c], [c]), [a, b, c], [expected.astype(np.float32)], settings, 4)
