# SPDX-License-Identifier: MIT OR Apache-2.0
"""One compressed file with compiled random models, and those that were refused."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.harness.files import atomic_path
from verify.random_models.case import Case, from_json

__all__ = ["ARCHIVE", "Prepared", "pack", "unpacked"]

ARCHIVE = "cases.tar.xz"
_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Prepared:
    """What `prepare` made.

    Attributes:
        folder: where the compiled models are, called by the names of their cases.
        about: the architecture, and the state of the sources.
        cases: what was compiled, by name.
        refused: what the compiler refused, with its words.
    """

    folder: Path
    about: Mapping[str, Any]
    cases: Mapping[str, Case]
    refused: Mapping[str, str]

    def artifact(self, name: str) -> bytes:
        """The compiled model of a case."""
        return (self.folder / name).read_bytes()


def pack(
    path: Path,
    about: Mapping[str, Any],
    made: Sequence[tuple[Case, bytes]],
    refused: Mapping[str, str],
) -> None:
    """Write `path`: models are alike, so that together they take little."""
    manifest = {
        "about": dict(about),
        "cases": [asdict(case) for case, _ in made],
        "refused": refused,
    }
    blobs = {_MANIFEST: json.dumps(manifest).encode()}
    blobs |= {case.name: data for case, data in made}
    with atomic_path(path) as temporary, tarfile.open(temporary, "w:xz", preset=6) as archive:
        for name, data in blobs.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


@contextmanager
def unpacked(path: Path) -> Iterator[Prepared]:
    """Yield the contents of a file, in a folder that is removed afterwards."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(path, "r:xz") as archive:
            for member in archive:
                data = archive.extractfile(member)
                if data is not None:
                    (folder / Path(member.name).name).write_bytes(data.read())
        fields = json.loads((folder / _MANIFEST).read_text())
        cases = [from_json(each) for each in fields["cases"]]
        by_name = {case.name: case for case in cases}
        yield Prepared(folder, fields["about"], by_name, fields["refused"])
