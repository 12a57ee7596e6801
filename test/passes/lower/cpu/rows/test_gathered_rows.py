# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elementwise code that looks elements up at computed places, over ragged sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from torch_mlir import ir

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu import LoweredKernel, LoweringOptions, from_nests, to_nests

RNG = np.random.default_rng(59)
WIDE = LoweringOptions(vector_bits=512, vector_registers=32)
STREAMED = replace(WIDE, cache_bytes=1)
OPTIONS = {"narrow": LoweringOptions(), "wide": WIDE, "streamed": STREAMED}
SUM = """
        %p00 = arith.mulf %v00, %wx0 : f32
        %p01 = arith.mulf %v01, %wx1 : f32
        %s0 = arith.addf %p00, %p01 : f32
        %q0 = arith.mulf %s0, %wy0 : f32
        %p10 = arith.mulf %v10, %wx0 : f32
        %p11 = arith.mulf %v11, %wx1 : f32
        %s1 = arith.addf %p10, %p11 : f32
        %q1 = arith.mulf %s1, %wy1 : f32
        %r = arith.addf %q0, %q1 : f32
"""


def bilinear(
    image: tuple[int, int, int], size: tuple[int, int], after: str = "", last: bool = False
) -> str:
    """Interpolation of [C, H, W], or with `last` of [H, W, C]; `after` makes %t of %r."""
    c, h, w = image
    y, x = size
    places = ["%c", "%{row}", "%{column}"]
    source, target = (c, h, w), (c, y, x)
    maps = ["d1"] * 2 + ["d2"] * 2
    if last:
        places = ["%{row}", "%{column}", "%c"]
        source, target = (h, w, c), (y, x, c)
        maps = ["d0"] * 2 + ["d1"] * 2
    inner, outer = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (source, target))
    loads = "\n".join(
        f"%v{r}{k} = tensor.extract %a[{', '.join(places).format(row=f'y{r}', column=f'x{k}')}]"
        f" : {inner}"
        for r in range(2)
        for k in range(2)
    )
    names = [f"{axis}{tap}" for axis in "yx" for tap in range(2)]
    sizes = [n for n in size for _ in range(2)]
    places_in = [f"tensor<{n}xi32>" for n in sizes]
    weights_in = [f"tensor<{n}xf32>" for n in sizes]
    arguments = [f"%i{n}: {kind}" for n, kind in zip(names, places_in, strict=True)]
    arguments += [f"%u{n}: {kind}" for n, kind in zip(names, weights_in, strict=True)]
    each = [f"affine_map<(d0, d1, d2) -> ({item})>" for item in [*maps, *maps]]
    operands = ", ".join([*(f"%i{n}" for n in names), *(f"%u{n}" for n in names)])
    casts = "\n".join(f"%{n} = arith.index_cast %p{n} : i32 to index" for n in names)
    return f"""
    func.func @k(%a: {inner}, {", ".join(arguments)}) -> {outer} {{
      %e = tensor.empty() : {outer}
      %d = linalg.generic {{indexing_maps = [{", ".join(each)},
          affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
          iterator_types = ["parallel", "parallel", "parallel"]}}
        ins({operands} : {", ".join([*places_in, *weights_in])}) outs(%e: {outer}) {{
      ^bb0({", ".join(f"%p{n}: i32" for n in names)}, {", ".join(f"%w{n}: f32" for n in names)},
           %o: f32):
        {casts}
        %c = linalg.index {2 if last else 0} : index
        {loads}
        {SUM}
        {after}
        linalg.yield {"%t" if after else "%r"} : f32
      }} -> {outer}
      return %d : {outer}
    }}"""


def tables(size: tuple[int, int], image: tuple[int, int, int]) -> list[np.ndarray]:
    """Random places, among them the first and the last, and weights, of both dimensions."""
    places = []
    for n, extent in zip(size, image[1:], strict=True):
        for _ in range(2):
            found = RNG.integers(0, extent, n).astype(np.int32)
            found[0], found[-1] = 0, extent - 1
            places.append(found)
    return [*places, *(RNG.standard_normal(n).astype(np.float32) for n in np.repeat(size, 2))]


def interpolated(image: np.ndarray, arrays: list[np.ndarray]) -> np.ndarray:
    """The same of [C, H, W] in float64."""
    (y0, y1, x0, x1), weights = arrays[:4], [each.astype(np.float64) for each in arrays[4:]]
    image = image.astype(np.float64)
    rows = image[:, y0] * weights[0][:, None], image[:, y1] * weights[1][:, None]
    return sum(row[:, :, x0] * weights[2] + row[:, :, x1] * weights[3] for row in rows)


def schedule(kernel) -> str:
    (found,) = (each for each in kernel.lowered.schedules if "rows" in each or "loops" in each[:12])
    return found


CASES = {
    "ragged": ((3, 5, 9), (11, 37)),
    "whole-vectors": ((2, 8, 16), (16, 64)),
    "few-lanes": ((2, 3, 5), (4, 5)),
    "narrow-image": ((2, 4, 2), (9, 21)),
    "column": ((2, 4, 1), (9, 21)),
    "shrinking": ((2, 9, 700), (3, 20)),
    "one-row": ((1, 1, 6), (1, 19)),
}


@pytest.mark.parametrize("machine", OPTIONS)
@pytest.mark.parametrize("name", CASES)
def test_interpolation(compiled, name, machine):
    image, size = CASES[name]
    kernel = compiled(bilinear(image, size), options=OPTIONS[machine])
    found = schedule(kernel)
    assert found.startswith("gathered-rows")
    assert ("separable" in found) == (name not in ("column", "shrinking"))
    assert ("past_caches" in found) == (machine == "streamed")
    x, arrays = RNG.standard_normal(image).astype(np.float32), tables(size, image)
    bound = interpolated(np.abs(x), [*arrays[:4], *map(np.abs, arrays[4:])])
    result = kernel(x, *arrays)[0]
    assert (np.abs(result - interpolated(x, arrays)) <= 1e-6 * bound).all()


@pytest.mark.parametrize("after", ["", "%t = arith.maximumf %r, %wy0 : f32"])
@pytest.mark.parametrize("channels", [4, 7, 16, 33])
def test_channels_last(compiled, channels, after):
    image, size = (channels, 5, 6), (9, 13)
    kernel = compiled(bilinear(image, size, after, last=True), options=WIDE)
    assert schedule(kernel).startswith("gathered-rows")
    x, arrays = RNG.standard_normal(image).astype(np.float32), tables(size, image)
    result = kernel(np.ascontiguousarray(x.transpose(1, 2, 0)), *arrays)[0]
    expected = interpolated(x, arrays)
    expected = np.maximum(expected, arrays[4][:, None]) if after else expected
    np.testing.assert_allclose(result.transpose(2, 0, 1), expected, rtol=1e-4, atol=1e-4)


def test_nan_and_infinities_stay_where_they_are(compiled):
    image, size = CASES["ragged"]
    kernel = compiled(bilinear(image, size), options=WIDE)
    x, arrays = RNG.standard_normal(image).astype(np.float32), tables(size, image)
    x[0, 1, 2], x[1, 4, 8], x[2, 0, 0] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = interpolated(x, arrays)
    np.testing.assert_allclose(kernel(x, *arrays)[0], expected, rtol=1e-3, atol=1e-4)


LOOKED_UP = """
    func.func @k(%a: tensor<{rows}x{columns}x{kind}>, %i: tensor<{n}x{place}>,
        %j: tensor<{n}xi32>) -> tensor<4x{n}x{kind}> {{
      %e = tensor.empty() : tensor<4x{n}x{kind}>
      %d = linalg.generic {{indexing_maps = [affine_map<(r, x) -> (x)>, affine_map<(r, x) -> (x)>,
          affine_map<(r, x) -> (r, x)>], iterator_types = ["parallel", "parallel"]}}
        ins(%i, %j : tensor<{n}x{place}>, tensor<{n}xi32>) outs(%e: tensor<4x{n}x{kind}>) {{
      ^bb0(%p: {place}, %q: i32, %o: {kind}):
        %y = arith.index_cast %p : {place} to index
        %x = arith.index_cast %q : i32 to index
        %v = tensor.extract %a[%y, %x] : tensor<{rows}x{columns}x{kind}>
        linalg.yield %v : {kind}
      }} -> tensor<4x{n}x{kind}>
      return %d : tensor<4x{n}x{kind}>
    }}"""


COLUMNS = """
    func.func @k(%a: tensor<{rows}x{width}x{kind}>, %t: tensor<{n}x{place}>, %r: tensor<{rows}xi32>)
        -> tensor<{rows}x{n}x{kind}> {{
      %e = tensor.empty() : tensor<{rows}x{n}x{kind}>
      %d = linalg.generic {{indexing_maps = [affine_map<(r, x) -> (x)>, affine_map<(r, x) -> (r)>,
          affine_map<(r, x) -> (r, x)>], iterator_types = ["parallel", "parallel"]}}
        ins(%t, %r : tensor<{n}x{place}>, tensor<{rows}xi32>)
        outs(%e: tensor<{rows}x{n}x{kind}>) {{
      ^bb0(%p: {place}, %q: i32, %o: {kind}):
        %x = arith.index_cast %p : {place} to index
        %y = arith.index_cast %q : i32 to index
        %v = tensor.extract %a[%y, %x] : tensor<{rows}x{width}x{kind}>
        linalg.yield %v : {kind}
      }} -> tensor<{rows}x{n}x{kind}>
      return %d : tensor<{rows}x{n}x{kind}>
    }}"""


TABLES = {
    "reflect": lambda width: np.pad(np.arange(width), (3, 2), "reflect"),
    "edge": lambda width: np.pad(np.arange(width), (1, 4), "edge"),
    "wrap": lambda width: np.pad(np.arange(width), (2, 2), "wrap"),
    "in order": np.arange,
    "a part": lambda width: np.arange(5, width),
    "backwards": lambda width: np.arange(width)[::-1],
    "random": lambda width: RNG.integers(0, width, width + 3),
    "two halves": lambda width: np.roll(np.arange(width), width // 2),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("width", [12, 50, 130])
@pytest.mark.parametrize(("kind", "place"), [("f32", "i64"), ("f64", "i32"), ("i32", "i32")])
def test_runs_of_neighbouring_columns(compiled, name, width, kind, place):
    table = TABLES[name](width)
    text = COLUMNS.format(rows=9, width=width, n=len(table), kind=kind, place=place)
    kernel = compiled(text, options=WIDE)
    assert "runs" in schedule(kernel)
    x = RNG.integers(-1000, 1000, (9, width)).astype(DTYPES[kind])
    rows = RNG.integers(0, 9, 9).astype("i4")
    result = kernel(x, table.astype("i4" if place == "i32" else "i8"), rows)[0]
    np.testing.assert_array_equal(result, x[rows][:, table])


def test_few_rows_do_not_look_through_the_table(compiled):
    kernel = compiled(COLUMNS.format(rows=3, width=40, n=40, kind="f32", place="i64"), options=WIDE)
    assert "runs" not in schedule(kernel)


FRAMES = """
    func.func @k(%a: tensor<3x{width}x{kind}>, %t: tensor<5x{n}x{place}>)
        -> tensor<3x5x{n}x{kind}> {{
      %e = tensor.empty() : tensor<3x5x{n}x{kind}>
      %d = linalg.generic {{indexing_maps = [affine_map<(r, f, x) -> (f, x)>,
          affine_map<(r, f, x) -> (r, f, x)>],
          iterator_types = ["parallel", "parallel", "parallel"]}}
        ins(%t : tensor<5x{n}x{place}>) outs(%e: tensor<3x5x{n}x{kind}>) {{
      ^bb0(%p: {place}, %o: {kind}):
        %r = linalg.index 0 : index
        %x = arith.index_cast %p : {place} to index
        %v = tensor.extract %a[%r, %x] : tensor<3x{width}x{kind}>
        linalg.yield %v : {kind}
      }} -> tensor<3x5x{n}x{kind}>
      return %d : tensor<3x5x{n}x{kind}>
    }}"""


@pytest.mark.parametrize("n", [32, 45])
@pytest.mark.parametrize(("kind", "place"), [("f32", "i64"), ("f64", "i32"), ("i32", "i32")])
def test_places_that_follow_one_another(compiled, n, kind, place):
    """Of five rows, four have runs that reach the first and last element, or end in a vector."""
    width = n + 7
    table = np.stack([np.arange(n) + 7, np.arange(n), np.arange(n) % 11, np.arange(n)[::-1]])
    table = np.concatenate([table, RNG.integers(0, width, (1, n))])
    kernel = compiled(FRAMES.format(width=width, n=n, kind=kind, place=place), options=WIDE)
    assert "neighbours" in schedule(kernel)
    x = RNG.integers(-1000, 1000, (3, width)).astype(DTYPES[kind])
    result = kernel(x, table.astype("i4" if place == "i32" else "i8"))[0]
    np.testing.assert_array_equal(result, x[:, table])


DTYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("place", ["i32", "i64"])
@pytest.mark.parametrize("n", [4, 19, 64])
def test_rows_and_columns(compiled, kind, place, n):
    """Places of 32 and 64 bits, which both vary from lane to lane."""
    text = LOOKED_UP.format(rows=6, columns=10, kind=kind, place=place, n=n)
    kernel = compiled(text, options=WIDE)
    assert schedule(kernel).startswith("gathered-rows")
    x = RNG.integers(-1000, 1000, (6, 10)).astype(DTYPES[kind])
    rows = RNG.integers(0, 6, n).astype("i4" if place == "i32" else "i8")
    columns = RNG.integers(0, 10, n).astype("i4")
    np.testing.assert_array_equal(kernel(x, rows, columns)[0], np.tile(x[rows, columns], (4, 1)))


def test_booleans_are_left_to_scalar_loops(compiled):
    kernel = compiled(LOOKED_UP.format(rows=6, columns=10, kind="i1", place="i32", n=20))
    assert schedule(kernel).startswith("scalar-loops")
    x = RNG.integers(0, 2, (6, 10)).astype(bool)
    rows, columns = (RNG.integers(0, n, 20).astype("i4") for n in (6, 10))
    np.testing.assert_array_equal(kernel(x, rows, columns)[0], np.tile(x[rows, columns], (4, 1)))


SAMPLED = """
    func.func @k(%a: tensor<{channels}x{size}xf32>, %g: tensor<{n}x3xf32>)
        -> tensor<{channels}x{n}xf32> {{
      %first = arith.constant 0.0 : f32
      %last = arith.constant {last} : f32
      %half = arith.constant 0.5 : f32
      %e = tensor.empty() : tensor<{channels}x{n}xf32>
      %d = linalg.generic {{indexing_maps = [affine_map<(c, x) -> (x, 1)>,
          affine_map<(c, x) -> (x, 2)>, affine_map<(c, x) -> (c, x)>],
          iterator_types = ["parallel", "parallel"]}}
        ins(%g, %g : tensor<{n}x3xf32>, tensor<{n}x3xf32>)
        outs(%e: tensor<{channels}x{n}xf32>) {{
      ^bb0(%p: f32, %q: f32, %o: f32):
        %scaled = arith.mulf %p, %last : f32
        %low = arith.maxnumf %scaled, %first : f32
        %high = arith.minnumf %low, %last : f32
        %number = arith.fptosi %high : f32 to i32
        %x = arith.index_cast %number : i32 to index
        %c = linalg.index 0 : index
        %v = tensor.extract %a[%c, %x] : tensor<{channels}x{size}xf32>
        %w = arith.addf %q, %half : f32
        %t = arith.mulf %v, %w : f32
        linalg.yield %t : f32
      }} -> tensor<{channels}x{n}xf32>
      return %d : tensor<{channels}x{n}xf32>
    }}"""


@pytest.mark.parametrize("machine", ["narrow", "wide"])
@pytest.mark.parametrize("told", [None, {"vector": 4}, {"vector": 2, "reused": True}], ids=str)
@pytest.mark.parametrize("sizes", [(5, 7, 37), (3, 100, 16), (2, 4, 4), (1, 9, 50)], ids=str)
def test_places_that_are_computed_once_for_all_channels(lowered_by, compiled, sizes, told, machine):
    """Operands whose lanes lie three elements apart, and a NaN among the places."""
    channels, size, n = sizes
    text = SAMPLED.format(channels=channels, size=size, n=n, last=f"{size - 1}.0")
    told = None if channels == 1 else told
    if told is None:
        kernel = compiled(text, options=OPTIONS[machine])
        assert schedule(kernel).startswith("gathered-rows")
        assert ("reused" in schedule(kernel)) == (channels > 1)
    else:
        kernel = lowered_by(text, edited(told), OPTIONS[machine])
    x, grid = RNG.standard_normal((channels, size)), RNG.uniform(-0.2, 1.2, (n, 3))
    x, grid = x.astype(np.float32), grid.astype(np.float32)
    grid[0, 1] = np.nan
    places = np.clip(np.nan_to_num(grid[:, 1]) * np.float32(size - 1), 0, size - 1).astype(int)
    np.testing.assert_array_equal(kernel(x, grid)[0], x[:, places] * (grid[:, 2] + np.float32(0.5)))


EDITS = {
    "as-it-stands": {"vector": 8, "separable": False},
    "narrow": {"vector": 2, "separable": True},
    "past-the-caches": {"vector": 4, "separable": True, "past_caches": True},
}


def edited(choices: dict[str, object]):
    def lower(module: ir.Module, options: LoweringOptions) -> LoweredKernel:
        nests = ir.Module.parse(str(to_nests(module, options)))
        with nests.context:
            for op in operations_named(nests.operation, "linalg.generic"):
                Schedule("gathered-rows", choices).attach(op)
        return from_nests(nests, options)

    return lower


@pytest.mark.parametrize("name", EDITS)
def test_edited_schedules(lowered_by, name):
    image, size = CASES["ragged"]
    kernel = lowered_by(bilinear(image, size), edited(EDITS[name]), WIDE)
    x, arrays = RNG.standard_normal(image).astype(np.float32), tables(size, image)
    np.testing.assert_allclose(kernel(x, *arrays)[0], interpolated(x, arrays), rtol=1e-3, atol=1e-4)


REFUSED = {
    "vector": ("ragged", {"vector": 3}, "vector = 3: allowed are powers of two from 2 to 37"),
    "long": ("few-lanes", {"vector": 8}, "vector = 8: allowed are powers of two from 2 to 5"),
    "separable": (
        "column",
        {"vector": 8, "separable": True},
        "separable = true: it is no sum of rows",
    ),
    "runs": (
        "ragged",
        {"vector": 4, "runs": True},
        "runs = true: no table of many rows holds the columns",
    ),
    "reused": ("ragged", {"vector": 4, "reused": True}, "reused = true: no loop can go inside"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_schedules(lowered_by, name):
    case, choices, message = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        lowered_by(bilinear(*CASES[case]), edited(choices), WIDE)
    assert caught.value.code == "bad-schedule"
    assert message in caught.value.message
