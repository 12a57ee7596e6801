# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a model of kernels alone, as text: a call of each, on inputs and weights of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import function_name, kernel_function

__all__ = ["as_module"]

_WEIGHT = 0.0625


def as_module(texts: Sequence[str]) -> str:
    """Return a module at the level of kernels.

    Args:
        texts: functions of kernels, as tuning databases have them. Arguments that are constants are
            weights, of one number, which kernels may prepare when the model is loaded.
    """
    inputs: list[str] = []
    results: list[str] = []
    returned: list[str] = []
    body: list[str] = []
    for number, (name, arguments, types) in enumerate(map(_signature, texts)):
        given = []
        for kind, is_constant in arguments:
            given.append(f"%w{len(body)}" if is_constant else f"%x{len(inputs)}")
            if is_constant:
                body.append(f"{given[-1]} = arith.constant {_dense(kind)} : {kind}")
            else:
                inputs.append(f"{given[-1]}: {kind}")
        kinds = ", ".join(kind for kind, _ in arguments)
        call = f"%y{number}:{len(types)} = call @{name}({', '.join(given)})"
        body.append(f"{call} : ({kinds}) -> ({', '.join(types)})")
        returned += [f"%y{number}#{each}" for each in range(len(types))]
        results += types
    head = f"func.func @main({', '.join(inputs)}) -> ({', '.join(results)}) {{"
    last = f"return {', '.join(returned)} : {', '.join(results)}"
    return "\n".join(["module {", *texts, head, *body, last, "}", "}"])


def _signature(text: str) -> tuple[str, list[tuple[str, bool]], list[str]]:
    """Return the name of a function, its arguments, which of these are constants, and results."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        function = kernel_function(module.operation)
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        constants = list(_constants(function, len(kind.inputs)))
        arguments = list(zip(map(str, kind.inputs), constants, strict=True))
        return function_name(function), arguments, list(map(str, kind.results))


def _constants(function: ir.Operation, count: int) -> Iterator[bool]:
    if "arg_attrs" not in function.attributes:
        yield from [False] * count
        return
    for each in ir.ArrayAttr(function.attributes["arg_attrs"]):
        yield "xyntra.constant" in ir.DictAttr(each)


def _dense(kind: str) -> str:
    return f"dense<{_WEIGHT if 'f' in kind.rpartition('x')[2] else 1}>"
