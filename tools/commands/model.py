# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parses the model argument and its options, which the commands share, and opens the model."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.api import begin_trace
from xyntra.compiler.inputs.constants import parse_constant
from xyntra.compiler.inputs.dimensions import read_dims
from xyntra.compiler.inputs.foreign_objects import is_torch_model
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.config import Config, load_config
from xyntra.errors import InputError
from xyntra.tools.commands.standard_input import STDIN, contents_of, is_saved, label_of

if TYPE_CHECKING:
    from xyntra.compiler.inputs.source import ModelSource
    from xyntra.executable import Executable


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and the options that say how it is compiled."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="an ONNX, MLIR, PyTorch (.pt, .pt2) or saved (.xyn) model; - for standard input",
    )
    parser.add_argument(
        "--target", metavar="T", help="where it runs: auto, cpu, cuda, cuda:N or cuda:ARCH"
    )
    _add_precision_arguments(parser)
    parser.add_argument(
        "--shape",
        metavar="NAME=1x3x224x224",
        action="append",
        default=[],
        type=parse_shape,
        help="shape of an input with free dimensions; or NAME=1, size of a named dimension; with a"
        " dtype, as NAME=1x16xint64, for TorchScript",
    )
    parser.add_argument(
        "--dim",
        metavar="NAME=1",
        action="append",
        default=[],
        type=parse_dim,
        help="size of a dimension that the model names; NAME=1:512 leaves it free, for all sizes"
        " from 1 to 512",
    )
    parser.add_argument(
        "--constant",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_parse_constant,
        help="value of an input, such as sr=16000 or flags=[true,false]; it is no input any more",
    )
    parser.add_argument(
        "--threads", metavar="N", type=int, help="threads that work on one call; one a core"
    )
    parser.add_argument(
        "--parameters-root", metavar="DIR", help="where an MLIR model's weights may be, too"
    )
    parser.add_argument(
        "--trust-code",
        action="store_true",
        help="allow MLIR text at the level stages or below, which can do what a program can",
    )
    parser.add_argument("--config", metavar="FILE", help="settings, a TOML file")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def _add_precision_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--precision",
        metavar="P",
        help="of a model of f32: f32, f16, bf16, int8, fp8, w8, w4, w4a8 or tf32",
    )
    parser.add_argument(
        "--io", metavar="P", help="of inputs and outputs: model, or the precision (f16 or bf16)"
    )
    parser.add_argument(
        "--samples",
        metavar="DIR",
        help="folder of .npz files, each with the inputs of a call by name, for f16, bf16 and int8",
    )
    parser.add_argument(
        "--tolerance",
        metavar="ERROR",
        type=float,
        help="of outputs in samples, relative, that int8 may have (0.1)",
    )
    parser.add_argument(
        "--calibration",
        metavar="HOW",
        help="of ranges for int8: minmax, percentile or mse (the default)",
    )


_DTYPE = re.compile(r"bool|bfloat16|float(16|32|64)|u?int(8|16|32|64)")


class GivenShape(tuple[int, ...]):
    """A shape from the command line.

    Attributes:
        dtype: numpy's name of the element type; "" where none is given.
    """

    dtype = ""


def parse_shape(text: str) -> tuple[str, GivenShape]:
    """`NAME=1x3` -> ("NAME", (1, 3)), `NAME=1x3xint64` with a dtype; a scalar is `NAME=`."""
    name, equals, sizes = text.rpartition("=")
    *before, last = sizes.split("x")
    dtype = last if _DTYPE.fullmatch(last) else ""
    parts = before if dtype else [*before, last]
    try:
        if not equals or not name:
            raise ValueError
        shape = GivenShape(int(size) for size in parts if size)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not like NAME=1x3x224x224 or NAME=1x16xint64"
        ) from None
    shape.dtype = dtype
    return name, shape


def parse_dim(text: str) -> tuple[str, int | range | str]:
    """`NAME=1` -> ("NAME", 1), `NAME=1:512` -> ("NAME", range(1, 513)), with a third part steps.

    Sums and products are expressions of other sizes: `NAME=past+seq`.
    """
    name, equals, size = text.rpartition("=")
    if equals and name and re.fullmatch(r"[0-9]+:[0-9]+(:[0-9]+)?", size):
        low, high, *step = map(int, size.split(":"))
        if step == [0]:
            raise argparse.ArgumentTypeError(f"'{text}' has a step of 0")
        return name, range(low, high + 1, *step)
    if equals and name and re.search(r"[+*]", size):
        return name, size
    if not equals or not name or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not like NAME=1 or NAME=1:512")
    return name, int(size)


def _parse_constant(text: str) -> tuple[str, dict[str, Any]]:
    try:
        return parse_constant(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not like NAME=16000, NAME=true or NAME=[1,2]"
        ) from None


def sizes_of(options: argparse.Namespace) -> Sizes:
    """The sizes of free dimensions, and the values of inputs, that the options give."""
    if is_torch_model(options.model):
        return Sizes()  # the model was traced for them
    for name, shape in options.shape:
        if getattr(shape, "dtype", ""):
            raise InputError(
                "shape-type",
                f"'{name}' cannot be given a dtype",
                cause="the inputs of ONNX and MLIR models have theirs",
                hint=f"--shape {name}={'x'.join(map(str, shape))}",
            )
    given = read_dims(dict(options.dim))
    return Sizes(
        dict(options.shape),
        given.fixed,
        dict(options.constant),
        ranges=given.ranges,
        relations=given.relations,
    )


def settings_of(options: argparse.Namespace) -> Config:
    """The configuration that the options ask for."""
    given: dict[str, object] = {
        "target": options.target,
        "precision": options.precision,
        "io": options.io,
        "tolerance": options.tolerance,
        "calibration": options.calibration,
        "threads": options.threads,
        "parameters_root": options.parameters_root,
    }
    if options.no_cache:
        given["cache"] = False
    return load_config(options.config, **{k: v for k, v in given.items() if v is not None})


def source_of(options: argparse.Namespace) -> ModelSource:
    """The model, opened."""
    from xyntra.compiler.inputs.source import open_contents, open_source

    if is_torch_model(options.model):
        return _torch_source(options)
    contents = contents_of(options)
    source = open_source(options.model) if contents is None else open_contents(contents, STDIN)
    return replace(source, trusted=options.trust_code)


def samples_of(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The samples that the options name, in the order of the names of their files."""
    if options.samples is None:
        return []
    from xyntra.tools.commands.inputs import read_samples

    return read_samples(Path(options.samples))


def _torch_source(options: argparse.Namespace) -> ModelSource:
    """The program of a file of PyTorch, traced for the shapes that the options give."""
    from xyntra.compiler.pytorch.files import Example, torch_source

    if options.dim or options.constant:
        raise InputError(
            "torch-input",
            "--dim and --constant are for ONNX models",
            place=label_of(options),
            hint="--shape NAME=1x3x224x224 gives the shape of an input",
        )
    held: ModelSource | None = getattr(options, "traced", None)
    if held is None:
        shapes = {name: Example(tuple(s), s.dtype or "float32") for name, s in options.shape}
        inputs = {**shapes, **getattr(options, "examples", {})}
        held = options.traced = torch_source(options.model, inputs or None, settings_of(options))
    return held


def executable_of(options: argparse.Namespace) -> Executable:
    """The model compiled, or loaded where it is a saved one."""
    if is_saved(options):
        return _load(options)
    from xyntra.compiler.driver import compile_source

    settings = begin_trace(settings_of(options))
    with progress(f"compiling {label_of(options)}", settings):
        samples = samples_of(options)
        return compile_source(source_of(options), sizes_of(options), settings, samples)


def _load(options: argparse.Namespace) -> Executable:
    from xyntra.compiler.saved import load_contents, load_saved

    if options.shape or options.dim or options.constant:
        raise InputError(
            "model-compiled",
            "the model is compiled already, for the shapes that it has",
            place=label_of(options),
            hint="leave out --shape, --dim and --constant, or compile the model again",
        )
    contents, threads = contents_of(options), settings_of(options).threads
    if contents is None:
        return load_saved(options.model, threads)
    return load_contents(contents, STDIN, threads)


@contextmanager
def progress(what: str, settings: Config) -> Iterator[None]:
    """Say on a terminal what goes on, and how long it took; silent in a pipe."""
    shown = settings.progress if settings.progress is not None else sys.stderr.isatty()
    if not shown:
        yield
        return
    print(f"{what} …", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        print(file=sys.stderr)
        raise
    print(f" {time.perf_counter() - start:.2f} s", file=sys.stderr)
