# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra run`: runs a model on files or random inputs, and checks or traces it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.compiler.inputs.foreign_objects import is_torch_model
from xyntra.errors import InputError
from xyntra.tools.commands.model import add_model_arguments, executable_of, source_of
from xyntra.tools.commands.standard_input import contents_of, is_saved

if TYPE_CHECKING:
    import numpy as np

    from xyntra.executable import Executable

    Arrays = dict[str, np.ndarray[Any, Any]]


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="run a model")
    add_model_arguments(parser)
    parser.add_argument(
        "--input", metavar="NAME=FILE.npy", action="append", default=[], type=_parse_input,
        help="an input array",
    )  # fmt: skip
    parser.add_argument(
        "--random", metavar="SEED", type=_parse_seed, help="random values for the inputs not given"
    )
    parser.add_argument("--save", metavar="DIR", help="write each output to DIR as NAME.npy")
    parser.add_argument(
        "--trace", metavar="FILE.json", help="write a trace of compiling and running, for Perfetto"
    )
    parser.add_argument(
        "--check", choices=["onnxruntime"], help="compare the outputs with this runtime's"
    )


def _parse_input(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"'{text}' is not like NAME=FILE.npy")
    return name, path


def _parse_seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Run the model and do what was asked with its outputs."""
    if not is_saved(options):
        _take_shapes(options)
    if options.trace:
        from xyntra.observe.timing.trace import trace

        with trace(options.trace) as recorded:
            executable, feeds, outputs = _run(options)
            start = time.perf_counter_ns()
            recorded.add_call(executable.plan, start, executable.time_kernels(feeds))
    else:
        executable, feeds, outputs = _run(options)
    for name, array in outputs.items():
        print(f"{name}: {array.dtype} {array.shape} {_digest(array)}")
    if options.save:
        _save(outputs, Path(options.save))
    if options.check:
        from xyntra.observe.check import compare
        from xyntra.tools.commands.inputs import bound_inputs

        model = contents_of(options) or options.model
        known = {} if is_saved(options) else bound_inputs(source_of(options), options.constant)
        report = compare(model, {**feeds, **known}, outputs)
        print(report.text)
        return 0 if report.agrees else 1
    return 0


def _run(options: argparse.Namespace) -> tuple[Executable, Arrays, Arrays]:
    """Return the model, its inputs and its outputs."""
    executable = executable_of(options)
    feeds = _feeds(options, executable)
    return executable, feeds, executable.run(feeds)


def _take_shapes(options: argparse.Namespace) -> None:
    """Compile for the shapes of the arrays that are given; PyTorch's models for their dtypes."""
    from xyntra.tools.commands.inputs import examples_of_files

    examples = examples_of_files(options.input)
    if is_torch_model(options.model):
        if options.check:
            raise InputError("torch-input", "--check runs ONNX models", place=options.model)
        options.examples = examples
        return
    given = {name for name, _ in options.shape}
    options.shape += [(name, a.shape) for name, a in examples.items() if name not in given]


def _feeds(options: argparse.Namespace, executable: Executable) -> Arrays:
    from xyntra.tools.commands.inputs import random_inputs, read_inputs

    feeds = read_inputs(options.input, executable.inputs)
    missing = [port for port in executable.inputs if port.name not in feeds]
    if missing and options.random is None:
        raise InputError(
            "missing-input",
            f"input '{missing[0].name}' is missing",
            hint=f"--input {missing[0].name}=FILE.npy, or --random 0",
        )
    return {**random_inputs(missing, options.random or 0), **feeds}


def _digest(array: np.ndarray[Any, Any]) -> str:
    if not array.size or array.dtype.kind not in "fiu":
        return ""
    import numpy as np

    values = array.astype("float64")
    with np.errstate(all="ignore"):
        mean = values.mean()
    return f"min {values.min():.6g} max {values.max():.6g} mean {mean:.6g}"


def _save(outputs: Arrays, folder: Path) -> None:
    import io

    import numpy as np

    from xyntra.plan.storage.files import make_folder, replace_file

    make_folder(folder)
    names = _file_names(list(outputs))
    for name, array in zip(names, outputs.values(), strict=True):
        data = io.BytesIO()
        np.save(data, array)
        replace_file(folder / f"{name}.npy", [data.getvalue()])
    count = len(outputs)
    print(f"wrote {count} array{'s' if count != 1 else ''} to {folder}", file=sys.stderr)


def _file_names(names: Sequence[str]) -> list[str]:
    """A distinct file name for each output, its own where a file may have it."""
    found: list[str] = []
    taken: set[str] = set()
    for position, name in enumerate(names):
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name).lstrip(".")[:200]
        # File systems may take names that differ in case alone for one.
        if not safe or safe.casefold() in taken:
            safe = f"{safe}_{position}"
        taken.add(safe.casefold())
        found.append(safe)
    return found
