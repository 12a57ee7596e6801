# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compile --emit onnx`: the reduced graph as an ONNX file that refers to the weights."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from xyntra.errors import InputError
from xyntra.tools.commands.model import source_of
from xyntra.tools.commands.standard_input import is_saved, stem_of

if TYPE_CHECKING:
    from xyntra.executable import Executable
    from xyntra.frontends.weights import WeightRef
    from xyntra.observe.reduced_onnx import WeightRange


def write_reduced(options: argparse.Namespace, executable: Executable) -> None:
    """Write the model to the file that the options name.

    Raises:
        InputError: no file is named, or it is one that holds the weights.
        ArchiveError: the file cannot be written.
    """
    from xyntra.observe.reduced_onnx import reduced_model
    from xyntra.plan.plan import TensorType
    from xyntra.plan.storage.files import replace_file

    if options.output in (None, "-"):
        raise InputError(
            "output-missing",
            "an ONNX model is written to a file",
            cause="it refers to its weights relative to its folder",
            hint="-o reduced.onnx",
        )
    output = Path(options.output)
    references = _references(options, executable)
    _check_apart(output, [Path(options.model), *(_file(r) for r in references.values())])
    types = {
        name: TensorType(array.dtype.name, array.shape)
        for name, array in executable.weights.items()
    }
    stored = _stored(references, output.resolve().parent)
    model = reduced_model(executable.plan, types, stored, stem_of(options))
    replace_file(output, [model.SerializeToString()])


def _references(options: argparse.Namespace, executable: Executable) -> dict[str, WeightRef]:
    """Return where each weight of the plan is, as far as it is known."""
    from xyntra.compiler.inputs.source import open_onnx

    if is_saved(options):
        return {}
    source = source_of(options)
    references = source.references
    if executable.plan.parameter_file and not references:
        references = open_onnx(
            Path(options.model).parent / executable.plan.parameter_file
        ).references
    return {name: references[name] for name in executable.plan.parameters if name in references}


def _file(reference: WeightRef) -> Path:
    return Path(reference.file or "")


def _check_apart(output: Path, files: list[Path]) -> None:
    for file in dict.fromkeys(files):
        if output.exists() and file.is_file() and output.samefile(file):
            raise InputError(
                "output-is-model",
                "the file to be written holds the weights of the model",
                place=str(output),
                hint="give -o another name",
            )


def _stored(references: dict[str, WeightRef], folder: Path) -> dict[str, WeightRange]:
    """The weights that a model in `folder` may refer to: ONNX allows files at or below it."""
    from xyntra.observe.reduced_onnx import WeightRange

    found = {}
    places: dict[str, Path] = {}
    for name, reference in references.items():
        if reference.file is None or not reference.contiguous:
            continue
        path = places.setdefault(reference.file, Path(reference.file).resolve())
        # Readers refuse files that have a second name.
        if path.is_relative_to(folder) and path.stat().st_nlink == 1:
            location = path.relative_to(folder).as_posix()
            found[name] = WeightRange(location, reference.offset, reference.nbytes)
    return found
