# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plan of a compiled model: kernels in order and a buffer for every tensor.

A plan is plain data. It is built from the kernel level of the IR, serialises to JSON and is all
that the runtime of a target needs besides machine code and weights.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Final, Literal

import numpy as np

from xyntra.dialects.dtypes import NARROW_TYPES, item_bytes
from xyntra.errors import InputError
from xyntra.plan.costs.cost import (
    Boundary,
    Cost,
    Unfused,
    boundaries_from_json,
    cost_from_json,
    unfused_from_json,
)
from xyntra.plan.free.expressions import FreeSizes

BufferKind = Literal[
    "input", "output", "state", "parameter", "constant", "prepared", "temporary", "part"
]
WHOLE_KINDS: Final = ("input", "output", "temporary")
"""Kinds of buffers that may have parts."""


@dataclass(frozen=True)
class Port:
    """An input or output of the model.

    Attributes:
        name: what the model calls it.
        dtype: of its elements.
        shape: its size in every dimension.
        buffer: what holds it.
        fixed_by: of an input, for each dimension, the argument of `compile` that gave its size,
            such as "dims['batch']"; "" where the model did. Empty where the model gave all.
        copied: of an output that is written where an input lies, why it is computed elsewhere and
            copied there at the end of a call; "" where it is not.
        apart: of an output that was to be written over an input that is given up, why it has memory
            of its own; "" of others.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    buffer: int
    fixed_by: tuple[str, ...] = ()
    copied: str = ""
    apart: str = ""

    @property
    def nbytes(self) -> int:
        """Size of the tensor in bytes."""
        return prod(self.shape) * item_bytes(self.dtype)


@dataclass(frozen=True)
class Requirement:
    """Something without which the outputs of a call mean nothing; a call finds out.

    Attributes:
        flag: one boolean that a call computes beside its outputs: whether it is so.
        code, message, place, cause, hint: of the error that a call raises where it is not; the last
            three may be "".
    """

    flag: Port
    code: str
    message: str
    place: str = ""
    cause: str = ""
    hint: str = ""

    def error(self) -> InputError:
        """The error to raise."""
        texts = {"place": self.place, "cause": self.cause, "hint": self.hint}
        given = {name: text for name, text in texts.items() if text}
        return InputError(self.code, self.message, **given)


@dataclass(frozen=True)
class SizedDimension:
    """A dimension of an output whose size a call finds out.

    Attributes:
        output: number of the output, whose port has the largest size.
        dimension: of it.
        count: one int64 that a call computes beside its outputs: the real size.
    """

    output: int
    dimension: int
    count: Port


@dataclass(frozen=True)
class Buffer:
    """Memory of one tensor, row-major and contiguous.

    Attributes:
        kind: who provides the memory; `temporary` lives in the arena during a call, `prepared` is
            computed once when the model is loaded; a `part` lies in another buffer.
        nbytes: size.
        name: the weight of a `parameter`.
        data: contents of a `constant`.
        rounded_to: of a `parameter` that the model has in f32, the dtype that it is loaded in; ""
            for that of the model.
        source: of a `parameter` that is a part of a quantized weight, that weight; else "".
        part: which part, as `WeightPart` writes it.
        whole: the buffer that a `part` lies in, which is an input, an output or a temporary.
        offset: of the first byte of a `part` in it.
    """

    kind: BufferKind
    nbytes: int
    name: str = ""
    data: bytes = b""
    rounded_to: str = ""
    source: str = ""
    part: str = ""
    whole: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Step:
    """One launch of a kernel.

    Attributes:
        kernel: name of the kernel function.
        inputs: buffers that it reads, in argument order.
        outputs: buffers that it writes.
        nodes: names of the source nodes that it holds.
        once: computed from parameters and constants alone, when the model is loaded.
        cost: what the cost model predicted; None where nothing is known.
        boundaries: for the tensors that it reads from other kernels, why it was not fused with
            those; None where nothing is known.
    """

    kernel: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: tuple[str, ...]
    once: bool
    cost: Cost | None = None
    boundaries: tuple[Boundary, ...] | None = None


@dataclass(frozen=True)
class TensorType:
    """Dtype and shape of a tensor. Integers of the IR carry no sign: they count as signed."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class KernelCode:
    """One kernel function.

    Attributes:
        kind: elementwise, row, contraction …
        flops: floating-point operations of one launch.
        scratch: bytes of scratch memory that a launch needs, shared by its threads.
        inplace: pairs (result, argument) that share the argument's buffer.
        source: MLIR text of the function at the kernel level.
        arguments: types of the tensors that it reads.
        results: types of the tensors that it writes.
        private: bytes of scratch memory that each thread of a launch needs beside.
        prepared: bytes of what it makes of its constants once, when the model is loaded.
        constants: numbers of the arguments that are known then.
        schedules: by which emitter the code of each launch on a GPU, or of each loop nest on a CPU,
            was made, and what that was told, such as "mma tile [128, 64] warps [2, 2]".
        tuned: where these were found by measuring, the nanoseconds that a launch took then.
        packaged: whether they came with the package, and were not found on this machine.
    """

    kind: str
    flops: int
    scratch: int
    inplace: tuple[tuple[int, int], ...]
    source: str
    arguments: tuple[TensorType, ...] = ()
    results: tuple[TensorType, ...] = ()
    private: int = 0
    prepared: int = 0
    constants: tuple[int, ...] = ()
    schedules: tuple[str, ...] = ()
    tuned: float | None = None
    packaged: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything about a compiled model except machine code and weights.

    Attributes:
        inputs: what a call is given.
        outputs: what it returns.
        buffers: the memory of every tensor.
        steps: launches in order.
        kernels: kernel functions by name.
        operations: compute operations of the imported graph, before fusion.
        parameter_file: the model file that holds the weights, or "".
        unfused: predicted totals with one kernel an operation; None where nothing is known.
        fallbacks: a sentence for each time that compiling fell back to something more general.
        requirements: what each call checks; programs compute the flags behind the outputs.
        sizes: which dimensions of outputs each call cuts to a size that it computes.
        precisions: which nodes were computed with fewer bits than in the model, and which were not,
            and why: nodes, type and reason.
        free: the dimensions that are free, with what changes with them; shapes and sizes are then
            those for the hints. None where no dimension is free.
        settled: names of weights of the model that are held as what the load makes of them, alone.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    kernels: dict[str, KernelCode] = field(default_factory=dict)
    operations: int = 0
    parameter_file: str = ""
    unfused: Unfused | None = None
    fallbacks: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    precisions: tuple[tuple[str, str, str], ...] = ()
    free: FreeSizes | None = None
    sizes: tuple[SizedDimension, ...] = ()
    settled: tuple[str, ...] = ()

    @cached_property
    def results(self) -> tuple[Port, ...]:
        """What a program writes into memory of its own: outputs, flags, then sizes."""
        flags = [each.flag for each in self.requirements]
        return (*self.own_outputs, *flags, *(each.count for each in self.sizes))

    @cached_property
    def own_outputs(self) -> tuple[Port, ...]:
        """The outputs that are not written where an input lies."""
        return tuple(each for each in self.outputs if self.buffers[each.buffer].kind != "state")

    @cached_property
    def aliases(self) -> tuple[tuple[int, int], ...]:
        """Outputs that are written where an input lies: numbers of outputs, and of inputs."""
        inputs = {port.buffer: number for number, port in enumerate(self.inputs)}
        return tuple(
            (number, inputs[port.buffer])
            for number, port in enumerate(self.outputs)
            if port.buffer in inputs
        )

    @property
    def parameters(self) -> list[str]:
        """Names of the weights that the plan reads."""
        return [buffer.name for buffer in self.buffers if buffer.kind == "parameter"]

    @property
    def sources(self) -> list[str]:
        """Names of the model's weights that these are, or are made of."""
        named = [each.source or each.name for each in self.buffers if each.kind == "parameter"]
        return list(dict.fromkeys(named))

    def step_bytes(self, step: Step) -> int:
        """Bytes that one launch must read and write at least."""
        touched = [*dict.fromkeys(step.inputs), *dict.fromkeys(step.outputs)]
        return sum(self.buffers[index].nbytes for index in touched)

    def home(self, buffer: int) -> int:
        """The buffer whose memory holds a buffer: of a part its whole, else itself."""
        found = self.buffers[buffer]
        return found.whole if found.kind == "part" else buffer

    def argument_buffers(self, step: Step) -> list[int]:
        """The buffers that a launch gives its kernel, in order: inputs, then what it writes."""
        shared = {result for result, _ in self.kernels[step.kernel].inplace}
        outputs = [buffer for index, buffer in enumerate(step.outputs) if index not in shared]
        return [*step.inputs, *outputs]

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON-ready data."""
        data = asdict(self)
        for buffer in data["buffers"]:
            buffer["data"] = base64.b64encode(buffer["data"]).decode("ascii")
        return data

    def kernels_digest(self) -> bytes:
        """A checksum of what the machine code of each kernel takes, and of the memory it needs."""
        facts = []
        for name, each in sorted(self.kernels.items()):
            types = [str(each.arguments), str(each.results)]
            memory = [each.scratch, each.private, each.prepared]
            facts.append([name, types, memory, each.inplace, each.constants])
        return hashlib.sha256(json.dumps(facts).encode()).digest()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """The plan that `to_json` wrote, its numbers unchecked: see `check_plan`.

        Raises:
            AttributeError, KeyError, OverflowError, TypeError or ValueError: it is no plan.
        """
        return cls(
            inputs=tuple(map(_port, data["inputs"])),
            outputs=tuple(map(_port, data["outputs"])),
            buffers=tuple(
                Buffer(**{**entry, "data": base64.b64decode(entry["data"])})
                for entry in data["buffers"]
            ),
            steps=tuple(map(_step, data["steps"])),
            kernels={name: _kernel(entry) for name, entry in data["kernels"].items()},
            operations=data["operations"],
            parameter_file=str(data["parameter_file"]),
            unfused=unfused_from_json(data["unfused"]),
            fallbacks=_items(data.get("fallbacks", ())),
            requirements=tuple(map(_requirement, _items(data.get("requirements", ())))),
            precisions=tuple(_texts(each) for each in _items(data.get("precisions", ()))),
            free=None if data.get("free") is None else FreeSizes.from_json(data["free"]),
            sizes=tuple(
                SizedDimension(**{**entry, "count": _port(entry["count"])})
                for entry in _items(data.get("sizes", ()))
            ),
            settled=_items(data.get("settled", ())),
        )


def _port(entry: dict[str, Any]) -> Port:
    fixed_by = _items(entry.get("fixed_by", ()))
    shape = _items(entry["shape"])
    reasons = entry.get("copied", ""), entry.get("apart", "")
    return Port(entry["name"], entry["dtype"], shape, entry["buffer"], fixed_by, *reasons)


def _texts(entry: object) -> tuple[str, str, str]:
    nodes, kind, reason = _items(entry)
    return nodes, kind, reason


def _requirement(entry: dict[str, Any]) -> Requirement:
    return Requirement(**{**entry, "flag": _port(entry["flag"])})


def _step(entry: dict[str, Any]) -> Step:
    if not isinstance(entry["once"], bool):
        raise TypeError("'once' is no boolean")
    return Step(
        entry["kernel"],
        _items(entry["inputs"]),
        _items(entry["outputs"]),
        _items(entry["nodes"]),
        entry["once"],
        cost_from_json(entry["cost"]),
        boundaries_from_json(entry["boundaries"]),
    )


def _kernel(entry: dict[str, Any]) -> KernelCode:
    lists: dict[str, Any] = {
        "inplace": tuple((result, argument) for result, argument in _items(entry["inplace"])),
        "constants": _items(entry["constants"]),
        "schedules": _items(entry["schedules"]),
        "arguments": tuple(map(_type, _items(entry["arguments"]))),
        "results": tuple(map(_type, _items(entry["results"]))),
    }
    return KernelCode(**{**entry, **lists})


def _type(entry: dict[str, Any]) -> TensorType:
    return TensorType(entry["dtype"], _items(entry["shape"]))


def _items(value: object) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no list")
    return tuple(value)


@lru_cache(maxsize=64)
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The numpy dtype of a dtype name, those of ml_dtypes included."""
    if dtype == "bfloat16" or dtype in NARROW_TYPES:
        import ml_dtypes

        dtype = getattr(ml_dtypes, dtype)
    found: np.dtype[Any] = np.dtype(dtype)
    return found
