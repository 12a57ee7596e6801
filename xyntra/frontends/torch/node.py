# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the node that the importer of an ATen operator sees, and the registry of importers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
import onnx

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.errors import UnsupportedError
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.node import find_handler as find_onnx_handler
from xyntra.frontends.torch.program import AtenCall, AtenTensor
from xyntra.suggestions import did_you_mean

Result = Operand | None
Handler = Callable[["AtenNode"], "Result | Sequence[Result]"]

_OPSET = 23
"""Of the ONNX operators whose importers are shared."""
_MODULES = (
    "elementwise",
    "unary",
    "compare",
    "shape",
    "strided",
    "reduce",
    "matmul",
    "experts",
    "nn",
    "norms",
    "conv_gradient",
    "pool_gradient",
    "indexing",
    "writing",
    "make",
)
_HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the importer of the ATen operators `names`.

    A name has no overload: arguments are known by the names of the schema, so that one importer
    serves all overloads. An operator of another library than ATen has its name before it.

    Raises:
        ValueError: an operator has two importers.
    """

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in _HANDLERS:
                raise ValueError(f"operator aten.{name} has two importers")
            _HANDLERS[name] = handler
        return handler

    return register


@cache
def _load_importers() -> None:
    for module in _MODULES:
        import_module(f"xyntra.frontends.torch.ops.{module}")


def supported_operators() -> list[str]:
    """Return the names of all operators that have an importer, sorted."""
    _load_importers()
    return sorted(_HANDLERS)


def find_handler(operator: str) -> Handler | None:
    """Return the importer of an operator such as `aten.add.Tensor`, or None."""
    _load_importers()
    namespace, _, rest = operator.partition(".")
    name = rest.split(".")[0]
    return _HANDLERS.get(name if namespace == "aten" else f"{namespace}.{name}")


def unknown_operator(call: AtenCall) -> UnsupportedError:
    """Return the error for an operator that has no importer: its name, its node, what is near."""
    _, _, rest = call.operator.partition(".")
    random = any(word in rest for word in ("rand", "bernoulli", "dropout", "multinomial"))
    hint = did_you_mean(rest.split(".")[0], supported_operators())
    return UnsupportedError(
        "operator-unsupported",
        f"{call.operator} is not supported",
        place=f"node '{call.label}'",
        hint="module.eval() before compiling: random numbers are not drawn"
        if random
        else hint and hint.replace("did you mean", "the nearest operator that is supported is"),
    )


@dataclass(frozen=True)
class AtenNode:
    """One node during import.

    Attributes:
        call: the node as it was exported.
        arguments: by name; values of the program are tensors, or arrays where they are known.
        b: builds IR located at this node.
    """

    call: AtenCall
    arguments: Mapping[str, Any]
    b: TensorBuilder

    @property
    def dtype(self) -> str:
        """The dtype of the first result."""
        return self.result(0).dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.result(0).shape

    def result(self, position: int) -> AtenTensor:
        """Return the type of a result, which must be a tensor."""
        type_ = self.call.results[position] if self.call.results else None
        if type_ is None:
            raise self.unsupported("a result that is no tensor")
        return type_

    def __getitem__(self, name: str) -> Any:
        """Return an argument; None where the schema has none of that name."""
        return self.arguments.get(name)

    def has(self, name: str) -> bool:
        """Tell whether an argument is given and not None."""
        return self.arguments.get(name) is not None

    def operand(self, name: str) -> Operand:
        """Return an argument that is a tensor or a number; a number as an array of rank 0."""
        value = self.arguments[name]
        return value if isinstance(value, (Tensor, np.ndarray)) else number(value)

    def tensor(self, name: str) -> Tensor:
        """Return an argument as a tensor of the program."""
        return self.b.tensor(self.operand(name))

    def axis(self, value: int, rank: int) -> int:
        """Return a dimension as one that is not negative; a scalar has the dimension 0."""
        return int(value) % max(rank, 1)

    def axes(self, name: str, rank: int) -> list[int]:
        """Return an argument of dimensions, sorted; all of them for none."""
        value = self.arguments.get(name)
        given = [value] if isinstance(value, int) else value
        found = sorted({self.axis(each, rank) for each in given}) if given else list(range(rank))
        return found if rank else []

    def by_onnx(
        self, operator: str, *operands: Result, outputs: int = 1, **attributes: Any
    ) -> list[Tensor]:
        """Return the results of an ONNX operator, by its importer.

        Args:
            operator: its name.
            operands: its inputs; None for one that is left out.
            outputs: how many of its outputs are wanted.
            attributes: its attributes; None for one that is left out.
        """
        given = {name: value for name, value in attributes.items() if value is not None}
        names = [f"input{i}" if each is not None else "" for i, each in enumerate(operands)]
        results = [f"output{number}" for number in range(outputs)]
        proto = onnx.helper.make_node(operator, names, results, **given)
        handler = find_onnx_handler("", operator)
        if handler is None:
            raise KeyError(operator)
        result = handler(Node(proto, self.call.label, _OPSET, operands, self.b))
        found = list(result) if isinstance(result, (list, tuple)) else [result]
        return cast("list[Tensor]", found)

    def unsupported(self, message: str, hint: str | None = None) -> UnsupportedError:
        """Return the error for a use of the operator that is not compiled."""
        return UnsupportedError(
            "operator-unsupported",
            f"{self.call.operator}: {message}",
            place=f"node '{self.call.label}'",
            hint=hint,
        )


def number(value: Any) -> np.ndarray:
    """Return a number of Python as an array of rank 0 in the widest type of its kind."""
    if isinstance(value, bool):
        return np.array(value, np.bool_)
    return np.array(value, np.int64 if isinstance(value, int) else np.float64)
