# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model for the values of inputs that decide a shape, which calls then have to give.

The caller says which values calls will have. Where an importer needs to know a tensor that is
computed from such inputs alone, the model is imported again with their values in their place. They
stay inputs: what a call gives is compared with what the model was compiled for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.control.requirements import Requirements
from xyntra.frontends.onnx.inputs.provenance import binding_to

__all__ = ["NOT_COMPILED", "Specialised", "ValueWanted"]

NOT_COMPILED = "value-not-compiled"
"""Code of the error of a call whose inputs have other values."""
_MOST_SHOWN = 8


class ValueWanted(Exception):
    """The model can be imported only if the values of inputs take their place.

    Args:
        names: of the inputs.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(", ".join(names))
        self.names = frozenset(names)


class Specialised:
    """The values that inputs will have, and which of them the model is compiled for.

    Args:
        values: arrays by input name.
        used: names of the inputs whose values are put in their place.
    """

    def __init__(self, values: Mapping[str, np.ndarray], used: Collection[str] = ()) -> None:
        self._values = values
        self._used = frozenset(used)

    def value(self, name: str) -> np.ndarray | None:
        """The array that takes the place of an input; None where it stays as it is."""
        return self._values[name] if name in self._used else None

    def want(self, names: Sequence[str]) -> None:
        """Ask for the values of the inputs `names`, of which a tensor is computed.

        Raises:
            ValueWanted: all of them are known.
        """
        if names and all(name in self._values for name in names):
            raise ValueWanted(names)

    def require(
        self, requirements: Requirements, b: TensorBuilder, tensor: Tensor, name: str
    ) -> None:
        """Require of calls that the input `name`, which is `tensor`, has its value."""
        value = self._values[name]
        texts = {
            "code": NOT_COMPILED,
            "message": f"input '{name}' has another value than the model was compiled for",
            "place": f"input '{name}'",
            "cause": f"it decides a shape, and was {_shown(value)} when compiling",
            "hint": "compile the model for this value: "
            f"specialize={{{name!r}: VALUE}}, or {binding_to({name: 'VALUE'})}",
        }
        same = b.map(_is_same, tensor, value, dtype="bool", shape=tensor.shape)
        flag = b.reduce(same, range(same.rank), "min", keepdims=False) if same.rank else same
        requirements.add(flag, texts)


def _is_same(given: Scalar, known: Scalar) -> Scalar:
    same = given.equals(known)
    return same | (given.is_nan() & known.is_nan()) if is_float(given.dtype) else same


def _shown(value: np.ndarray) -> str:
    if value.size > _MOST_SHOWN:
        return f"an array of {value.size} elements"
    return str(value.tolist())
