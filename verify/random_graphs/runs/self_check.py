# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wrong numbers on purpose, to show that the tolerances are not so wide as to hide them.

Each damage changes what an importer emits, in one way that a real defect might.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["DAMAGES", "install"]

DAMAGES = {
    "epsilon": "norms double their epsilon",
    "scale": "Tanh, Sigmoid and Exp are off by 2^-18 of the result",
    "mean": "ReduceMean is off by 2^-18 of the result",
    "product": "MatMul is off by 2^-17 of the result",
    "dequantize": "DequantizeLinear is off by 2^-18 of the result",
    "bias": "Gemm ignores its beta",
    "nan": "Relu gives 0 for NaN",
    "round": "Round rounds halves away from zero",
    "axis": "Softmax goes over the first dimension where that has the size of its own",
    "perm": "Transpose swaps two dimensions of one size",
    "pads": "Pad and pooling exchange what they add in front and behind",
    "zero": "Neg loses the sign of zero",
}

Importer = Callable[[Any], Any]
Wrapper = Callable[[Importer], Importer]


def install(name: str) -> None:
    """Damage the importers of this process.

    Raises:
        KeyError: there is no such damage.
    """
    from xyntra.frontends.onnx import node as nodes

    operators, wrap = _WRAPPERS[name]
    for operator in operators.split():
        handler = nodes.find_handler("", operator)
        assert handler is not None
        nodes._HANDLERS["", operator] = wrap(handler)


class _Changed:
    """A node that gives other values for its attributes and lists."""

    def __init__(self, node: Any, change: Callable[[Any, str, Any], Any]) -> None:
        self._node, self._change = node, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def attribute(self, name: str, default: Any = None) -> Any:
        return self._change(self._node, name, self._node.attribute(name, default))

    def integers(self, name: str, position: int) -> Any:
        return self._change(self._node, name, self._node.integers(name, position))


def _changing(change: Callable[[Any, str, Any], Any]) -> Wrapper:
    return lambda importer: lambda node: importer(_Changed(node, change))


def _mapping(change: Callable[[Any], Any]) -> Wrapper:
    """Importers whose first result is changed element by element, where it is a float."""

    def wrap(importer: Importer) -> Importer:
        def changed(node: Any) -> Any:
            result = importer(node)
            several = isinstance(result, (list, tuple))
            first = result[0] if several else result
            if "float32" not in str(getattr(first, "dtype", "")) or not hasattr(first, "value"):
                return result
            other = node.b.map(change, first, dtype=first.dtype)
            return [other, *result[1:]] if several else other

        return changed

    return wrap


def _halves_away(importer: Importer) -> Importer:
    def changed(node: Any) -> Any:
        x = node.tensor(0)
        return node.b.map(lambda v: v.math("round"), x, dtype=x.dtype)

    return changed


def _axis(node: Any, name: str, value: Any) -> Any:
    shape = node.tensor(0).shape
    if name != "axis" or len(shape) < 2 or node.opset < 13:
        return value
    return 0 if shape[0] == shape[value] else value


def _perm(node: Any, name: str, value: Any) -> Any:
    if name != "perm" or not value:
        return value
    sizes = [node.tensor(0).shape[d] for d in value]
    for i in range(len(value) - 1):
        if sizes[i] == sizes[i + 1] > 1:
            return [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
    return value


def _pads(_: Any, name: str, value: Any) -> Any:
    if name != "pads" or not value:
        return value
    half = len(value) // 2
    return [*value[half:], *value[:half]]


def _named(wanted: str, change: Callable[[Any], Any]) -> Wrapper:
    def changed(_: Any, name: str, value: Any) -> Any:
        return change(value) if name == wanted and value is not None else value

    return _changing(changed)


_NORMS = "LayerNormalization BatchNormalization InstanceNormalization RMSNormalization"
_WRAPPERS: dict[str, tuple[str, Wrapper]] = {
    "epsilon": (_NORMS, _named("epsilon", lambda value: 2 * value)),
    "scale": ("Tanh Sigmoid Exp", _mapping(lambda v: v * (1 + 2**-18))),
    "mean": ("ReduceMean", _mapping(lambda v: v * (1 + 2**-18))),
    "product": ("MatMul", _mapping(lambda v: v * (1 + 2**-17))),
    "dequantize": ("DequantizeLinear", _mapping(lambda v: v * (1 + 2**-18))),
    "bias": ("Gemm", _named("beta", lambda _: 1.0)),
    "nan": ("Relu", _mapping(lambda v: v.is_nan().select(0, v))),
    "round": ("Round", _halves_away),
    "axis": ("Softmax LogSoftmax", _changing(_axis)),
    "perm": ("Transpose", _changing(_perm)),
    "pads": ("Pad AveragePool MaxPool", _changing(_pads)),
    "zero": ("Neg", _mapping(lambda v: v.equals(0).select(0, v))),
}
