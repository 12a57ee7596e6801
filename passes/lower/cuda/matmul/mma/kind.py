# SPDX-License-Identifier: MIT OR Apache-2.0
"""Selects the `mma.sync` instruction for the operand types of a contraction."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.gpu.matmul.roles import Roles
from xyntra.passes.lower.loops.linear_nest import LinearNest

STEP_BYTES = 32
"""Bytes of a row of either factor that one instruction takes, in every type."""


@dataclass(frozen=True)
class MmaKind:
    """An `mma.sync` that multiplies 16 rows by 8 columns (PTX ISA, "mma").

    Attributes:
        shape: rows, columns and steps, as the instruction spells them.
        left: type of the left factor.
        right: type of the right factor, the same but for integers and floats of 8 bits.
        total: type of the accumulators, f32 or s32.
        item: bytes of an element of a factor.
    """

    shape: str
    left: str
    right: str
    total: str
    item: int

    @property
    def is_integer(self) -> bool:
        """Tell whether accumulators are integers."""
        return self.total == "s32"

    @property
    def is_float8(self) -> bool:
        """Tell whether factors are floats of 8 bits."""
        return self.left in FLOAT8

    @property
    def types(self) -> str:
        """Those of result, factors and accumulators, as the instruction spells them."""
        return f"{self.total}.{self.left}.{self.right}.{self.total}"


INTEGERS = ("s8", "u8")
FLOAT8 = ("e4m3", "e5m2")
_FLOAT8_NAMES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
_SHAPES = {1: "m16n8k32", 2: "m16n8k16", 4: "m16n8k8"}


def mma_kind(nest: LinearNest, roles: Roles, *, tf32: bool) -> MmaKind | None:
    """Return the instruction for `nest`; None where no instruction computes what its body says.

    Args:
        nest: a contraction.
        roles: which of its loops are batch, M, N and K.
        tf32: factors of f32 may be rounded to 10 bits of mantissa.
    """
    factors = _factors(nest)
    if factors is None or set(factors) != {roles.left, roles.right}:
        return None
    left, right = factors[roles.left], factors[roles.right]
    is_integer = left in INTEGERS
    if left != right and not any({left, right} <= {*each} for each in (INTEGERS, FLOAT8)):
        return None
    if left == "tf32" and not tf32:
        return None
    total = str(nest.body.arguments[len(nest.inputs)].type)
    if total != ("i32" if is_integer else "f32"):
        return None
    value = nest.inputs[roles.left].value
    item = ITEM_BYTES[str(ir.MemRefType(value.type).element_type)]
    return MmaKind(_SHAPES[item], left, right, "s32" if is_integer else "f32", item)


def _factors(nest: LinearNest) -> dict[int, str] | None:
    """Return, by number of the input, the types of two factors whose products are summed."""
    arguments = list(nest.body.arguments)
    running = arguments[len(nest.inputs)]
    total = _defining(terminator(nest.body).operands[0], "arith.addf", "arith.addi")
    if total is None or running not in list(total.operands):
        return None
    product = [value for value in total.operands if value != running]
    multiply = _defining(product[0], "arith.mulf", "arith.muli") if len(product) == 1 else None
    if multiply is None:
        return None
    found: dict[int, str] = {}
    for value in multiply.operands:
        argument, kind = _source(value)
        if argument not in arguments or kind is None:
            return None
        found[arguments.index(argument)] = kind
    return found if len(found) == 2 else None


def _source(value: ir.Value) -> tuple[ir.Value, str | None]:
    """Return what `value` is the exact widening of, and the type that the tensor cores name it."""
    if (op := _defining(value, "arith.extf")) is not None:
        kind = str(op.operands[0].type)
        if kind in _FLOAT8_NAMES and str(value.type) == "f32":
            bits = _defining(op.operands[0], "arith.bitcast")
            return (value, None) if bits is None else (bits.operands[0], _FLOAT8_NAMES[kind])
        return op.operands[0], kind if kind in ("f16", "bf16") else None
    if (op := _defining(value, "arith.extsi", "arith.extui")) is not None:
        narrow = str(op.operands[0].type) == "i8" and str(value.type) == "i32"
        sign = "s8" if op.name == "arith.extsi" else "u8"
        return op.operands[0], sign if narrow else None
    return value, "tf32" if str(value.type) == "f32" else None


def _defining(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that makes `value`, if it has one of `names`."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    operation = owner.operation
    return operation if operation.name in names else None
