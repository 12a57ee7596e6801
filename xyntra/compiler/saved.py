# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads models that `Executable.save` has written."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.compiler.code_target import target_of
from xyntra.errors import ArchiveError, CompileError, InputError
from xyntra.executable import WEIGHT, Executable
from xyntra.passes.precision.weight_part import WeightPart
from xyntra.plan.arguments import to_array
from xyntra.plan.artifact import Artifact
from xyntra.plan.check_plan import is_dtype, is_shape
from xyntra.plan.container import MALFORMED, Container, read_container
from xyntra.plan.files import open_regular
from xyntra.plan.plan import Buffer, Port, numpy_dtype
from xyntra.plan.stored import rounded

Array = np.ndarray[Any, Any]


def load_saved(
    path: str | os.PathLike[str],
    threads: int | None = None,
    weights: Mapping[str, Any] | None = None,
    target: str = "auto",
) -> Executable:
    """Load the saved model at `path`; weights in the file are mapped, not read.

    Args:
        path: the file.
        threads: how many threads work on one call; None means one for each core.
        weights: arrays by name, instead of those in the file.
        target: where it runs; "auto" for what it was compiled for.

    Raises:
        ArchiveError: the file is missing, damaged, of another version, or for another machine.
        UnsupportedError: there is no such target.
        InputError: a weight is missing or does not fit.
    """
    place = os.fspath(path)
    return _load(read_container(_map(place), place), place, threads, weights or {}, target)


def load_contents(data: bytes, place: str, threads: int | None = None) -> Executable:
    """Load the contents of a saved model; `place` is what messages call it.

    Raises:
        ArchiveError: they are damaged, of another version, or for another machine.
    """
    return _load(read_container(memoryview(data), place), place, threads, {}, "auto")


def load_pickled(
    data: bytes, weights: Mapping[str, Array], target: str, threads: int | None
) -> Executable:
    """Load what pickling an executable has made of it.

    Args:
        data: the saved model without its weights.
        weights: arrays by name.
        target: where it ran.
        threads: how many threads worked on one call; None means one for each core.

    Raises:
        ArchiveError: it is of another version, or for another machine.
    """
    place = "a pickled model"
    held = {name: _read_only(array) for name, array in weights.items()}
    return _load(read_container(memoryview(data), place), place, threads, held, target)


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _load(
    container: Container,
    place: str,
    threads: int | None,
    weights: Mapping[str, Any],
    target: str,
) -> Executable:
    artifact = Artifact.from_container(container, place)
    found = target_of(artifact, place, target)
    rounded_to = {each.name for each in artifact.plan.buffers if each.rounded_to}
    made = {each.name: each for each in artifact.plan.buffers if each.source in weights}
    held = _weights(container, place, weights, rounded_to, made)
    held |= {each.source: _matrix(each, weights[each.source], place) for each in made.values()}
    held = rounded(artifact.plan, held)
    try:
        program = found.program(artifact, held, threads)
    except CompileError as error:
        raise ArchiveError(
            "archive-invalid", "the saved model cannot run", place=place, cause=error.message
        ) from None
    return Executable(artifact, program, held, (found.name, threads), load_pickled)


def _map(place: str) -> memoryview:
    try:
        with open_regular(place) as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ArchiveError(
            "archive-missing", "the saved model cannot be read", place=place, cause=error.strerror
        ) from None
    except ValueError:
        raise ArchiveError("archive-invalid", "the file is empty", place=place) from None


def _weights(
    container: Container,
    place: str,
    given: Mapping[str, Any],
    rounded_to: Collection[str],
    made: Collection[str],
) -> dict[str, Array]:
    """The weights of a saved model, but for those that are `made` of given ones.

    Those of `rounded_to` may be given in f32, as before.
    """
    try:
        kinds = container.meta["weights"].items()
        ports = [_port(name, *kind) for name, kind in kinds if name not in made]
        apart = container.meta.get("weights_apart", False)
        if not isinstance(apart, bool):
            raise TypeError(f"{apart!r} is no boolean")
        held = {
            port.name: np.frombuffer(
                container.blobs[WEIGHT + port.name], numpy_dtype(port.dtype)
            ).reshape(port.shape)
            for port in ports
            if port.name not in given and not apart
        }
    except MALFORMED as error:
        raise ArchiveError(
            "archive-invalid", "the weights do not fit", place=place, cause=repr(error)
        ) from None
    ports = [
        replace(port, dtype="float32") if _is_unrounded(port, given, rounded_to) else port
        for port in ports
    ]
    return {p.name: held[p.name] if p.name in held else _given(p, given, place) for p in ports}


def _matrix(buffer: Buffer, given: Any, place: str) -> Array:
    """A weight of which a buffer is to be a part."""
    part, array = WeightPart.read(buffer.part), np.asarray(given)
    shape = () if part is None else part.shape
    if array.shape != shape or array.dtype.name not in ("float32", "float16", "bfloat16"):
        raise InputError(
            "weight-mismatch",
            f"the weight '{buffer.source}' does not fit",
            place=place,
            cause=f"the model needs floats of {shape}, not {array.dtype} of {array.shape}",
        )
    return array


def _is_unrounded(port: Port, given: Mapping[str, Any], rounded_to: Collection[str]) -> bool:
    return port.name in rounded_to and str(getattr(given.get(port.name), "dtype", "")) in (
        "float32",
        "torch.float32",
    )


def _port(name: str, dtype: object, shape: object) -> Port:
    if not isinstance(dtype, str) or not is_dtype(dtype):
        raise ValueError(f"{dtype!r} is no dtype")
    if not isinstance(shape, list) or not is_shape(shape):
        raise ValueError(f"{shape!r} is no shape")
    return Port(name, dtype, tuple(shape), -1)


def _given(port: Port, given: Mapping[str, Any], place: str) -> Array:
    if port.name in given:
        try:
            return to_array(given[port.name], port)
        except InputError as error:
            raise InputError(
                "weight-mismatch",
                f"the weight '{port.name}' does not fit",
                place=place,
                cause=f"the model needs {port.dtype} of {port.shape}; {error.message}",
            ) from None
    raise InputError(
        "weight-missing",
        f"the weight '{port.name}' is neither in the file nor in weights=",
        place=place,
        cause=f"the model needs {port.dtype} of {port.shape}",
        hint="xyntra.load(path, weights={name: array, …})",
    )
