# SPDX-License-Identifier: MIT OR Apache-2.0
"""The functions that users call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xyntra.config import Config, load_config
from xyntra.errors import InputError

if TYPE_CHECKING:
    from xyntra.compiler.inputs.sizes import Sizes
    from xyntra.compiler.inputs.source import ModelSource
    from xyntra.executable import Executable
    from xyntra.observe.timing.trace import TimeTrace
    from xyntra.targets.base import Device

ConfigLike = Config | Mapping[str, object] | str | os.PathLike[str] | None


def compile(  # noqa: A001  (the name that users expect)
    model: Any,
    *,
    target: str | None = None,
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    dims: Mapping[str, int | range | str] | None = None,
    dynamic_shapes: Any = None,
    constants: Mapping[str, Any] | None = None,
    specialize: Mapping[str, Any] | None = None,
    precision: str | None = None,
    io: str | None = None,
    samples: Sequence[Any] | None = None,
    tolerance: float | None = None,
    aliases: Mapping[str, str] | None = None,
    threads: int | None = None,
    tune: float | str | None = None,
    trust_code: bool = False,
    config: ConfigLike = None,
) -> Executable:
    """Compile a model into an executable.

    Args:
        model: path of an ONNX, MLIR, .pt2 or .pt file, the contents of one of the former (bytes, or
            MLIR text), `onnx.ModelProto`, `torch.nn.Module`, ScriptModule or `ExportedProgram`.
            What comes from PyTorch takes and returns what the module does.
        target: where it runs: "auto", "cpu", "cuda" (the first GPU), "cuda:1", "cuda:sm_90a",
            which is code for an architecture and needs no GPU, or "webgpu".
        inputs: shapes or example arrays of inputs, by name or in order, in which a name stands for
            a size that `dims` gives; for a `torch.nn.Module` its example inputs.
        dims: sizes of dimensions that the model names, such as {"batch": 1}, the same wherever a
            name stands. A range, {"seq": range(1, 513)}, leaves it free (docs/free-dimensions.md).
        dynamic_shapes: free dimensions of a `torch.nn.Module`, as `torch.export` takes them.
        constants: values of inputs, such as {"sr": 16000}: numbers, lists or arrays by name. These
            are no inputs of the executable any more, and an `If` that they decide takes its branch.
        specialize: values that inputs will have, for which shapes and loops that depend on them are
            compiled; a call that gives others is an InputError.
        precision: of a model of f32: "f32"; "f16" or "bf16" for weights and, on GPUs, tensors;
            "int8" and "fp8" for products; "w8", "w4", "w4a8" for weights; "tf32" on GPUs.
        io: types of inputs and outputs of f32: "model" for the same, or that of `precision`.
        samples, tolerance: inputs of usual calls, mappings, sequences or arrays, which choose for
            `precision`, and the relative error of outputs that "int8" may have in them.
        aliases: the input that an output is written over, {"present": "past"} (docs/state.md).
        threads: that work on one call; `XYNTRA_THREADS`, or one for each core, where not given.
        tune: time, such as "60s", to search before for faster schedules, which are kept.
        trust_code: allow MLIR text below the level of kernels, which can do what a program can.
        config: further settings: a `Config`, a mapping, or the path of a TOML file.

    Raises:
        ModelError: the file or the graph is wrong, or holds code that is not trusted.
        UnsupportedError: the model is valid, but something in it is not compiled.
        InputError: `inputs`, `dims`, `constants` or `specialize` does not fit the model.
        ConfigError: a setting is wrong.
        CompileError: the compiler failed.
    """
    from xyntra.compiler.inputs.foreign_objects import is_torch_model
    from xyntra.compiler.inputs.sizes import sizes_of
    from xyntra.compiler.inputs.source import open_source

    others = {"dims": dims, "constants": constants, "specialize": specialize}
    given = {"precision": precision, "io": io, "threads": threads, "tolerance": tolerance}
    settings = begin_trace(load_config(config, target=target, **given))
    if is_torch_model(model):
        refused = {**others, "samples": samples, "aliases": aliases, "tune": tune}
        return _compiled_torch(model, inputs, settings, refused, dynamic_shapes)
    if dynamic_shapes is not None:
        raise InputError("torch-input", "dynamic_shapes= is for modules of PyTorch: give dims=")
    source = replace(open_source(model), trusted=trust_code)
    sizes = sizes_of(inputs, **others, aliases=aliases)
    return _compiled(source, sizes, settings, samples or (), tune)


def _compiled_torch(
    model: Any, inputs: Any, settings: Config, others: dict[str, Any], dynamic_shapes: Any
) -> Executable:
    from xyntra.compiler.pytorch.files import ensure_torch

    ensure_torch(model)
    from xyntra.compiler.pytorch.dimensions import FreeShapes
    from xyntra.compiler.pytorch.module import compile_torch  # loads torch

    return compile_torch(
        model, inputs, settings, others, FreeShapes(dynamic_shapes, others.pop("dims"))
    )


def _compiled(
    source: ModelSource,
    sizes: Sizes,
    settings: Config,
    samples: Sequence[Any],
    tune: float | str | None,
) -> Executable:
    if tune is None:
        from xyntra.compiler.driver import compile_source

        return compile_source(source, sizes, settings, samples)
    from xyntra.compiler.tuning.session import compile_tuned

    return compile_tuned(source, sizes, settings, tune, samples)


def load(
    path: str | os.PathLike[str],
    *,
    weights: Mapping[str, Any] | None = None,
    threads: int | None = None,
    target: str = "auto",
) -> Executable:
    """Load a model that `Executable.save` has written. Neither ONNX nor a compiler is needed.

    Args:
        path: the file.
        weights: arrays by name (numpy, or anything with DLPack on the CPU), instead of those in the
            file; needed where it was saved without. They are the model's parameters above 1 KiB:
            smaller ones are part of its code, and have to be those that it was compiled with.
            Those that the model does not have are left out.
        threads: how many threads work on one call; `XYNTRA_THREADS`, or one for each core that this
            process may use, where not given. The results do not depend on it.
        target: "cuda:1" for the second GPU; "auto" for the device that the model was compiled for.

    Raises:
        ArchiveError: the file is missing, damaged, of another version, or for another machine, or
            the target is of another kind.
        UnsupportedError: there is no such target.
        InputError: a weight is missing, or its dtype or shape is not the model's.
        ConfigError: `threads`, or a setting of the environment or `fusion.toml`, is wrong.
    """
    from xyntra.compiler.saved import load_saved

    settings = begin_trace(load_config(threads=threads))
    return load_saved(path, settings.threads, weights, target)


def trace(path: str | os.PathLike[str]) -> AbstractContextManager[TimeTrace]:
    """Return a context in which what is compiled and run is recorded, for Perfetto.

        with xyntra.trace("trace.json"):
            exe = xyntra.compile("model.onnx")
            exe(x)

    Args:
        path: the JSON file that is written at the end of the context.

    Raises:
        InputError: `trace-running`: a trace is being recorded already.
        ArchiveError: the file cannot be written.
    """
    from xyntra.observe.timing.trace import trace

    return trace(path)


def begin_trace(settings: Config) -> Config:
    """Begin the trace of this process that the setting `trace` asks for; returns the settings."""
    if settings.trace is not None:
        from xyntra.observe.timing.trace import trace_process

        trace_process(settings.trace)
    return settings


def devices() -> list[Device]:
    """The devices that models can run on here."""
    from xyntra.targets.table import backends

    return [device for backend in backends() for device in backend.devices().values()]
