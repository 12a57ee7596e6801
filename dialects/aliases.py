# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.alias`: the attribute of a result that is written where an input lies.

It names an input of the function, whose type is that of the result. Whoever calls gives up what the
input held: every kernel that reads it comes before the one that writes the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xyntra.dialects.mlir import ir

__all__ = [
    "ALIAS",
    "APART",
    "COPIED",
    "DONATED",
    "FILLED",
    "Alias",
    "aliases_of",
    "donated_results",
    "filled_by",
    "input_names",
    "output_names",
    "set_apart",
    "set_argument_text",
    "set_result_texts",
]

ALIAS = "xyntra.alias"
COPIED = "xyntra.copied"
"""Attribute of such a result that is computed elsewhere, and copied at the end: why."""
DONATED = "xyntra.donated"
"""In place of `ALIAS`, of a result that may as well have memory of its own; it names the input.

`write-states` decides: the result is an alias, or lies apart.
"""
APART = "xyntra.apart"
"""Attribute of a result that was to be written over a donated input and is not: why."""
FILLED = "xyntra.filled"
"""Attribute of an argument that is a cache: the input that says how many positions it holds.

That is an i64 for each element of dimension 0. What is behind is nothing that the model knows of:
its masks hide it. A call appends one position.
"""


@dataclass(frozen=True)
class Alias:
    """A result of a function, and the argument in whose place it is written, by number."""

    result: int
    argument: int


def aliases_of(function: ir.Operation) -> list[Alias]:
    """The aliases that the results of `function` declare, in the order of the results.

    Raises:
        ValueError: a declaration names no input, one of another type, or one named before.
    """
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    arguments = {name: number for number, name in input_names(function).items()}
    found: dict[int, Alias] = {}
    for result, given in enumerate(_dictionaries(function, "res_attrs", len(type_.results))):
        name = given.get(ALIAS, given.get(DONATED))
        if name is None:
            continue
        if not isinstance(name, ir.StringAttr) or name.value not in arguments:
            raise ValueError(f"result {result} is an alias of {name}, which is no input")
        argument = arguments[name.value]
        if type_.inputs[argument] != type_.results[result]:
            kinds = f"{type_.results[result]}, the input '{name.value}' {type_.inputs[argument]}"
            raise ValueError(f"result {result} is a {kinds}")
        if argument in found:
            raise ValueError(f"two results are aliases of the input '{name.value}'")
        found[argument] = Alias(result, argument)
    return list(found.values())


def input_names(function: ir.Operation) -> dict[int, str]:
    """Names of the inputs by the number of their argument; parameters are left out."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "arg_attrs", len(type_.inputs))
    return {
        number: _text(given, "xyntra.input", f"input{number}")
        for number, given in enumerate(entries)
        if "xyntra.parameter" not in given
    }


def output_names(function: ir.Operation) -> dict[int, str]:
    """Names of the outputs by the number of their result; flags of requirements are left out."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "res_attrs", len(type_.results))
    return {
        number: _text(given, "xyntra.output", f"output{number}")
        for number, given in enumerate(entries)
        if "xyntra.requires" not in given
    }


def donated_results(function: ir.Operation) -> set[int]:
    """The numbers of results that may be written over an input, or have memory of their own."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "res_attrs", len(type_.results))
    return {number for number, given in enumerate(entries) if DONATED in given}


def set_apart(function: ir.Operation, reasons: Mapping[int, str]) -> None:
    """Settle all donated results of `function`: those of `reasons` lie apart, others are aliases.

    Args:
        function: it.
        reasons: why a result is not written over its input, by the number of the result.
    """
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "res_attrs", len(type_.results))
    with function.context:
        for number, entry in enumerate(entries):
            name = entry.pop(DONATED, None)
            if number in reasons:
                entry[APART] = ir.StringAttr.get(reasons[number])
            elif name is not None:
                entry[ALIAS] = name
        function.attributes["res_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, entries)))


def filled_by(function: ir.Operation, argument: int) -> int | None:
    """The number of the argument that says how many positions `argument` holds, if one does."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    given = _dictionaries(function, "arg_attrs", len(type_.inputs))[argument]
    numbers = {name: number for number, name in input_names(function).items()}
    return numbers.get(_text(given, FILLED, ""))


def set_argument_text(function: ir.Operation, argument: int, name: str, text: str) -> None:
    """Give an argument of `function` an attribute that holds a text."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "arg_attrs", len(type_.inputs))
    with function.context:
        entries[argument][name] = ir.StringAttr.get(text)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, entries)))


def set_result_texts(function: ir.Operation, name: str, texts: Mapping[int, str]) -> None:
    """Give results of `function`, by number, an attribute that holds a text each."""
    if not texts:
        return
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    entries = _dictionaries(function, "res_attrs", len(type_.results))
    with function.context:
        for result, text in texts.items():
            entries[result][name] = ir.StringAttr.get(text)
        function.attributes["res_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, entries)))


def _text(given: dict[str, ir.Attribute], name: str, default: str) -> str:
    found = given.get(name)
    return str(found.value) if isinstance(found, ir.StringAttr) else default


def _dictionaries(function: ir.Operation, name: str, count: int) -> list[dict[str, ir.Attribute]]:
    if name not in function.attributes:
        return [{} for _ in range(count)]
    entries = map(ir.DictAttr, ir.ArrayAttr(function.attributes[name]))
    return [{entry.name: entry.attr for entry in each} for each in entries]
