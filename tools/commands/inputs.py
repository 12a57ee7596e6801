# SPDX-License-Identifier: MIT OR Apache-2.0
"""Input arrays for a model: from .npy files, or random."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xyntra.errors import InputError
from xyntra.plan.plan import Port, numpy_dtype
from xyntra.plan.storage.files import open_regular

if TYPE_CHECKING:
    from xyntra.compiler.inputs.source import ModelSource

Array = np.ndarray[Any, Any]


def read_inputs(given: Sequence[tuple[str, str]], ports: Sequence[Port]) -> dict[str, Array]:
    """Arrays for `ports` from `(name, path of a .npy file)` pairs.

    Raises:
        InputError: a file cannot be read.
    """
    arrays = {}
    dtypes = {port.name: numpy_dtype(port.dtype) for port in ports}
    for name, path in given:
        try:
            with open_regular(path) as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                "input-file", f"input '{name}' cannot be read", place=path, cause=str(error)
            ) from None
        # The file format has no name for bfloat16: numpy writes it as bytes without a type.
        untyped = array.dtype.kind == "V" and array.dtype.names is None
        dtype = dtypes.get(name, array.dtype)
        same_size = dtype.itemsize == array.dtype.itemsize
        arrays[name] = array.view(dtype) if untyped and same_size else array
    return arrays


def examples_of_files(given: Sequence[tuple[str, str]]) -> dict[str, Array]:
    """Arrays by input name of `(name, path of a .npy file)` pairs; unreadable files are left out.

    They are for shapes and dtypes: `read_inputs` reads them again, with errors.
    """
    arrays = {}
    for name, path in given:
        with suppress(OSError, ValueError, EOFError):
            with open_regular(path):  # np.load would wait for a pipe
                array = np.load(path, mmap_mode="r", allow_pickle=False)
            if isinstance(array, np.ndarray):
                arrays[name] = array
    return arrays


def read_samples(folder: Path) -> list[dict[str, Array]]:
    """Arrays by input name from every .npz file in `folder`, in the order of their names.

    Raises:
        InputError: there are none, or one cannot be read.
    """
    paths = sorted(folder.glob("*.npz")) if folder.is_dir() else []
    if not paths:
        raise InputError(
            "no-samples",
            "there are no samples",
            place=str(folder),
            hint="a folder of files that numpy.savez(path, **inputs) writes",
        )
    return [_read_sample(path) for path in paths]


def _read_sample(path: Path) -> dict[str, Array]:
    hint = "numpy.savez(path, **inputs) writes arrays of numbers so"
    try:
        with open_regular(path) as file:
            if not zipfile.is_zipfile(file):
                raise InputError(
                    "input-file", "a sample is no .npz file", place=str(path), hint=hint
                )
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            "input-file", "a sample cannot be read", place=str(path), cause=str(error), hint=hint
        ) from None


def bound_inputs(
    source: ModelSource, constants: Sequence[tuple[str, dict[str, Any]]]
) -> dict[str, Array]:
    """Arrays of the inputs of an ONNX model that `--constant` binds.

    Args:
        source: the model, which has been compiled with them.
        constants: by input name, as `parse_constant` gives them.
    """
    if not constants:
        return {}
    import onnx

    from xyntra.frontends.onnx.inputs.bound_values import bind_values

    graph = onnx.ModelProto.FromString(source.model).graph
    return bind_values(graph.input, dict(constants))


def random_inputs(ports: Sequence[Port], seed: int) -> dict[str, Array]:
    """Normally distributed floats, and integers and booleans of zeros and ones, by input name.

    Small integers are valid as indices and as masks, whatever a model does with them.
    """
    generator = np.random.default_rng(seed)
    return {port.name: _random(port, generator) for port in ports}


def _random(port: Port, generator: np.random.Generator) -> Array:
    dtype = numpy_dtype(port.dtype)
    if "float" in port.dtype:
        return generator.standard_normal(port.shape).astype(dtype)
    return generator.integers(0, 2, port.shape).astype(dtype)
