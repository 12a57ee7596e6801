# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instances of rules: types, constants and predicates for which a rule claims equality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import ml_dtypes
import numpy as np
from scalar_interpreter import OPERATIONS, Array, as_unsigned, compare

from xyntra.passes.recognize.egraph.constants import NEAR, bits_of, facts_of, literal_bits
from xyntra.passes.recognize.egraph.rules.conditions import CONSTANT_RELATIONS, TABLES
from xyntra.passes.recognize.egraph.rules.rule import Call, Constant, Literal, Pattern, Rule
from xyntra.passes.recognize.egraph.rules.vocabulary import (
    CMPF,
    CMPI,
    FLOATS,
    INTEGERS,
    TYPES,
)

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
_FLOAT_CONSTANTS = (
    2.0, 0.5, 3.0, -1.5, 0.0, -0.0, 0.044715, 0.7071067811865476, 1.4142135623730951,
    0.7978845608028654, 1e-40,
)  # fmt: skip
_INTEGER_CONSTANTS = (0, 1, 2, 8, 64, -1, 5, -7)


@dataclass
class Case:
    """Values for the letters of a rule."""

    types: dict[str, str]
    predicates: dict[str, int] = field(default_factory=dict)
    constants: dict[str, tuple[str, int]] = field(default_factory=dict)


def calls_of(pattern: Pattern) -> Iterator[Call]:
    """Every operation of a pattern."""
    if isinstance(pattern, Call):
        yield pattern
        for operand in pattern.operands:
            yield from calls_of(operand)


def constants_of(pattern: Pattern) -> Iterator[Constant]:
    """Every constant of a pattern."""
    for call in calls_of(pattern):
        yield from (operand for operand in call.operands if isinstance(operand, Constant))


def cases(rule: Rule) -> Iterator[Case]:
    """Instances whose conditions hold, as far as they speak of types, predicates and constants."""
    calls = list(calls_of(rule.pattern))
    used = {t for call in calls for t in (*call.types, *call.operand_types, call.result)}
    letters = sorted(letter for letter in used if letter not in TYPES)
    for types in product(TYPES, repeat=len(letters)):
        case = Case(dict(zip(letters, types, strict=True)))
        if all(_is_valid(call, case) for call in (*calls, *calls_of(rule.replacement))):
            yield from _with_predicates(rule, case)


def type_name(case: Case, name: str) -> str:
    """The type that a name or letter stands for."""
    return case.types.get(name, name)


def _is_valid(call: Call, case: Case) -> bool:
    types = [type_name(case, t) for t in call.types]
    name = call.operation.name
    for operand, type_ in zip(call.operands, call.operand_types, strict=True):
        is_call = isinstance(operand, Call)
        if is_call and type_name(case, operand.result) != type_name(case, type_):
            return False
    if call.operation.form == "cast":
        return _is_valid_cast(name, *types)
    if call.operation.form == "select":
        return True
    is_float = name == "cmpf" or call.operation.mlir.startswith("math.") or name.endswith("f")
    if call.operation.mlir.startswith("xyntra.") or name in ("copysign",):
        is_float = True
    if name in ("absi",):
        is_float = False
    return types[0] in (FLOATS if is_float else INTEGERS)


def _is_valid_cast(name: str, source: str, result: str) -> bool:
    from xyntra.passes.recognize.egraph.constants import width

    wider = width(TYPES[source]) < width(TYPES[result])
    narrower = width(TYPES[source]) > width(TYPES[result])
    if name in ("extf", "truncf"):
        return {source, result} <= set(FLOATS) and (wider if name == "extf" else narrower)
    if name in ("extsi", "extui", "trunci"):
        return {source, result} <= set(INTEGERS) and (narrower if name == "trunci" else wider)
    from_integer = name in ("sitofp", "uitofp")
    return (source in INTEGERS) == from_integer and (result in FLOATS) == from_integer


def _with_predicates(rule: Rule, case: Case) -> Iterator[Case]:
    names = sorted(
        {call.predicate[1:] for call in calls_of(rule.pattern) if call.predicate.startswith("?")}
    )
    outputs = {w for condition in rule.when for w in condition.split()[1:]} - set(names)
    codes = CMPF if any(c.operation.name == "cmpf" for c in calls_of(rule.pattern)) else CMPI
    for values in product(codes.values(), repeat=len(names)):
        case.predicates = dict(zip(names, values, strict=True))
        if _tables_hold(rule, case, outputs):
            yield from _with_constants(rule, case)


def _tables_hold(rule: Rule, case: Case, outputs: set[str]) -> bool:
    """Whether the tables have what the rule asks; binds predicates that they give."""
    for condition in rule.when:
        name, *words = condition.split()
        if name not in TABLES:
            continue
        known = [case.predicates.get(w, TYPES.get(type_name(case, w), -1)) for w in words]
        rows = [
            row
            for row in TABLES[name]
            if all(k in (-1, r) for k, r in zip(known, row, strict=True))
        ]
        if not rows:
            return False
        for word, value in zip(words, rows[0], strict=True):
            if word in outputs and word not in case.types and word not in TYPES:
                case.predicates[word] = value
    return True


def _with_constants(rule: Rule, case: Case) -> Iterator[Case]:
    names = list({c.name: c for c in constants_of(rule.pattern)}.values())
    pools = []
    for constant in names:
        type_ = type_name(case, constant.type_)
        numbers = _FLOAT_CONSTANTS if type_ in FLOATS else _INTEGER_CONSTANTS
        pools.append([(type_, bits_of(TYPES[type_], number)) for number in numbers])
    for values in product(*pools):
        case.constants = dict(zip((c.name for c in names), values, strict=True))
        if all(_constant_holds(condition, case) for condition in rule.when):
            yield Case(dict(case.types), dict(case.predicates), dict(case.constants))


def _constant_holds(condition: str, case: Case) -> bool:
    """Whether a constant is what the rule asks; binds constants that belong to it."""
    relation, _, *words = condition.split()
    if relation not in CONSTANT_RELATIONS:
        return True
    type_, bits = case.constants[words[0]]
    for name, (_, _, *others) in facts_of(TYPES[type_], bits):
        if name != relation or (relation == "near" and others[0] != NEAR.index(words[1])):
            continue
        case.constants |= {w: (type_, v) for w, v in zip(words[1:], others, strict=True)}
        return True
    return False


def constant_array(type_: str, bits: int) -> Array:
    """One number of a type by its bits."""
    if type_ == "i1":
        return np.array(bool(bits))
    dtype = np.dtype(DTYPES[type_])
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def evaluate(pattern: Pattern, type_: str, case: Case, values: dict[str, Array]) -> Array:
    """Compute a pattern of type `type_` with numpy."""
    if isinstance(pattern, Literal):
        type_ = type_name(case, pattern.type_)
        bits = literal_bits(TYPES[type_], pattern.text)
        if bits is None:
            raise ValueError(f"{type_} has no {pattern.text}")
        return constant_array(type_, bits)
    if isinstance(pattern, Constant):
        return constant_array(*case.constants[pattern.name])
    if not isinstance(pattern, Call):
        return values[pattern.name]
    operands = [
        evaluate(operand, t, case, values)
        for operand, t in zip(pattern.operands, pattern.operand_types, strict=True)
    ]
    return _apply(pattern, case, operands)


def _apply(call: Call, case: Case, operands: list[Array]) -> Array:
    form, name = call.operation.form, call.operation.name
    if form == "compare":
        word = call.predicate
        code = case.predicates[word[1:]] if word.startswith("?") else int(word)
        return compare(code, *operands)
    if form == "cast":
        return _cast(name, operands[0], DTYPES[type_name(case, call.types[1])])
    result = OPERATIONS[call.operation.mlir if name != "gelu_tanh" else "gelu_tanh"](*operands)
    return np.asarray(result, dtype=operands[-1].dtype)


def _cast(name: str, source: Array, dtype: type) -> Array:
    if name in ("extui", "uitofp"):
        source = as_unsigned(source)
    elif source.dtype == np.bool_ and name in ("extsi", "sitofp"):
        source = -source.astype(np.int8)
    if name == "trunci" and dtype is np.bool_:
        return np.asarray((source & 1).astype(dtype))
    if name == "sitofp" and dtype in (np.float16, ml_dtypes.bfloat16):
        return source.astype(np.float64).astype(dtype)
    return np.asarray(source.astype(dtype))


def variables_of(rule: Rule) -> dict[str, str]:
    """Variables of the left side with their types or letters."""
    found: dict[str, str] = {}
    for call in calls_of(rule.pattern):
        for operand, type_ in zip(call.operands, call.operand_types, strict=True):
            if not isinstance(operand, (Call, Constant, Literal)):
                found.setdefault(operand.name, type_)
    return found
