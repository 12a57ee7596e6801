# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which tensors are stored, and which products multiplied, in 16 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.owners import only_reader
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.precision.hazards import ANGLES, BodyHazards, hazards_of
from xyntra.passes.precision.magnitudes import Magnitudes, constant_peak
from xyntra.passes.precision.roles import PrecisionRole, element_of, is_copy, role_of

__all__ = ["Decisions", "decide"]

_VECTOR = 8192
"""Elements of a parameter up to which it is left alone where only elementwise operations read it:
biases and the like, which cost nothing in f32."""
_STORED = (
    PrecisionRole.CONTRACTION,
    PrecisionRole.ATTENTION,
    PrecisionRole.NAMED,
    PrecisionRole.EXTREME,
    PrecisionRole.ELEMENTWISE,
    PrecisionRole.MOVE,
)
_START = "sums start from it"
_RESULT = "it is a result of the model"


@dataclass
class Decisions:
    """What is decided for one function.

    Attributes:
        roles: of every operation, in order.
        narrow: f32 tensors that are stored in 16 bits.
        lowered: contractions and attentions whose factors are of 16 bits.
        kept: why a contraction, an attention or a tensor stays in f32, by the operation's number.
        arguments: why a parameter does.
        data: tensors of floats that depend on the model's float inputs or on weights.
        observed: for lowered contractions, the largest magnitudes of both factors in samples; 0
            where none was observed.
    """

    roles: list[tuple[ir.Operation, PrecisionRole]]
    narrow: set[ir.Value] = field(default_factory=set)
    lowered: set[int] = field(default_factory=set)
    kept: dict[int, str] = field(default_factory=dict)
    arguments: dict[ir.Value, str] = field(default_factory=dict)
    data: set[ir.Value] = field(default_factory=set)
    observed: dict[int, tuple[float, float]] = field(default_factory=dict)


def decide(
    block: ir.Block, limit: float, *, activations: bool = True, interface: bool = False
) -> Decisions:
    """Decide for the function with the body `block`.

    Args:
        block: linalg on tensors, with named ops.
        limit: the largest finite number of the 16-bit type.
        activations: whether tensors that a call computes are narrowed, or parameters alone.
        interface: whether inputs and results of the function are narrowed, whatever they hold.
    """
    return _Decider(block, limit, activations, interface).decide()


class _Decider:
    def __init__(self, block: ir.Block, limit: float, activations: bool, interface: bool) -> None:
        reductions = Reductions()
        operations = [view.operation for view in block.operations]
        self.block, self.limit = block, limit
        self.activations, self.interface = activations, interface
        self.decisions = Decisions([(op, role_of(op, reductions)) for op in operations])
        self.magnitudes = Magnitudes(block, operations)
        self.weights = {block.arguments[place] for place in weight_positions(block)}
        self.data: set[ir.Value] = set()
        """Tensors of floats that depend on the model's float inputs or on weights."""
        self.static: set[ir.Value] = set()
        """Tensors that depend on constants alone."""
        self.peaks: dict[ir.Value, float] = {}
        self.grows: dict[ir.Value, str] = {}
        self.wide: dict[ir.Value, str] = {}
        """Tensors that have to be f32, with the reason."""
        self.classes = _Classes()
        pairs = self.decisions.roles
        self.elementwise = {op for op, role in pairs if role is PrecisionRole.ELEMENTWISE}
        self.roles_of = {value: role for op, role in pairs for value in op.results}

    def decide(self) -> Decisions:
        self._arguments()
        hazards: dict[int, BodyHazards] = {}
        for number, (op, role) in enumerate(self.decisions.roles):
            if all(value in self.static for value in (*op.operands, *_captured(op))):
                self.static.update(op.results)
            if role is PrecisionRole.CONSTANT:
                self.peaks |= {value: constant_peak(value) for value in op.results}
                continue
            if op.name == "linalg.generic" and role is not PrecisionRole.CONTRACTION:
                peaks = [self.peaks.get(value, 0.0) for value in op.operands]
                hazards[number] = hazards_of(op, peaks)
            self._forward(op, role, hazards.get(number))
        for number in reversed(range(len(self.decisions.roles))):
            self._backward(number, hazards.get(number))
        self._store()
        self.decisions.data = self.data
        return self.decisions

    def _arguments(self) -> None:
        for argument in self.block.arguments:
            if element_of(argument) not in ("f32", "f16", "bf16"):
                continue
            self.data.add(argument)
            self.peaks[argument] = self.magnitudes.of(argument)
            if argument not in self.weights and self.interface:
                continue
            if argument not in self.weights:
                self.wide[argument] = "it is an input of the model"
            elif self.peaks[argument] > self.limit:
                self.wide[argument] = f"it has values up to {self.peaks[argument]:g}"
            elif self.magnitudes.is_tiny(argument):
                self.wide[argument] = "its values are too small for 16 bits"
            elif _is_vector(argument) and not self._is_factor(argument):
                self.wide[argument] = ""

    def _is_factor(self, value: ir.Value) -> bool:
        """Whether operations read `value` that want all operands of one type."""
        named = ("xyntra.", "tensor.")
        users = [use.owner.operation for use in value.uses]
        return any(user.name.startswith(named) for user in users)

    def _forward(self, op: ir.Operation, role: PrecisionRole, hazards: BodyHazards | None) -> None:
        reads = [*op.operands, *_captured(op)]
        is_data = any(value in self.data or element_of(value) in ("f16", "bf16") for value in reads)
        for value in op.results:
            if element_of(value) != "f32":
                continue
            if is_data:
                self.data.add(value)
            if role is PrecisionRole.MOVE:
                self.peaks[value] = max((self.peaks.get(each, 0.0) for each in reads), default=0.0)
                self.classes.tie(value, [each for each in op.operands if self._is_tied(each)])
                continue
            if not self.activations and is_copy(op):
                self.classes.tie(value, [op.operands[0]])
            observed = self.magnitudes.of(value)
            self.peaks[value] = max(observed, hazards.peak if hazards else 0.0)
            if hazards and hazards.grows and not observed:
                self.grows[value] = hazards.grows

    def _is_tied(self, value: ir.Value) -> bool:
        """Whether moving `value` should not convert it: constants are converted when compiling."""
        if element_of(value) != "f32":
            return False
        if isinstance(value.owner, ir.Block):
            return True
        op = value.owner.operation
        return op.name != "arith.constant" and not (
            op.name == "linalg.generic" and len(op.operands) == 1
        )

    def _backward(self, number: int, hazards: BodyHazards | None) -> None:
        op, role = self.decisions.roles[number]
        reason = next((self.wide[value] for value in op.results if self.wide.get(value)), "")
        if op.name == "linalg.generic" and role is not PrecisionRole.ELEMENTWISE:
            self._widen(list(op.operands)[len(op.operands) - len(op.results) :], _START)
        if role in (PrecisionRole.CONTRACTION, PrecisionRole.ATTENTION):
            self._multiply(number, reason)
        elif op.name == "func.return" and self.interface:
            return
        elif role is PrecisionRole.OTHER:
            why = _RESULT if op.name == "func.return" else "an operation reads it that needs f32"
            self._widen([*op.operands, *_captured(op)], why)
        elif role is PrecisionRole.MOVE and reason:
            self._widen(list(op.operands), reason)
        elif hazards is not None:
            for place, why in hazards.amplified.items():
                self._widen([op.operands[place]], why)
            if role is PrecisionRole.ELEMENTWISE and reason not in ("", _RESULT, _START):
                self._widen(list(op.operands), reason)

    def _widen(self, values: list[ir.Value], reason: str) -> None:
        for value in values:
            if element_of(value) == "f32":
                self.wide.setdefault(value, reason)

    def _multiply(self, number: int, reason: str) -> None:
        op, role = self.decisions.roles[number]
        factors = list(op.operands)[: 3 if role is PrecisionRole.ATTENTION else 2]
        why = self._refusal(factors, reason)
        if not why and self.activations:
            self.decisions.lowered.add(number)
            if role is PrecisionRole.CONTRACTION:
                first, second = (self._observed(value) for value in factors)
                self.decisions.observed[number] = (first, second)
        elif why:
            self.decisions.kept[number] = why

    def _observed(self, value: ir.Value) -> float:
        """Return the largest magnitude of `value` in samples; 0 where none was observed."""
        while (found := self.magnitudes.of(value)) == 0 and not isinstance(value.owner, ir.Block):
            if self.roles_of.get(value) is not PrecisionRole.MOVE:
                break
            sources = [each for each in value.owner.operation.operands if element_of(each)]
            if len(sources) != 1:
                break
            value = sources[0]
        return found

    def _refusal(self, factors: list[ir.Value], reason: str) -> str:
        """Why factors cannot be of 16 bits; "" where they can."""
        if any(element_of(value) != "f32" for value in factors):
            return f"it is of {element_of(factors[0])}"
        if not any(value in self.data for value in factors):
            return "it reads no weights or inputs"
        if reason in ANGLES:
            return reason
        for value in factors:
            if value in self.weights and self.wide.get(value):
                return f"of a weight, {self.wide[value]}"
            if self.peaks.get(value, 0.0) > self.limit:
                return f"a factor reaches {self.peaks[value]:g}"
            if value in self.grows and self.limit < 1e30:
                return f"of a factor, {self.grows[value]}"
        return ""

    def _store(self) -> None:
        """Fill in `narrow`: what is computed from data, in 16 bits unless something speaks against.

        Tensors that are moved into one another are stored alike.
        """
        vetoed = {self.classes.of(value) for value in self.wide}
        found = list(self.block.arguments)
        for number, (op, role) in enumerate(self.decisions.roles):
            for value in op.results:
                if element_of(value) != "f32":
                    continue
                why = self._unstored(number, value, role)
                if why is None:
                    found.append(value)
                    continue
                vetoed.add(self.classes.of(value))
                if why and value in self.data:
                    self.decisions.kept.setdefault(number, why)
        self.decisions.arguments = {each: self.wide[each] for each in self.weights & set(self.wide)}
        used = {self.classes.of(value) for value in found if value in self.data}
        for value in found:
            if self.classes.of(value) not in used:
                continue
            is_free = self.classes.of(value) not in vetoed and not self._stays_in_registers(value)
            if element_of(value) == "f32" and is_free:
                self.decisions.narrow.add(value)

    def _stays_in_registers(self, value: ir.Value) -> bool:
        """Whether one elementwise operation reads `value`, and nothing else that is computed.

        They become one kernel, so that rounding in between would cost digits and gain nothing.
        """
        reader = only_reader(value)
        if reader is None or reader not in self.elementwise or isinstance(value.owner, ir.Block):
            return False
        if self.roles_of[value] not in (
            PrecisionRole.CONTRACTION,
            PrecisionRole.ELEMENTWISE,
        ) or any(_captured(reader)):
            return False
        others = [each for each in reader.operands if each != value]
        return not any(each in self.data and each not in self.weights for each in others)

    def _unstored(self, number: int, value: ir.Value, role: PrecisionRole) -> str | None:
        """Why a result is f32; None where it need not be, "" where there is nothing to say."""
        if not self.activations:
            op = value.owner.operation
            is_moved = role is PrecisionRole.MOVE or is_copy(op)  # of what, their class decides
            return None if is_moved else ""
        if self.wide.get(value):
            return self.wide[value] if self.wide[value] != _RESULT else ""
        if role is PrecisionRole.CONTRACTION and number not in self.decisions.lowered:
            return self.decisions.kept.get(number, "")
        if role not in _STORED or value not in self.data:
            return None if value in self.static else ""
        if self.peaks.get(value, 0.0) > self.limit:
            return f"it reaches {self.peaks[value]:g}"
        return self.grows.get(value) if self.limit < 1e30 else None


class _Classes:
    """Sets of tensors that are stored alike."""

    def __init__(self) -> None:
        self._parents: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """Return the tensor that stands for all that are stored like `value`."""
        while value in self._parents:
            value = self._parents[value]
        return value

    def tie(self, value: ir.Value, others: list[ir.Value]) -> None:
        """Store `value` like `others`."""
        for other in others:
            first, second = self.of(value), self.of(other)
            if first != second:
                self._parents[first] = second


def _captured(op: ir.Operation) -> Iterator[ir.Value]:
    """Tensors that the regions of `op` read beside its operands."""
    for inner in nested_operations(op):
        for value in inner.operands:
            if element_of(value):
                yield value


def _is_vector(value: ir.Value) -> bool:
    shape: list[int] = list(ir.RankedTensorType(value.type).shape)
    return prod(shape) == max(shape, default=1) <= _VECTOR
