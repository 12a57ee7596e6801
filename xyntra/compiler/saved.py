# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads models that `Executable.save` has written."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xyntra.compiler.code_target import target_of
from xyntra.errors import ArchiveError, CompileError, InputError
from xyntra.executable import Executable
from xyntra.passes.precision.weight_part import WeightPart
from xyntra.plan.artifact import Artifact
from xyntra.plan.calls.arguments import to_array
from xyntra.plan.check_plan import is_dtype, is_shape
from xyntra.plan.plan import Buffer, Port, numpy_dtype
from xyntra.plan.settled import settlement
from xyntra.plan.storage.container import MALFORMED, Container, read_container
from xyntra.plan.storage.executable_file import WEIGHT, kinds_of
from xyntra.plan.storage.files import open_regular
from xyntra.plan.storage.stored import rounded
from xyntra.targets.program import Program, SettlingProgram

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


def executable_of(
    artifact: Artifact,
    program: Program,
    weights: Mapping[str, Array],
    loaded_for: tuple[str, int | None],
) -> Executable:
    """Return a loaded artifact as an executable, which holds what calls need of its weights.

    Where the load makes something smaller of weights, such as integers, these are let go of.

    Args:
        artifact: the compiled model.
        program: the same, loaded.
        weights: of the model.
        loaded_for: the target and the number of threads.
    """
    found = settlement(artifact.plan) if isinstance(program, SettlingProgram) else None
    if found is None or not isinstance(program, SettlingProgram):
        return Executable(artifact, program, weights, loaded_for, load_pickled)
    smaller, made = program.settled(found.plan, found.made)
    left = {name: array for name, array in weights.items() if name in found.plan.parameters}
    for number, kind in found.made.items():
        array = np.frombuffer(made[number], numpy_dtype(kind.dtype), math.prod(kind.shape))
        left[found.plan.buffers[number].name] = _read_only(array.reshape(kind.shape))
    whole = artifact, kinds_of(weights, artifact.plan)
    own = found.artifact(artifact)
    return Executable(own, smaller, left, loaded_for, load_pickled, whole)


def _check_not_settled(artifact: Artifact, weights: Mapping[str, Any], place: str) -> None:
    """Refuse weights that a model cannot take, as it holds what was made of others."""
    for name in artifact.plan.settled:
        if name in weights:
            raise InputError(
                "weight-settled",
                f"the weight '{name}' cannot be given",
                place=place,
                cause="the file holds what was made of it, such as integers of 8 bits",
                hint="save(path, weights=False) writes one that takes it",
            )


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
    _check_not_settled(artifact, weights, place)
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
    return executable_of(artifact, program, held, (found.name, threads))


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
