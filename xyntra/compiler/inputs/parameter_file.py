# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the model file that holds the weights of an MLIR module.

The module is untrusted: it may name files in its own folder, and in one that the user names, after
symbolic links are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xyntra.errors import ModelError

__all__ = ["parameter_file"]


def parameter_file(name: str, model: Path | None, root: Path | None) -> Path:
    """Return the path of the file that a module calls `name`.

    Args:
        name: absolute, or relative to the folder of the module or to `root`.
        model: the file of the module; None where it was given as text.
        root: the setting `parameters_root`.

    Raises:
        ModelError: `parameters-outside`: the file is in neither folder.
    """
    if "\0" in name:
        raise _outside(name, "it is not a file name")
    folders = [folder for folder in (model.parent if model else None, root) if folder is not None]
    inside = [path for path in _candidates(name, folders) if _is_inside(path, folders)]
    if not inside:
        where = " and ".join(str(folder) for folder in folders)
        cause = (
            f"it may be in {where}" if where else "the model was given as text, without a folder"
        )
        raise _outside(name, cause)
    return next((path for path in inside if path.exists()), inside[0])


def _candidates(name: str, folders: list[Path]) -> Iterator[Path]:
    """Yield what `name` may stand for; an absolute path stands for itself in every folder."""
    for folder in folders:
        yield folder / name


def _is_inside(path: Path, folders: list[Path]) -> bool:
    try:
        resolved = path.resolve()
        return any(resolved.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, RuntimeError):  # a loop of symbolic links
        return False


def _outside(name: str, cause: str) -> ModelError:
    return ModelError(
        "parameters-outside",
        f"the model asks for weights of a file that is not in its folder: {name!r}",
        cause=cause,
        hint="copy the file there, or name its folder: --parameters-root DIR, or the setting "
        "'parameters_root'",
    )
