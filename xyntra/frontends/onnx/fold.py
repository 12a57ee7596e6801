# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates nodes whose inputs are all known, so that shapes and conditions become constants."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod

import numpy as np
import onnx

FOLD_LIMIT = 4096
"""Largest array, in elements, that is computed at compile time."""

_NOT_FOLDED = {
    "If", "Loop", "Scan", "Constant", "Bernoulli", "Multinomial", "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Dropout",
}  # fmt: skip
_SIZED_BY_INPUT = {"ConstantOfShape": 0, "Expand": 1}


def fold(
    node: onnx.NodeProto, inputs: Sequence[np.ndarray | None], opset: int
) -> list[np.ndarray] | None:
    """The node's outputs computed by ONNX's reference implementation, or None.

    None means that the node stays in the program: its result would be large, it is random, or the
    reference implementation refuses it.
    """
    if node.op_type in _NOT_FOLDED or not _is_small(node, inputs):
        return None
    from onnx.reference import ReferenceEvaluator

    names = [name if array is not None else "" for name, array in zip(node.input, inputs, strict=True)]
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if name}
    graph = onnx.helper.make_graph(
        [node],
        "fold",
        [_untyped(name) for name in feeds],
        [_untyped(name) for name in node.output if name],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, feeds)
    except Exception:
        # The reference evaluator raises whatever numpy does; the node is then imported as usual,
        # which says what is wrong with it.
        return None
    arrays = [np.asarray(result) for result in results]
    return arrays if all(array.size <= FOLD_LIMIT for array in arrays) else None


def _untyped(name: str) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name)


def _is_small(node: onnx.NodeProto, inputs: Sequence[np.ndarray | None]) -> bool:
    if any(array is not None and array.size > FOLD_LIMIT for array in inputs):
        return False
    position = _SIZED_BY_INPUT.get(node.op_type)
    if position is not None:
        shape = inputs[position]
        return shape is not None and abs(prod(int(n) for n in shape.reshape(-1))) <= FOLD_LIMIT
    if node.op_type == "Range":
        return _range_length(inputs) <= FOLD_LIMIT
    if node.op_type == "Tile":
        return _tiled_size(inputs) <= FOLD_LIMIT
    return node.op_type not in ("Pad", "Resize", "OneHot", "EyeLike", "Upsample")


def _range_length(inputs: Sequence[np.ndarray | None]) -> float:
    start, limit, delta = (float(array.item()) if array is not None else 0.0 for array in inputs)
    return abs((limit - start) / delta) if delta else float("inf")


def _tiled_size(inputs: Sequence[np.ndarray | None]) -> int:
    source, repeats = inputs[0], inputs[1]
    if source is None or repeats is None:
        return 0
    return source.size * abs(prod(int(n) for n in repeats.reshape(-1)))
