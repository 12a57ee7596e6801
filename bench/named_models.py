# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds models by what a command line calls them: files, models that are fetched, and networks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.models import REGISTRY, ensure

__all__ = ["model_file"]

Shapes = dict[str, Any] | None


@contextmanager
def model_file(name: str) -> Iterator[tuple[Path, Shapes]]:
    """Give the file of a model, while it is used, and the shapes of its inputs where it needs some.

    Args:
        name: a file; a name of `bench.models`; or, where there is neither, one of
            `bench.cuda.models`, whose weights are drawn, which needs PyTorch.
    """
    stem = Path(name).stem
    if stem in REGISTRY and name in (stem, name.removesuffix(".onnx") + ".onnx"):
        yield Path(name) if Path(name).is_file() else ensure(stem), REGISTRY[stem].shapes or None
    elif Path(name).exists():
        yield Path(name), None
    else:
        from bench.cuda.models import MODELS, onnx_network
        from bench.cuda.networks import network

        model = MODELS[name]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(onnx_network(network(model.network), model).SerializeToString())
            yield path, None
