# SPDX-License-Identifier: MIT OR Apache-2.0
"""Knows the inputs that outputs are written over, and updates them where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.loops import for_each, insert, when
from xyntra.frontends.onnx.control.requirements import Requirements
from xyntra.passes.analysis.views import origin_of

__all__ = ["LENGTH", "NO_STATES", "States"]

LENGTH = "cache_length"
"""The input that says how many positions there are in caches that a Concat appends to."""


@dataclass(eq=False)
class States:
    """The inputs of a model that outputs are written over.

    Attributes:
        aliases: these inputs by the names of the outputs.
        requirements: where calls are told to fail that overflow one; None where they cannot be
            without waiting for the device: nothing is written there, either.
        values: their arguments, with their names.
        joined: those that a Concat appends to. Their length is that of the room, which is none of
            the model: its own is an input of the executable.
        length: that input, an int64 for each sequence, where there are such.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    requirements: Requirements | None = None
    values: dict[ir.Value, str] = field(default_factory=dict)
    joined: frozenset[str] = frozenset()
    length: Tensor | None = None

    def note(self, name: str, tensor: Tensor) -> None:
        """Note the argument of an input."""
        if name in self.aliases.values():
            self.values[tensor.value] = name

    def note_joins(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """Note the inputs that a Concat appends to, of which an output is an alias."""
        self.joined = frozenset(
            node.input[0]
            for node in nodes
            if node.op_type == "Concat"
            and len(node.input) == 2
            and self.aliases.get(node.output[0]) == node.input[0]
        )

    def is_joined(self, tensor: Tensor) -> bool:
        """Tell whether `tensor` is an input that a Concat appends to."""
        return bool(self.joined) and self.values.get(tensor.value) in self.joined

    def holds(self, tensor: Tensor) -> bool:
        """Tell whether `tensor` is such an input, in some shape."""
        return bool(self.values) and origin_of(tensor.value) in self.values

    def appended(
        self, b: TensorBuilder, state: Tensor, new: Tensor, starts: Tensor, axis: int
    ) -> Tensor:
        """`state` with `new` written along `axis`; arguments are those of `all_appended`."""
        return self.all_appended(b, [state], [new], starts, axis)[0]

    def all_appended(
        self,
        b: TensorBuilder,
        states: Sequence[Tensor],
        news: Sequence[Tensor],
        starts: Tensor,
        axis: int,
    ) -> list[Tensor]:
        """Each of `states` with one of `news` written along `axis`, in the same loops.

        Where they do not fit for one batch element, nothing is written.

        Args:
            b: where to build.
            states: the old values, of one shape; dimension 0 is the batch.
            news: of the shape of the states, but along `axis`.
            starts: an integer for each batch element: the position of the first new value.
            axis: counted from 0.
        """
        shape = news[0].shape
        room, length = states[0].shape[axis], shape[axis]

        def fits(start: Scalar) -> Scalar:
            return (start.cast("int64") >= 0) & (start.cast("int64") <= room - length)

        flags = b.map(fits, starts, dtype="bool")
        flag = b.reshape(flags if flags.shape == (1,) else b.reduce(flags, [0], "min"), [])
        if self.requirements is not None:
            self.requirements.add(flag, _overflow(room, length))
        if not any(size > 1 for size in shape):
            pairs = zip(states, news, strict=True)
            return [_one_replaced(b, state, new, starts, axis) for state, new in pairs]

        def body(indices: list[Scalar], tensors: list[Tensor]) -> list[Tensor]:
            def write() -> list[Tensor]:
                where = list(indices)
                where[axis] = where[axis] + b.extract(starts, indices[:1]).cast("index")
                pairs = zip(news, tensors, strict=True)
                return [insert(b.extract(new, indices), old, where) for new, old in pairs]

            return when(b.extract(flag, []), tensors, write)

        return for_each(b, shape, states, body, independent=range(len(shape)))


def _overflow(room: int, length: int) -> dict[str, str]:
    """Return the texts of the error for a cache that is too short; caches of one size share it."""
    more = "1 more position" if length == 1 else f"{length} more positions"
    return {
        "code": "state-full",
        "message": f"a cache with room for {room} positions has none for {more}",
        "cause": f"its length so far is above {room - length}, or negative; nothing was written",
        "hint": "compile the model with more room: dims={...}, or inputs={...}",
    }


def _one_replaced(
    b: TensorBuilder, state: Tensor, new: Tensor, starts: Tensor, axis: int
) -> Tensor:
    """One element written: an operation on all of them, as a loop of one step would be none."""

    def body(old: Scalar, start: Scalar, element: Scalar) -> Scalar:
        return b.index(axis).cast("int64").equals(start.cast("int64")).select(element, old)

    spread = [b.reshape(each, [1] * state.rank) for each in (starts, new)]
    return b.map(body, state, *spread, dtype=state.dtype)


NO_STATES = States()
