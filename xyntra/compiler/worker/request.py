# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the request to a worker process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from xyntra.targets.table import CODE_LEVELS
from xyntra.tune.tuned import Tuned

__all__ = ["CANDIDATES", "COMPILED", "LEVELS", "SPACES", "Level", "Request"]

LEVELS = ("linalg", "fused", "kernels", *CODE_LEVELS, "llvm")
"""The levels that a model has text at, from the top down."""
SPACES = "spaces"
"""Asks for the legal schedules of the kernels of a model."""
CANDIDATES = "candidates"
"""Asks for the machine code of a kernel with several schedules."""
COMPILED = ("artifact", CANDIDATES)
"""What needs compilers of kernels."""
Level = str
"""One of `LEVELS`, "artifact", which is all the way, or what tuning asks for."""


@dataclass(frozen=True)
class Request:
    """One model to compile, and how far.

    Attributes:
        kind: "onnx" (`model` is a scanned skeleton), "mlir" (`model` is its text), or "torch",
            "kernel" or "array" (`model` is an `AtenProgram`).
        model: the model.
        parameters: path of the model file, to be named in emitted text as the home of the weights.
        shapes: shapes of inputs with free dimensions, by name or by `#position`.
        dims: sizes of named dimensions.
        constants: values of inputs, as `constants_of` gives them.
        values: of inputs in calls to come, in the same form.
        level: where to stop; "artifact" goes all the way.
        architecture: of the GPU to generate code for; "" for this processor.
        fuse: whether operations are fused.
        egraph: whether expressions are rewritten before, where egglog is installed.
        fast_math: whether these rewrites may change results beyond rounding.
        fold_norms: whether norms are folded into products, on a GPU.
        strict: whether a failure of ours is an error, where something more general would do.
        opt_level: LLVM's optimisation level.
        precision: what contractions of f32 compute in: "f32", "tf32" on a GPU, "f16", "bf16", or
            "int8" with `quantization`.
        narrow_io: whether inputs and outputs of f32 have that type, too.
        jobs: kernels compiled at the same time; None for one a core.
        timeout: seconds that one kernel may take.
        max_tensor_bytes: refuse models with a larger tensor.
        cache_dir: folder of the kernel cache, or None for no cache.
        cache_size: bytes that the folder may hold.
        without: passes that are left out, each with a sentence that says why.
        trusted: whether `model` may hold code, at a level below kernel functions.
        kernel: the name of the only kernel whose text is wanted; "" for all of the model.
        magnitudes: largest values of weights that a lower precision might not hold, by name.
        peaks: largest values in samples of what each operation computes, in order.
        observe: the target ("cpu" or "cuda") for which the model is to return these; "" for none.
            It is then compiled for this processor.
        aliases: inputs that outputs are written over, by the names of the outputs.
        donated: whether an output that no kernel can write there has memory of its own.
        observe_errors: the type whose errors in products are returned, too, or "none"; "int8" for
            factors of products.
        quantization: of products with weights, in order, scale and zero point of what they are
            multiplied with, and why they stay in f32, as `FactorRange`.
        named: of shapes in which names of `ranges` stand, the name in each place, or "".
        tuned: by `tuning_key` of a kernel the schedules that it is to have.
        ranges: of dimensions that stay free the least and largest size, and the step, by name.
        relations: of dimensions that these decide, expressions of their names.
        is_sample: whether sizes are a sample of those that the code is for.
        keeps_slices: whether slices stay, since they hold other parts of tensors at other sizes.
    """

    kind: Literal["onnx", "mlir", "torch", "kernel", "array"]
    model: bytes
    parameters: str
    shapes: dict[str, tuple[int, ...]]
    dims: dict[str, int]
    constants: dict[str, Any]
    level: Level
    architecture: str
    fuse: bool
    egraph: bool
    fast_math: bool
    fold_norms: bool
    strict: bool
    opt_level: int
    precision: str
    narrow_io: bool
    jobs: int | None
    timeout: float
    max_tensor_bytes: int
    cache_dir: str | None
    cache_size: int
    without: tuple[tuple[str, str], ...] = ()
    trusted: bool = False
    kernel: str = ""
    magnitudes: dict[str, float] = field(default_factory=dict)
    peaks: tuple[float, ...] = ()
    observe: str = ""
    observe_errors: str = "none"
    quantization: tuple[tuple[float, int, str], ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    donated: bool = False
    ranges: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    tuned: dict[str, Tuned] = field(default_factory=dict)
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    is_sample: bool = False
    keeps_slices: bool = False

    def to_bytes(self) -> bytes:
        """The request as a line of JSON and the model."""
        fields = asdict(self)
        del fields["model"]
        return json.dumps(fields).encode() + b"\n" + self.model

    @classmethod
    def from_bytes(cls, data: bytes) -> Request:
        """The request that `to_bytes` wrote."""
        head, _, model = data.partition(b"\n")
        fields: dict[str, Any] = json.loads(head)
        fields["shapes"] = {name: tuple(shape) for name, shape in fields["shapes"].items()}
        fields["peaks"] = tuple(fields["peaks"])
        fields["quantization"] = tuple(tuple(each) for each in fields["quantization"])
        fields["named"] = {name: tuple(names) for name, names in fields["named"].items()}
        fields["ranges"] = {name: tuple(each) for name, each in fields["ranges"].items()}
        fields["tuned"] = {key: Tuned(*each) for key, each in fields["tuned"].items()}
        fields["without"] = tuple((name, sentence) for name, sentence in fields["without"])
        return cls(model=model, **fields)


@dataclass(frozen=True)
class Purpose:
    """What a worker is for, as far as its zygote has to know to load what it will need.

    Attributes:
        kind: of its model, as requests have it.
        architecture: of the GPU that it generates code for; "" for this processor.
        kernels: whether it compiles kernels.
    """

    kind: str
    architecture: str
    kernels: bool

    @classmethod
    def of(cls, request: Request) -> Purpose:
        """The purpose of a worker that answers `request`."""
        return cls(request.kind, request.architecture, request.level in COMPILED)

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Purpose:
        """The purpose that `to_bytes` wrote."""
        return cls(**json.loads(data))
