# SPDX-License-Identifier: MIT OR Apache-2.0
"""An exported program as plain data: what the exporting process writes and the worker reads.

Arguments of nodes are JSON values; what JSON lacks is an object of one key: `{"value": name}` is a
value of the program, `{"dtype": name}` an element type, and `{"size": expression}` a number that
depends on the sizes of inputs.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.frontends.weight_types import dtype_of

__all__ = [
    "HAS_FREE_SIZE",
    "INLINE_BYTES",
    "AtenCall",
    "AtenInput",
    "AtenParameter",
    "AtenProgram",
    "AtenRequirement",
    "AtenSymbol",
    "AtenTensor",
    "call_operators",
]

INLINE_BYTES = 1024
"""Tensors up to this size are part of the program, as in models of ONNX."""

HAS_FREE_SIZE = "has_free_size"
"""An argument of calls of which another one is a size that is free."""


@dataclass(frozen=True)
class AtenTensor:
    """The type of a value.

    Attributes:
        dtype: numpy's name.
        shape: its size in every dimension; of one that is free, the size in the example.
        sizes: the expressions of these, where any is free.
    """

    dtype: str
    shape: tuple[int, ...]
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AtenInput:
    """An input of the program: its name and its type."""

    name: str
    type: AtenTensor


@dataclass(frozen=True)
class AtenParameter:
    """A weight, a buffer or a constant tensor.

    Attributes:
        name: of the value in the program.
        weight: its qualified name in the module; tied weights share one.
        type: its type.
        data: its elements in base64, where it is small enough to be part of the program.
    """

    name: str
    weight: str
    type: AtenTensor
    data: str | None = None

    def array(self) -> np.ndarray | None:
        """Return the elements of a small one; None for one that is handed over apart."""
        if self.data is None:
            return None
        elements = np.frombuffer(base64.b64decode(self.data), dtype_of(self.type.dtype))
        return elements.reshape(self.type.shape)


@dataclass(frozen=True)
class AtenCall:
    """One node: an operator applied to arguments.

    Attributes:
        name: of its value.
        operator: such as `aten.add.Tensor`, or `getitem`.
        label: the part of the module that it belongs to, and its name.
        arguments: every argument of the operator's schema by name, defaults included.
        results: the types of its results; None for one that is no tensor.
    """

    name: str
    operator: str
    label: str
    arguments: dict[str, Any]
    results: tuple[AtenTensor | None, ...]


@dataclass(frozen=True)
class AtenRequirement:
    """What a call has to fulfil.

    Attributes:
        name: of the value that says whether it does, a boolean of rank 0.
        texts: of the error where it does not, as `xyntra.requires` holds them.
    """

    name: str
    texts: dict[str, str]


@dataclass(frozen=True)
class AtenSymbol:
    """A size that is free.

    Attributes:
        name: what users call it.
        identifier: what expressions call it.
        example: its size in the example.
        low, high: its least and its largest size; None where none is the largest.
    """

    name: str
    identifier: str
    example: int
    low: int
    high: int | None


@dataclass(frozen=True)
class AtenProgram:
    """A program without the elements of its larger weights.

    Attributes:
        inputs: in order.
        parameters: in order.
        calls: in an order in which each follows what it reads.
        outputs: names of values.
        requirements: what calls have to fulfil.
        output_names: what callers know the outputs by; empty where they are numbered.
        symbols: the sizes that are free.
        guards: what has to hold of them: "==", "!=", "<" or "<=", and two expressions.
    """

    inputs: tuple[AtenInput, ...]
    parameters: tuple[AtenParameter, ...]
    calls: tuple[AtenCall, ...]
    outputs: tuple[str, ...]
    requirements: tuple[AtenRequirement, ...] = ()
    output_names: tuple[str, ...] = ()
    symbols: tuple[AtenSymbol, ...] = ()
    guards: tuple[tuple[str, str, str], ...] = ()

    def to_bytes(self) -> bytes:
        """Return the program as JSON."""
        return json.dumps(vars(self), default=vars).encode()  # `asdict` would copy everything

    @classmethod
    def from_bytes(cls, data: bytes) -> AtenProgram:
        """Return the program that `to_bytes` wrote."""
        fields = json.loads(data)
        return cls(
            tuple(AtenInput(each["name"], _type(each["type"])) for each in fields["inputs"]),
            tuple(
                AtenParameter(each["name"], each["weight"], _type(each["type"]), each["data"])
                for each in fields["parameters"]
            ),
            tuple(
                AtenCall(
                    each["name"],
                    each["operator"],
                    each["label"],
                    each["arguments"],
                    tuple(None if t is None else _type(t) for t in each["results"]),
                )
                for each in fields["calls"]
            ),
            tuple(fields["outputs"]),
            tuple(AtenRequirement(each["name"], each["texts"]) for each in fields["requirements"]),
            tuple(fields["output_names"]),
            tuple(AtenSymbol(**each) for each in fields["symbols"]),
            tuple((kind, left, right) for kind, left, right in fields["guards"]),
        )


def call_operators(data: bytes) -> dict[str, str]:
    """Return the operator of each node of a program by its label."""
    return {call.label: call.operator for call in AtenProgram.from_bytes(data).calls}


def _type(fields: dict[str, Any]) -> AtenTensor:
    return AtenTensor(fields["dtype"], tuple(fields["shape"]), tuple(fields["sizes"]))
