# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads `aliases=`, and lets outputs of an imported model be aliases of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xyntra.dialects.aliases import (
    ALIAS,
    DONATED,
    input_names,
    output_names,
    set_result_texts,
)
from xyntra.dialects.mlir import ir
from xyntra.errors import InputError
from xyntra.suggestions import did_you_mean

__all__ = ["mark_aliases", "read_aliases"]


def read_aliases(aliases: Any) -> dict[str, str]:
    """Read `aliases=`: names of inputs by names of outputs.

    Raises:
        InputError: `alias-type`, or `alias-twice` where two outputs are to lie in one place.
    """
    if aliases is None:
        return {}
    if not isinstance(aliases, Mapping) or not all(
        isinstance(name, str) for pair in aliases.items() for name in pair
    ):
        raise InputError(
            "alias-type",
            f"expected names of inputs by names of outputs, got {repr(aliases)[:60]}",
            place="aliases=",
            hint="aliases={'present': 'past'}",
        )
    found: dict[str, str] = {}
    for output, name in aliases.items():
        if name in found:
            raise InputError(
                "alias-twice",
                f"the outputs '{found[name]}' and '{output}' cannot both lie where '{name}' does",
                place="aliases=",
            )
        found[name] = output
    return dict(aliases)


def mark_aliases(module: ir.Operation, aliases: Mapping[str, str], donated: bool = False) -> None:
    """Declare aliases in an imported module.

    Args:
        module: with the function `main` alone.
        aliases: names of inputs by names of outputs.
        donated: whether an output that no kernel can write there has memory of its own.

    Raises:
        InputError: `unknown-output`, `unknown-input`, `alias-dtype` or `alias-shape`.
    """
    if not aliases:
        return
    functions = (view.operation for view in module.regions[0].blocks[0].operations)
    main = next(op for op in functions if op.name == "func.func" and len(op.regions[0].blocks))
    outputs = {name: number for number, name in output_names(main).items()}
    inputs = {name: number for number, name in input_names(main).items()}
    type_ = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    texts: dict[int, str] = {}
    for output, name in aliases.items():
        if output not in outputs:
            raise _unknown("output", output, outputs)
        if name not in inputs:
            raise _unknown("input", name, inputs)
        number = outputs[output]
        _check_types(output, type_.results[number], name, type_.inputs[inputs[name]])
        texts[number] = name
    set_result_texts(main, DONATED if donated else ALIAS, texts)


def _check_types(output: str, result: ir.Type, name: str, argument: ir.Type) -> None:
    written, given = ir.RankedTensorType(result), ir.RankedTensorType(argument)
    for code, what, found, wanted in (
        ("alias-dtype", "type", written.element_type, given.element_type),
        ("alias-shape", "shape", tuple(written.shape), tuple(given.shape)),
    ):
        if found != wanted:
            raise InputError(
                code,
                f"output '{output}' cannot be written where input '{name}' lies",
                place="aliases=",
                cause=f"the output has the {what} {found}, the input {wanted}",
            )


def _unknown(kind: str, name: str, known: Mapping[str, int]) -> InputError:
    return InputError(
        f"unknown-{kind}",
        f"the model has no {kind} '{name}'",
        place="aliases=",
        cause=f"its {kind}s are {', '.join(known) or 'none'}",
        hint=did_you_mean(name, known),
    )
