# SPDX-License-Identifier: MIT OR Apache-2.0
"""The scalar operations that rules may speak of, with what they cost, and the element types.

Costs count the work of one element against one addition; they only rank expressions, and no more
is read into them. A `call` is an elementary function of `passes/math`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "CMPF",
    "CMPI",
    "COSTS",
    "FLOATS",
    "INTEGERS",
    "NAMED",
    "OPERATIONS",
    "TYPES",
    "TYPE_NAMES",
    "Form",
    "Operation",
]

Form = Literal["unary", "binary", "select", "compare", "cast", "ternary"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of scalar operation.

    Attributes:
        name: as rules write it.
        mlir: name of the MLIR operation.
        form: how many operands it has, and which types it names.
        cost: of one element.
        commutative: whether the operands of a binary operation may be swapped.
        code: its number in the e-graph.
    """

    name: str
    mlir: str
    form: Form
    cost: int
    commutative: bool
    code: int


_CHEAP, _PRODUCT, _DIVISION, _ROOT, _CALL, _POWER = 1, 2, 4, 6, 10, 20

_TABLE: dict[Form, dict[str, dict[int, str]]] = {
    "unary": {
        "arith": {_CHEAP: "negf"},
        "math": {
            _CHEAP: "absf absi ceil floor round roundeven trunc",
            _DIVISION: "rsqrt",
            _ROOT: "sqrt",
            _CALL: "exp exp2 expm1 log log2 log10 log1p tanh erf erfc sin cos tan sinh cosh asin "
            "acos atan asinh acosh atanh cbrt",
        },
        "xyntra": {_CALL + 1: "gelu silu gelu_tanh"},
    },
    "binary": {
        "arith": {
            _CHEAP: "addf* subf mulf* maximumf* minimumf* maxnumf* minnumf* addi* subi andi* ori* "
            "xori* shli shrsi shrui maxsi* minsi* maxui* minui*",
            _PRODUCT: "muli*",
            _DIVISION: "divf",
            2 * _DIVISION: "remf divsi divui remsi remui floordivsi",
        },
        "math": {_CHEAP: "copysign", _CALL: "atan2", _POWER: "powf"},
    },
    "select": {"arith": {_CHEAP: "select"}},
    "compare": {"arith": {_CHEAP: "cmpf cmpi"}},
    "cast": {
        "arith": {_CHEAP: "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui bitcast"}
    },
    "ternary": {"math": {_CHEAP: "fma"}},
}


def _operations() -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for form, dialects in _TABLE.items():
        for dialect, costs in dialects.items():
            for cost, names in costs.items():
                for word in names.split():
                    name = word.rstrip("*")
                    mlir = f"{dialect}.{name}" if dialect != "xyntra" else _NAMED_OPS[name]
                    found[name] = Operation(name, mlir, form, cost, word != name, len(found))
    return found


_NAMED_OPS = {"gelu": "xyntra.gelu", "gelu_tanh": "xyntra.gelu", "silu": "xyntra.silu"}

OPERATIONS: dict[str, Operation] = _operations()
"""Every operation by its name in rules."""

NAMED = frozenset(OPERATIONS[name].code for name in _NAMED_OPS)
"""Codes of what is an operation on whole tensors, and cannot stand in a body."""

COSTS: tuple[int, ...] = tuple(operation.cost for operation in OPERATIONS.values())
"""Cost of one element by code."""

FLOATS: dict[str, int] = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3}
"""Numbers of the floating-point types."""

INTEGERS: dict[str, int] = {"i1": 4, "i8": 5, "i16": 6, "i32": 7, "i64": 8}
"""Numbers of the integer types."""

TYPES: dict[str, int] = {**FLOATS, **INTEGERS}
TYPE_NAMES: tuple[str, ...] = tuple(TYPES)

CMPF: dict[str, int] = {
    name: code
    for code, name in enumerate(
        "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
    )
}
"""Predicates of arith.cmpf."""

CMPI: dict[str, int] = {
    name: 16 + code for code, name in enumerate("eq ne slt sle sgt sge ult ule ugt uge".split())
}
"""Predicates of arith.cmpi, numbered after those of arith.cmpf."""
