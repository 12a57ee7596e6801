# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of products whose factors or results are those of layer norms, as text."""

from __future__ import annotations

from collections.abc import Sequence

COLUMNS = 32
"""Neighbours whose statistics are one number."""
_ROW, _COLUMN, _BOTH = "(m, n) -> (m)", "(m, n) -> (n)", "(m, n) -> (m, n)"
_PARTS, _PART_ROW = "(m, p) -> (p, m)", "(m, p) -> (m)"
_IN_PARTS, _PART = "(m, p, j) -> (m, p, j)", "(m, p, j) -> (p, m)"


def generic(
    name: str, maps: Sequence[str], inputs: Sequence[tuple[str, str]], outputs: Sequence[str],
    body: str, *, fills: str = "",
) -> str:  # fmt: skip
    """A linalg.generic; `inputs` are names and types, the body's arguments a0, a1, …, o0, …."""
    loops = maps[0][1 : maps[0].index(")")].split(", ")
    written = maps[-1][maps[-1].index("->") :]
    kinds = ['"parallel"' if loop in written else '"reduction"' for loop in loops]
    lines = []
    for number, kind in enumerate(outputs):
        lines.append(f"%{name}_e{number} = tensor.empty() : tensor<{kind}>")
        if fills:
            lines.append(
                f"%{name}_f{number} = linalg.fill ins({fills} : f32) "
                f"outs(%{name}_e{number} : tensor<{kind}>) -> tensor<{kind}>"
            )
    starts = ", ".join(f"%{name}_{'f' if fills else 'e'}{i}" for i in range(len(outputs)))
    results = ", ".join(f"tensor<{kind}>" for kind in outputs)
    arguments = [f"%a{i}: {kind.split('x')[-1]}" for i, (_, kind) in enumerate(inputs)]
    arguments += [f"%o{i}: {kind.split('x')[-1]}" for i, kind in enumerate(outputs)]
    count = f":{len(outputs)}" if len(outputs) > 1 else ""
    given = ", ".join(value for value, _ in inputs)
    types = ", ".join(f"tensor<{kind}>" for _, kind in inputs)
    return "\n".join(
        [
            *lines,
            f"%{name}{count} = linalg.generic {{indexing_maps = ["
            + ", ".join(f"affine_map<{each}>" for each in maps)
            + f"], iterator_types = [{', '.join(kinds)}]}} ins({given} : {types})"
            + f" outs({starts} : {results}) {{",
            f"^bb0({', '.join(arguments)}):",
            body,
            f"}} -> ({results})",
        ]
    )


def product(m: int, n: int, k: int, dtype: str) -> str:
    """acc = x w."""
    return generic(
        "acc",
        ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"],
        [("%x", f"{m}x{k}x{dtype}"), ("%w", f"{k}x{n}x{dtype}")],
        [f"{m}x{n}xf32"],
        f"""%0 = arith.extf %a0 : {dtype} to f32
%1 = arith.extf %a1 : {dtype} to f32
%2 = arith.mulf %0, %1 : f32
%3 = arith.addf %o0, %2 : f32
linalg.yield %3 : f32""",
        fills="%zero",
    )


def merged(m: int, parts: int) -> str:
    """Mean and 1 / deviation of rows, %st#0 and %st#1, from %ps and %pm."""
    share = f"%k = arith.constant {1 / (parts * COLUMNS):.9e} : f32\n"
    both = [("%ps", f"{parts}x{m}xf32"), ("%pm", f"{parts}x{m}xf32")]
    rows = f"{m}xf32"
    total = "%0 = arith.addf %o0, %a0 : f32\nlinalg.yield %0 : f32"
    squares = f"""{share}%c = arith.constant 32.0 : f32
%0 = arith.divf %a0, %c : f32
%1 = arith.mulf %a2, %k : f32
%2 = arith.subf %0, %1 : f32
%3 = arith.mulf %2, %2 : f32
%4 = arith.mulf %3, %c : f32
%5 = arith.addf %a1, %4 : f32
%6 = arith.addf %o0, %5 : f32
linalg.yield %6 : f32"""
    values = f"""{share}%eps = arith.constant 1.0e-5 : f32
%0 = arith.mulf %a0, %k : f32
%1 = arith.mulf %a1, %k : f32
%2 = arith.addf %1, %eps : f32
%3 = math.rsqrt %2 : f32
linalg.yield %0, %3 : f32, f32"""
    each = "(m) -> (m)"
    return "\n".join(
        [
            generic("rs", [_PARTS, _PART_ROW], both[:1], [rows], total, fills="%zero"),
            generic(
                "rq", [_PARTS, _PARTS, _PART_ROW, _PART_ROW], [*both, ("%rs", rows)], [rows],
                squares, fills="%zero",
            ),
            generic("st", [each] * 4, [("%rs", rows), ("%rq", rows)], [rows, rows], values),
        ]
    )  # fmt: skip


def statistics(m: int, n: int, dtype: str) -> str:
    """Sums %s and sums of squared deviations %q over 32 columns each of %y."""
    parts = n // COLUMNS
    whole, kind = f"{m}x{parts}x{COLUMNS}x{dtype}", f"{parts}x{m}xf32"
    total = f"""%0 = arith.extf %a0 : {dtype} to f32
%1 = arith.addf %o0, %0 : f32
linalg.yield %1 : f32"""
    squares = f"""%c = arith.constant 0.03125 : f32
%0 = arith.extf %a0 : {dtype} to f32
%1 = arith.mulf %a1, %c : f32
%2 = arith.subf %0, %1 : f32
%3 = arith.mulf %2, %2 : f32
%4 = arith.addf %o0, %3 : f32
linalg.yield %4 : f32"""
    return "\n".join(
        [
            f"%y4 = tensor.expand_shape %y [[0], [1, 2]] output_shape [{m}, {parts}, {COLUMNS}]"
            f" : tensor<{m}x{n}x{dtype}> into tensor<{whole}>",
            generic("s", [_IN_PARTS, _PART], [("%y4", whole)], [kind], total, fills="%zero"),
            generic(
                "q", [_IN_PARTS, _PART, _PART], [("%y4", whole), ("%s", kind)], [kind], squares,
                fills="%zero",
            ),
        ]
    )  # fmt: skip


def _function(arguments: Sequence[tuple[str, str]], results: Sequence[str], body: str) -> str:
    given = ", ".join(f"{name}: tensor<{kind}>" for name, kind in arguments)
    types = ", ".join(f"tensor<{kind}>" for kind in results)
    return f"func.func @k({given}) -> ({types}) {{\n%zero = arith.constant 0.0 : f32\n{body}\n}}"


def reader(m: int, sizes: Sequence[int], k: int, dtype: str, *, keeps: bool = False) -> str:
    """y = (x w - mean u) / deviation + b, some columns an output.

    Args:
        m: rows.
        sizes: columns of the outputs.
        k: steps of the reduction.
        dtype: of x, w and y.
        keeps: the mean is a result as well.
    """
    n, parts = sum(sizes), k // COLUMNS
    arguments = [
        ("%x", f"{m}x{k}x{dtype}"), ("%w", f"{k}x{n}x{dtype}"), ("%ps", f"{parts}x{m}xf32"),
        ("%pm", f"{parts}x{m}xf32"), ("%u", f"{n}xf32"), ("%b", f"{n}xf32"),
    ]  # fmt: skip
    body = [product(m, n, k, dtype), merged(m, parts)]
    results, start = [f"{m}x{size}x{dtype}" for size in sizes], 0
    for number, size in enumerate(sizes):
        names = {"acc": (f"{m}x{n}xf32", f"{m}x{size}xf32"), "u": (f"{n}xf32", f"{size}xf32")}
        names["b"] = names["u"]
        for name, (whole, part) in names.items():
            corner = f"0, {start}" if name == "acc" else str(start)
            taken = f"{m}, {size}" if name == "acc" else str(size)
            ones = "1, 1" if name == "acc" else "1"
            body.append(
                f"%{name}{number} = tensor.extract_slice %{name}[{corner}] [{taken}] [{ones}]"
                f" : tensor<{whole}> to tensor<{part}>"
            )
        inputs = [
            (f"%acc{number}", f"{m}x{size}xf32"), ("%st#0", f"{m}xf32"), ("%st#1", f"{m}xf32"),
            (f"%u{number}", f"{size}xf32"), (f"%b{number}", f"{size}xf32"),
        ]  # fmt: skip
        maps = [_BOTH, _ROW, _ROW, _COLUMN, _COLUMN, _BOTH]
        finish = f"""%0 = arith.mulf %a1, %a3 : f32
%1 = arith.subf %a0, %0 : f32
%2 = arith.mulf %1, %a2 : f32
%3 = arith.addf %2, %a4 : f32
%4 = arith.truncf %3 : f32 to {dtype}
linalg.yield %4 : {dtype}"""
        body.append(generic(f"y{number}", maps, inputs, [results[number]], finish))
        start += size
    returned = [f"%y{number}" for number in range(len(sizes))] + ["%st#0"] * keeps
    results += [f"{m}xf32"] * keeps
    types = ", ".join(f"tensor<{kind}>" for kind in results)
    return _function(
        arguments, results, "\n".join([*body, f"return {', '.join(returned)} : {types}"])
    )


def producer(m: int, n: int, k: int, dtype: str) -> str:
    """y = x w + (r - mean) / deviation g + b, and its statistics."""
    parts = n // COLUMNS
    arguments = [
        ("%x", f"{m}x{k}x{dtype}"), ("%w", f"{k}x{n}x{dtype}"), ("%ps", f"{parts}x{m}xf32"),
        ("%pm", f"{parts}x{m}xf32"), ("%r", f"{m}x{n}x{dtype}"), ("%g", f"{n}x{dtype}"),
        ("%b", f"{n}x{dtype}"),
    ]  # fmt: skip
    inputs = [
        ("%acc", f"{m}x{n}xf32"), ("%st#0", f"{m}xf32"), ("%st#1", f"{m}xf32"), *arguments[4:]
    ]  # fmt: skip
    finish = f"""%0 = arith.extf %a3 : {dtype} to f32
%1 = arith.subf %0, %a1 : f32
%2 = arith.mulf %1, %a2 : f32
%3 = arith.extf %a4 : {dtype} to f32
%4 = arith.extf %a5 : {dtype} to f32
%5 = arith.mulf %2, %3 : f32
%6 = arith.addf %5, %4 : f32
%7 = arith.addf %a0, %6 : f32
%8 = arith.truncf %7 : f32 to {dtype}
linalg.yield %8 : {dtype}"""
    maps = [_BOTH, _ROW, _ROW, _BOTH, _COLUMN, _COLUMN, _BOTH]
    results = [f"{m}x{n}x{dtype}", f"{parts}x{m}xf32", f"{parts}x{m}xf32"]
    body = [
        product(m, n, k, dtype), merged(m, parts), generic("y", maps, inputs, results[:1], finish),
        statistics(m, n, dtype),
        "return %y, %s, %q : " + ", ".join(f"tensor<{kind}>" for kind in results),
    ]  # fmt: skip
    return _function(arguments, results, "\n".join(body))
