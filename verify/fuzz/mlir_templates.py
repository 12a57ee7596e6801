# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modules that compute indices, index by affine maps, or hold what they may not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["TEMPLATES"]

_SIZES = (0, 1, 2, 3, 5, 8, 17)
_NUMBERS = (
    -(1 << 63),
    -(1 << 31),
    -9,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    8,
    63,
    64,
    65,
    1 << 31,
    (1 << 63) - 1,
)
_BINARY = (
    "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui shli shrsi shrui minsi "
    "maxsi minui maxui andi ori xori"
).split()
_FLAGS = ("", "", " overflow<nsw>", " overflow<nuw>", " overflow<nsw, nuw>")
_FLAGGED = ("addi", "subi", "muli", "shli")


def gather(random: Random) -> str:
    """Reads, in the body of a generic, at an index that is computed somehow."""
    rank = random.choice((1, 1, 2))
    read = [random.choice(_SIZES) for _ in range(rank)]
    body, where = _indices(random, rank)
    return _generic(read, f"{body}\n    %v = tensor.extract %x[{where}] : {_f32(read)}")


def scatter(random: Random) -> str:
    """Writes, in a loop, where the data say."""
    size, steps = random.choice(_SIZES), random.choice((0, 1, 4, 8))
    body, where = _indices(random, 1)
    mark = random.choice(("", " {xyntra.parallel}"))
    start = random.choice(("%x", "%e"))
    return f"""func.func @main(%x: {_f32([size])}, %n: tensor<8xi64>) -> {_f32([size])} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant {steps} : index
  %e = tensor.empty() : {_f32([size])}
  %y = scf.for %i0 = %c0 to %cn step %c1 iter_args(%t = {start}) -> ({_f32([size])}) {{
    %d = tensor.extract %n[%i0] : tensor<8xi64>
{body}
    %v = tensor.extract %t[{where}] : {_f32([size])}
    %w = arith.addf %v, %v : f32
    %u = tensor.insert %w into %t[{where}] : {_f32([size])}
    scf.yield %u : {_f32([size])}
  }}{mark}
  return %y : {_f32([size])}
}}
"""


def nested_loop(random: Random) -> str:
    """A loop whose bounds come from the data, in the body of a generic."""
    size = random.choice(_SIZES)
    body, where = _indices(random, 1)
    ends = random.choice(("%small", "%c3"))
    inner = f"""    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant {random.choice((3, 9, 30))} : index
    %seven = arith.constant 7 : i64
    %low = arith.andi %d, %seven : i64
    %small = arith.index_cast %low : i64 to index
    %zero = arith.constant 0.0 : f32
    %v = scf.for %i1 = %c0 to {ends} step %c1 iter_args(%s = %zero) -> (f32) {{
{body}
      %p = tensor.extract %x[{random.choice((where, "%i1"))}] : {_f32([size])}
      %q = arith.addf %s, %p : f32
      scf.yield %q : f32
    }}"""
    return _generic([size], inner)


def affine(random: Random) -> str:
    """Indexes by an affine map that may leave its tensor."""
    extents = [random.choice((1, 2, 4, 5)) for _ in range(2)]
    read = [random.choice(_SIZES) for _ in range(random.choice((1, 2)))]
    exprs = ", ".join(_affine(random, 2) for _ in read)
    out = "x".join(map(str, extents))
    return f"""func.func @main(%x: {_f32(read)}, %n: tensor<8xi64>) -> tensor<{out}xf32> {{
  %e = tensor.empty() : tensor<{out}xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({exprs})>,
      affine_map<(d0, d1) -> ({random.choice(("d0, d1", "d0, d1", "d0, 0", "d1, d0"))})>],
      iterator_types = ["parallel", "{random.choice(("parallel", "reduction"))}"]}}
      ins(%x : {_f32(read)}) outs(%e : tensor<{out}xf32>) {{
  ^bb0(%v: f32, %o: f32):
    %w = arith.addf %v, {random.choice(("%v", "%o"))} : f32
    linalg.yield %w : f32
  }} -> tensor<{out}xf32>
  return %y : tensor<{out}xf32>
}}
"""


def slices(random: Random) -> str:
    """Takes and puts slices at positions that are computed, or wrong."""
    size, part = random.choice(_SIZES), random.choice((0, 1, 2, 5))
    offset = random.choice(("%k", "%k", str(random.choice((0, 1, 6, 9)))))
    stride = random.choice((1, 1, 2))
    target = random.choice(("%x", "%e"))
    return f"""func.func @main(%x: {_f32([size])}, %n: tensor<8xi64>) -> {_f32([size])} {{
  %c0 = arith.constant 0 : index
  %d = tensor.extract %n[%c0] : tensor<8xi64>
  %k = arith.index_cast %d : i64 to index
  %e = tensor.empty() : {_f32([size])}
  %p = tensor.extract_slice %x[{offset}] [{part}] [{stride}] : {_f32([size])} to {_f32([part])}
  %y = tensor.insert_slice %p into {target}[{random.choice((offset, "0"))}] [{part}] [1]
      : {_f32([part])} into {_f32([size])}
  return %y : {_f32([size])}
}}
"""


def windows(random: Random) -> str:
    """A convolution or pooling with strides and dilations of any sign."""
    size, taps, out = (random.choice((1, 2, 4, 9)) for _ in range(3))
    stride, dilation = (random.choice((-2, -1, 0, 1, 1, 2, 3)) for _ in range(2))
    name, weights = random.choice((("conv_1d_ncw_fcw", "1x1x"), ("pooling_ncw_max", "")))
    init = random.choice(("%e", "%z"))
    shape = f"tensor<1x1x{out}xf32>"
    return f"""func.func @main(%x: tensor<1x1x{size}xf32>, %n: tensor<8xi64>) -> {shape} {{
  %c = arith.constant 0.5 : f32
  %k = tensor.splat %c : tensor<{weights}{taps}xf32>
  %e = tensor.empty() : {shape}
  %z = linalg.fill ins(%c : f32) outs(%e : {shape}) -> {shape}
  %y = linalg.{name} {{strides = dense<{stride}> : tensor<1xi64>,
      dilations = dense<{dilation}> : tensor<1xi64>}}
      ins(%x, %k : tensor<1x1x{size}xf32>, tensor<{weights}{taps}xf32>) outs({init} : {shape})
      -> {shape}
  return %y : {shape}
}}
"""


def forbidden(random: Random) -> str:
    """Something that no model may hold, in the body of a generic."""
    operation = random.choice(_FORBIDDEN)
    return _generic([8], f"""    %i = arith.index_cast %d : i64 to index
{operation}""")  # fmt: skip


_FORBIDDEN = (
    '    %v = llvm.inline_asm has_side_effects "hlt", "=r" : () -> f32',
    """    %p = llvm.inttoptr %d : i64 to !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> f32""",
    """    %m = memref.alloca() : memref<4xf32>
    %v = memref.load %m[%i] : memref<4xf32>""",
    """    %m = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
    %v = memref.load %m[%i] : memref<8xf32>""",
    """    %c = arith.constant 0.0 : f32
    %w = vector.transfer_read %x[%i], %c : tensor<8xf32>, vector<8xf32>
    %v = vector.extract %w[7] : f32 from vector<8xf32>""",
    "    %v = ub.poison : f32",
    """    %m = memref.alloc(%i) : memref<?xf32>
    %v = memref.load %m[%i] : memref<?xf32>""",
    """    %w = tensor.empty(%i) : tensor<?xf32>
    %v = tensor.extract %w[%i] : tensor<?xf32>""",
    """    %k = affine.apply affine_map<(d0)[s0] -> (d0 floordiv s0)>(%i)[%i]
    %v = tensor.extract %x[%k] : tensor<8xf32>""",
    """    %w = tensor.empty() : tensor<1000000000000xf32>
    %v = tensor.extract %w[%i] : tensor<1000000000000xf32>""",
    """    %c = arith.constant 0.0 : f32
    %v = scf.while (%s = %c) : (f32) -> f32 {
      %t = arith.constant true
      scf.condition(%t) %s : f32
    } do {
    ^bb0(%s: f32):
      scf.yield %s : f32
    }""",
)


def _generic(read: list[int], body: str) -> str:
    return f"""func.func @main(%x: {_f32(read)}, %n: tensor<8xi64>) -> tensor<8xf32> {{
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%n : tensor<8xi64>) outs(%e : tensor<8xf32>) {{
  ^bb0(%d: i64, %o: f32):
    %i0 = linalg.index 0 : index
{body}
    linalg.yield %v : f32
  }} -> tensor<8xf32>
  return %y : tensor<8xf32>
}}
"""


def _indices(random: Random, rank: int) -> tuple[str, str]:
    """Lines that compute `rank` indices of %d, an i64, and %i0; and their names."""
    lines = ["    %at = arith.index_cast %d : i64 to index"]
    values = ["%i0", "%at", "%at"]
    for number in range(random.randint(0, 6)):
        name = f"%k{number}"
        kind = random.randrange(4)
        left, right = random.choice(values), random.choice(values)
        if kind == 0:
            lines.append(f"    {name} = arith.constant {random.choice(_NUMBERS)} : index")
        elif kind == 1:
            predicate = random.choice(("slt", "ult", "sge", "uge", "eq", "sle"))
            lines.append(f"    {name}.c = arith.cmpi {predicate}, {left}, {right} : index")
            lines.append(f"    {name} = arith.select {name}.c, {left}, {right} : index")
        elif kind == 2:
            width = random.choice(("i8", "i16", "i32"))
            lines.append(f"    {name}.t = arith.index_cast {left} : index to {width}")
            cast = random.choice(("index_cast", "index_castui"))
            lines.append(f"    {name} = arith.{cast} {name}.t : {width} to index")
        else:
            op = random.choice(_BINARY)
            flags = random.choice(_FLAGS) if op in _FLAGGED else ""
            lines.append(f"    {name} = arith.{op} {left}, {right}{flags} : index")
        values.append(name)
    return "\n".join(lines), ", ".join(random.choice(values[-3:]) for _ in range(rank))


def _affine(random: Random, depth: int) -> str:
    if not depth:
        return random.choice(("d0", "d1", "d0", "d1", str(random.randint(-3, 4))))
    left = _affine(random, depth - 1)
    operator = random.choice(("+", "-", "+", "-", "mod", "floordiv", "ceildiv", "*", ""))
    if not operator:
        return left
    if operator in "+-":
        return f"({left} {operator} {_affine(random, depth - 1)})"
    return f"(({left}) {operator} {random.choice((1, 2, 3, 4))})"


def _f32(shape: list[int]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


TEMPLATES: tuple[Callable[[Random], str], ...] = (
    gather, gather, gather, scatter, scatter, nested_loop, affine, affine, affine, slices, windows,
    forbidden,
)  # fmt: skip
