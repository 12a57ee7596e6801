# SPDX-License-Identifier: MIT OR Apache-2.0
"""sin and cos of f32 with a branch for large arguments, which are rare.

Up to 65536, the largest f16 among them, pi / 2 times the number of quadrants is taken off in three
parts by fused multiply-adds (Cody and Waite). The first of them is exact: all are multiples of
2**-23, and the difference is less than one. Above, in a branch, it is Payne and Hanek's method (see
`reduce_angle`), which takes four times the instructions of all the rest. Errors are at most 1.5
units in the last place.

The functions stay operations until the code of threads is written, since the bodies of loops have
no branches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.math.angles.reduce_angle import reduce_large_angle
from xyntra.passes.math.angles.trig import wave_of
from xyntra.passes.math.values import Bool, Builder, Float, Int, fma

__all__ = ["LATE", "expand_waves"]

_QUADRANTS = {"math.sin": 0, "math.cos": 1}
LATE = frozenset(_QUADRANTS)
"""Operations on f32 that `expand_waves` takes the place of."""
_BOUND = 65536.0
# All positive, so that nothing taken off -0 leaves -0.
_HALF_PI = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
_ROUNDING = 1.5 * 2.0**23  # adding it rounds to an integer, which is in the low bits


def expand_waves(module: ir.Operation) -> None:
    """Put arithmetic in the place of sin and cos of f32 and of vectors, in the code of threads."""
    for op in operations_named(module, *_QUADRANTS):
        with op.location, ir.InsertionPoint(op):
            lanes = _lanes(op.operands[0])
            found = _waves(lanes, _QUADRANTS[op.name], always_small=_is_narrow(op.operands[0]))
            kind = op.result.type
            is_vector = isinstance(kind, ir.VectorType)
            value = emit("vector.from_elements", found, kind) if is_vector else found[0]
        op.result.replace_all_uses_with(value)
        op.erase()


def _lanes(x: ir.Value) -> list[ir.Value]:
    if not isinstance(x.type, ir.VectorType):
        return [x]
    kind = ir.VectorType(x.type)
    places = (ir.DenseI64ArrayAttr.get([lane]) for lane in range(kind.shape[0]))
    return [emit("vector.extract", [x], kind.element_type, static_position=p) for p in places]


def _is_narrow(x: ir.Value) -> bool:
    """Tell whether a number was an f16, which is never large."""
    op = owner_of(x, "arith.extf")
    kind = None if op is None else op.operands[0].type
    return isinstance(getattr(kind, "element_type", kind), ir.F16Type)


def _waves(lanes: Sequence[ir.Value], quadrant: int, *, always_small: bool) -> list[ir.Value]:
    """Return the sine of every number, `quadrant` quarters of a wave further on."""
    build = Builder(lanes[0].type)
    numbers = [Float(build, each) for each in lanes]
    angles = [_small_angle(each) for each in numbers]
    if not always_small:
        angles = _with_large(numbers, angles)
    return [wave_of(part + quadrant, rest).value for part, rest in angles]


def _small_angle(x: Float) -> tuple[Int, Float]:
    """Return how many quadrants x is, modulo 4, and the angle that is left."""
    shifted = fma(x, 2.0 / math.pi, x.build.float(_ROUNDING))
    count = shifted - _ROUNDING
    rest = x
    for part in _HALF_PI:
        rest = fma(count, -part, rest)
    return shifted.bits(), rest


def _with_large(
    numbers: Sequence[Float], small: Sequence[tuple[Int, Float]]
) -> list[tuple[Int, Float]]:
    """Return the same for numbers of which some may be large, infinite or NaN."""
    build = numbers[0].build
    near = [abs(each) < _BOUND for each in numbers]
    all_near = near[0]
    for each in near[1:]:
        all_near = all_near & each
    kinds = [build.int_type, build.float_type] * len(numbers)
    built = scf.IfOp(all_near.value, kinds, has_else=True)
    with ir.InsertionPoint(built.then_block):
        scf.YieldOp([each.value for angle in small for each in angle])
    with ir.InsertionPoint(built.else_block):
        found = [_either(*each) for each in zip(numbers, near, small, strict=True)]
        scf.YieldOp([each.value for angle in found for each in angle])
    results = list(built.results)
    return [
        (Int(build, part), Float(build, rest))
        for part, rest in zip(results[::2], results[1::2], strict=True)
    ]


def _either(x: Float, is_near: Bool, small: tuple[Int, Float]) -> tuple[Int, Float]:
    """Return the angle of `x`, in a region of its own."""
    inside = Builder(x.value.type)  # whose constants are of this region
    x, is_near = Float(inside, x.value), Bool(inside, is_near.value)
    part, rest = Int(inside, small[0].value), Float(inside, small[1].value)
    large = reduce_large_angle(abs(x))
    is_negative = x < 0.0
    turned = inside.int(0) - large.quadrant
    far = is_negative.select_int(turned, large.quadrant)
    remainder = is_negative.select(-large.remainder, large.remainder)
    return is_near.select_int(part, far), is_near.select(rest, remainder)
