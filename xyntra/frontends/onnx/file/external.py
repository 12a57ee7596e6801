# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors whose data lies in another file: which file, and whether a model may point there.

A model is untrusted, so it may only name regular files inside its own directory, after symbolic
links are resolved. Checksums in the model are not verified: that would read every weight.

Source of the format: "External Data", ONNX documentation, and `external_data` in onnx.proto.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from xyntra.errors import ModelError
from xyntra.frontends.weights import Fingerprint

_MAX_DIGITS = 18


class ExternalSpan(NamedTuple):
    """Checked place of a tensor's bytes: resolved path, offset, length, the file's fingerprint."""

    file: str
    offset: int
    nbytes: int
    fingerprint: Fingerprint


class ExternalFiles:
    """The files beside one model. `directory` is the model's, None for a model given as bytes."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._root: Path | None = None
        self._known: dict[str, tuple[str, Fingerprint]] = {}

    def span(self, entries: list[tuple[str, str]], nbytes: int, place: str) -> ExternalSpan:
        """Where `entries` (the keys and values of `external_data`) put a tensor of `nbytes` bytes.

        `place` names the tensor in errors.

        Raises:
            ModelError: `external-data-invalid` (a missing, repeated or bad value),
                `external-data-no-directory`, `external-data-outside`, `external-data-missing`,
                `external-data-short`, `tensor-size-mismatch` (`length` is not `nbytes`).
        """
        values = _unique(entries, place)
        location = values.get("location", "")
        if not location or "\0" in location:
            raise _invalid(f"the location {location!r} is not a file name", place)
        offset = _number(values, "offset", 0, place)
        length = _number(values, "length", nbytes, place)
        if length != nbytes:
            raise ModelError(
                "tensor-size-mismatch",
                "the length of a tensor's external data is not what its shape and dtype need",
                place=place,
                cause=f"{nbytes} bytes are needed, {length} are declared in {location!r}",
            )
        file, fingerprint = self._locate(location, place)
        if offset + nbytes > fingerprint[0]:
            raise ModelError(
                "external-data-short",
                f"the data file {location!r} ends before the tensor does",
                place=place,
                cause=f"bytes {offset} to {offset + nbytes} of {fingerprint[0]} are needed",
                hint="download or export the data file again",
            )
        return ExternalSpan(file, offset, nbytes, fingerprint)

    def _locate(self, location: str, place: str) -> tuple[str, Fingerprint]:
        if location not in self._known:
            path = self._inside(location, place)
            self._known[location] = str(path), _fingerprint(path, location, place)
        return self._known[location]

    def _inside(self, location: str, place: str) -> Path:
        if self._directory is None:
            raise ModelError(
                "external-data-no-directory",
                f"the model keeps data in {location!r} but was given as bytes",
                place=place,
                hint="pass the path of the model file, or base_dir=",
            )
        # A Windows path takes both separators, so it sees what either kind of system would.
        parsed = PureWindowsPath(location)
        if parsed.drive or parsed.root or ".." in parsed.parts:
            raise _outside(f"{location!r} is not a plain relative path", place)
        try:
            self._root = self._root or self._directory.resolve()
            path = (self._directory / location).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise _invalid(f"{location!r} cannot be resolved: {error}", place) from None
        if not path.is_relative_to(self._root):
            raise _outside(f"{location!r} is a symbolic link to {str(path)!r}", place)
        return path


def _fingerprint(path: Path, location: str, place: str) -> Fingerprint:
    try:
        status = os.stat(path)
    except OSError as error:
        raise ModelError(
            "external-data-missing",
            f"the data file {location!r} cannot be found",
            place=place,
            cause=error.strerror,
            hint="keep the data file in the directory of the model",
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise _outside(f"{location!r} is not a regular file", place)
    return status.st_size, status.st_mtime_ns


def _unique(entries: list[tuple[str, str]], place: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in entries:
        if values.setdefault(key, value) != value:
            raise _invalid(f"{key!r} is given as {values[key]!r} and as {value!r}", place)
    return values


def _number(values: dict[str, str], key: str, default: int, place: str) -> int:
    text = values.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise _invalid(f"{key} is {text[:40]!r}, not a number of bytes", place)
    return int(text)


def _invalid(cause: str, place: str) -> ModelError:
    return ModelError(
        "external-data-invalid", "the place of external data is not valid", place=place, cause=cause
    )


def _outside(cause: str, place: str) -> ModelError:
    return ModelError(
        "external-data-outside",
        "the model asks for a file that is not data in its own directory",
        place=place,
        cause=cause,
        hint="copy the model and its data into one directory (cp -L follows the links of a cache)",
    )
