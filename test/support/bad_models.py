# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that must be refused: what each is, and what its error must say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import helper
from onnx_models import chain, make_model

from xyntra.errors import XyntraError

ONE_INPUT = {"x": [2, 3]}


@dataclass(frozen=True)
class BadFile:
    """A file that must be refused.

    Attributes:
        make: writes the file into a folder and returns its path.
        kind: class of the error.
        code: its code.
        says: what its text must name: the file, node, value or option.
        shapes: shapes of free dimensions to compile with.
        config: settings to compile with.
    """

    make: Callable[[Path], Path]
    kind: type[XyntraError]
    code: str
    says: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)


def data(contents: bytes, name: str = "bad.onnx") -> Callable[[Path], Path]:
    """A file of these bytes."""

    def make(folder: Path) -> Path:
        (folder / name).write_bytes(contents)
        return folder / name

    return make


def model(proto: onnx.ModelProto) -> Callable[[Path], Path]:
    """A file of this model."""
    return data(proto.SerializeToString())


def node(op: str, *inputs: str, shapes: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """A file of one node called `it`; `weights` and `opset` go to the model, the rest are
    attributes.
    """
    outer = {name: options.pop(name) for name in ("weights", "opset", "dtype") if name in options}
    made = helper.make_node(op, list(inputs), ["y"], name="it", **options)
    return model(make_model([made], ONE_INPUT if shapes is None else shapes, ["y"], **outer))


def edited(edit: Callable[[onnx.ModelProto], object], base: Any = chain) -> Callable[[Path], Path]:
    """A file of a good model after `edit`."""
    proto = base()
    edit(proto)
    return model(proto)
