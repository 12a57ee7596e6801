# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes inputs that are sequences or optionals apart into the tensors that they hold.

How many elements a sequence has, and whether an optional is there, is told by the shapes that are
given: `s[0]` is the first element of the sequence `s`, and an optional without a shape is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.values import Absent, TensorSequence, Value, part_name

__all__ = ["Composite", "take_apart"]

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Composite:
    """An input that is no tensor.

    Attributes:
        name: of the input.
        element: dtype of the tensors that it holds.
        parts: names of these.
        is_sequence: whether it is a sequence, or an optional one that is there.
    """

    name: str
    element: str
    parts: tuple[str, ...]
    is_sequence: bool

    def value(self, tensors: Mapping[str, Value]) -> Value:
        """Return what the input is, given its parts by name."""
        found = [tensors[name] for name in self.parts]
        if self.is_sequence:
            return TensorSequence(tuple(found), self.element)  # type: ignore[arg-type]
        return found[0] if found else Absent()


def take_apart(
    inputs: Sequence[onnx.ValueInfoProto], shapes: Shapes
) -> tuple[list[onnx.ValueInfoProto], list[Composite], dict[str, Sequence[int]]]:
    """Inputs that are tensors, what the others are made of, and shapes of the former alone.

    Args:
        inputs: the graph's.
        shapes: given shapes, by name of an input or of an element.
    """
    tensors: list[onnx.ValueInfoProto] = []
    composites = []
    kept = dict(shapes)
    for value in inputs:
        kind = value.type.WhichOneof("value")
        if kind not in ("sequence_type", "optional_type"):
            tensors.append(value)
            continue
        found, elements = _composite(value, kept)
        composites.append(found)
        tensors += elements
        if value.name not in found.parts:
            kept.pop(value.name, None)
    return tensors, composites, kept


def _composite(
    value: onnx.ValueInfoProto, shapes: Shapes
) -> tuple[Composite, list[onnx.ValueInfoProto]]:
    name, type_ = str(value.name), value.type
    given = name in shapes or part_name(name, 0) in shapes
    is_optional = type_.WhichOneof("value") == "optional_type"
    if is_optional:
        type_ = type_.optional_type.elem_type
    is_sequence = type_.WhichOneof("value") == "sequence_type"
    element = type_.sequence_type.elem_type if is_sequence else type_
    dtype = dtype_name(element.tensor_type.elem_type, f"input '{name}'")
    count = 0
    while is_sequence and part_name(name, count) in shapes:
        count += 1
    parts = [part_name(name, number) for number in range(count)]
    if not is_sequence and given:
        parts = [name]
    made = [onnx.ValueInfoProto(name=part, type=element) for part in parts]
    for part in made if is_sequence else []:
        for dim in part.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.Clear()  # each element may have another size there
    there = is_sequence and (given or not is_optional)
    return Composite(name, dtype, tuple(parts), there), made
