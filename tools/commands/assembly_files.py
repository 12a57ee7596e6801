# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the assembly of a compiled model, such as PTX, to a file for each kernel."""

from __future__ import annotations

from pathlib import Path

from xyntra.errors import UnsupportedError
from xyntra.executable import Executable
from xyntra.targets.table import TARGETS, backend_of


def write_assembly(executable: Executable, level: str, output: str | None) -> list[Path]:
    """Write the code of every kernel to `NAME.LEVEL` in the folder `output`, this one if None.

    A comment at the head of each file names the kernel's launches.

    Raises:
        UnsupportedError: code for the executable's target has another form.
        ArchiveError: a file cannot be written.
    """
    from xyntra.plan.storage.files import make_folder, replace_file

    backend = backend_of(executable.artifact.target)
    if TARGETS[backend.name].assembly != level:
        entry = next(each for each in TARGETS.values() if each.assembly == level)
        raise UnsupportedError(
            f"{level}-target",
            f"only kernels for {entry.title} have {level.upper()}",
            hint=entry.usage,
        )
    folder = Path(output or ".")
    make_folder(folder)
    written = []
    for name, text in backend.assembly_files(executable.artifact.objects).items():
        written.append(folder / f"{name}.{level}")
        replace_file(written[-1], [text.encode()])
    return written
