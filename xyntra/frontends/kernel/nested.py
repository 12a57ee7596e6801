# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports a recorded program inside of another: its operators are built where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from xyntra.dialects.builder import TensorBuilder
from xyntra.frontends.kernel.registry import HANDLERS
from xyntra.frontends.torch.node import AtenNode, Handler, unknown_operator
from xyntra.frontends.torch.node import find_handler as find_aten_handler
from xyntra.frontends.torch.program import AtenProgram

__all__ = ["find_handler", "run_program"]

_MODULES = ("elementwise", "contraction", "combining")


@cache
def _load() -> None:
    for module in _MODULES:
        import_module(f"xyntra.frontends.kernel.ops.{module}")


def find_handler(operator: str) -> Handler | None:
    """Return the importer of an operator of ours, such as `xyntra.index`, or of ATen's."""
    _load()
    return HANDLERS.get(operator) or find_aten_handler(operator)


def run_program(program: AtenProgram, inputs: Sequence[Any], b: TensorBuilder) -> list[Any]:
    """Build the operators of a program without parameters, and return its outputs.

    Args:
        program: what to build.
        inputs: the values of its inputs.
        b: where to build.

    Raises:
        UnsupportedError: an operator, or a use of one, is not supported.
    """
    values: dict[str, Any] = dict(zip((each.name for each in program.inputs), inputs, strict=True))

    def loaded(value: Any) -> Any:
        if isinstance(value, dict) and "value" in value:
            return values[value["value"]]
        return [loaded(each) for each in value] if isinstance(value, list) else value

    for call in program.calls:
        arguments = {name: loaded(each) for name, each in call.arguments.items()}
        if call.operator == "getitem":
            values[call.name] = arguments["source"][arguments["index"]]
            continue
        handler = find_handler(call.operator)
        if handler is None:
            raise unknown_operator(call)
        values[call.name] = handler(AtenNode(call, arguments, b))
    return [b.tensor(values[name]) for name in program.outputs]
