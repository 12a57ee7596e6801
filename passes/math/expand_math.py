# SPDX-License-Identifier: MIT OR Apache-2.0
"""Replace `math` functions by arithmetic with a stated error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import AT_MOST_ZERO
from xyntra.errors import ConfigError
from xyntra.passes.math.double.table import EXPANSIONS_OF_F64
from xyntra.passes.math.exp import exp_at_most_zero
from xyntra.passes.math.integer_power import exponent_operand
from xyntra.passes.math.table import EXPANSIONS, OTHER_TYPES
from xyntra.passes.math.values import Builder, Float, Int
from xyntra.passes.registry import register_pass

__all__ = ["ExpandMath", "expand_classes", "expand_math"]

# Computed in f32.
_FLOATS = (ir.F32Type, ir.F16Type, ir.BF16Type)


@register_pass
@dataclass(frozen=True)
class ExpandMath:
    """Replace math functions of f32, f16 and bf16 by polynomials that every target can run.

    `keep` names operations to leave alone, such as those a target has instructions for. `f64` says
    whether those of f64 are replaced as well, for targets that have no C library to call.
    """

    name: ClassVar[str] = "expand-math"
    keep: tuple[str, ...] = ()
    f64: bool = False

    def run(self, module: ir.Operation) -> None:
        """Rewrite `module` in place; see `expand_math`."""
        expand_math(module, self.keep, f64=self.f64)


def expand_math(op: ir.Operation, keep: Collection[str] = (), *, f64: bool = False) -> None:
    """Expand the operations of `table` on f32, f16, bf16 and integers inside `op`.

    f16 and bf16 are computed in f32 and rounded once. Vectors keep their shape. What is not
    expanded stays for libm and LLVM: f64 unless it is asked for, tensors, and operations that are
    not in the table.

    Args:
        op: an operation with regions, usually a module or a function; rewritten in place.
        keep: names of operations to leave alone.
        f64: whether functions of f64 are expanded, too.

    Raises:
        ConfigError: `keep` names an operation that has no expansion.
    """
    known = EXPANSIONS.keys() | {name for name, _ in OTHER_TYPES}
    unknown = sorted(set(keep) - known)
    if unknown:
        raise ConfigError(
            "unknown-math-op",
            f"expand-math has no expansion of '{unknown[0]}' to keep",
            hint="leave it out, or correct its name: the pass touches no such operation",
        )
    names = known - set(keep)
    _replace(_candidates(op, lambda each: each.name in names and _is_supported(each)))
    if f64:  # afterwards, since an integer power of f64 is written by one of these
        _replace(_candidates(op, _is_function_of_f64))


def expand_classes(op: ir.Operation) -> None:
    """Expand what asks for a property of a type: before floats of 16 bits become f32.

    Args:
        op: as for `expand_math`.
    """
    expand_math(op, (EXPANSIONS.keys() | {name for name, _ in OTHER_TYPES}) - {"math.isnormal"})


def _replace(candidates: Iterable[ir.Operation]) -> None:
    for candidate in candidates:
        with candidate.context, candidate.location, ir.InsertionPoint(candidate):
            values = _expand(candidate)
        for result, value in zip(candidate.results, values, strict=True):
            result.replace_all_uses_with(value)
        candidate.erase()


def _candidates(op: ir.Operation, is_wanted: Callable[[ir.Operation], bool]) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(candidate: ir.Operation) -> ir.WalkResult:
        if is_wanted(candidate):
            found.append(candidate)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_supported(op: ir.Operation) -> bool:
    element = _element(op.results[0].type)
    if op.name in EXPANSIONS and isinstance(element, _FLOATS):
        return True
    return (op.name, type(element)) in OTHER_TYPES


def _is_function_of_f64(op: ir.Operation) -> bool:
    return op.name in EXPANSIONS_OF_F64 and isinstance(_element(op.results[0].type), ir.F64Type)


def _expand(op: ir.Operation) -> list[ir.Value]:
    type_ = op.results[0].type
    rewrite = OTHER_TYPES.get((op.name, type(_element(type_))))
    if rewrite is not None:
        return [rewrite(op)]
    build = Builder(type_)
    emitted = _emitter(op)(*(_operand(build, value) for value in op.operands))
    results = emitted if isinstance(emitted, tuple) else (emitted,)
    return [_narrow(result, type_) for result in results]


def _emitter(op: ir.Operation) -> Callable[..., Float | tuple[Float, ...]]:
    if _is_function_of_f64(op):
        return EXPANSIONS_OF_F64[op.name].emit
    if op.name == "math.exp" and AT_MOST_ZERO in op.attributes:
        return exp_at_most_zero
    return EXPANSIONS[op.name].emit


def _operand(build: Builder, value: ir.Value) -> Float | Int:
    if value.type == build.float_type:
        return Float(build, value)
    if isinstance(_element(value.type), ir.IntegerType):
        return exponent_operand(build, value)
    return Float(build, arith.extf(build.float_type, value))


def _narrow(result: Float, type_: ir.Type) -> ir.Value:
    return result.value if result.value.type == type_ else arith.truncf(type_, result.value)


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.VectorType) else type_
