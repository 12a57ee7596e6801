# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a small model that shows a failure of the compiler, to be sent with a report.

A model is made smaller by delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002): nodes are left out, half of them at first, as long as compiling
what is left fails in the same way. What the compiler falls back from counts as a failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xyntra.compiler.artifacts import run_request
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.driver import make_request
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config
from xyntra.errors import CompileError, XyntraError
from xyntra.observe.environment import versions
from xyntra.plan.storage.files import make_folder, replace_file

if TYPE_CHECKING:
    from xyntra.frontends.onnx.file.subgraph import Subgraphs

__all__ = ["Reproduction", "reproduce"]

_MOST_ATTEMPTS = 300
"""Models that are compiled at most."""


@dataclass(frozen=True)
class Reproduction:
    """The files that were written.

    Attributes:
        model: the file of the small model.
        nodes: how many nodes it has; None for MLIR text, which is copied as it is.
        failure: how compiling it fails.
    """

    model: Path
    nodes: int | None
    failure: CompileError


def reproduce(
    source: ModelSource, sizes: Sizes, config: Config, folder: str | Path
) -> Reproduction | None:
    """Write the smallest part of a model that fails to compile as the whole does.

    The folder gets the model, with random numbers for weights above 1 KiB, and `report.txt` with
    the failure and the versions of all that takes part.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled; it is compiled strictly, and without the cache.
        folder: where to write; made where it is not there.

    Returns:
        What was written; None where nothing fails.

    Raises:
        XyntraError: the model is wrong, or holds something that is not supported.
        ArchiveError: the folder cannot be written.
    """
    strict = replace(config, strict=True, cache=False)
    failure = _failure(source, sizes, strict)
    if failure is None:
        return None
    target = Path(folder)
    make_folder(target)
    if source.kind == "mlir":
        name, data, nodes = "model.mlir", source.model, None
    else:
        name, (data, nodes) = "model.onnx", _smallest(source, sizes, strict, failure)
    replace_file(target / name, [data])
    replace_file(target / "report.txt", [_report(failure, strict, name).encode()])
    return Reproduction(target / name, nodes, failure)


def _failure(source: ModelSource, sizes: Sizes, config: Config) -> CompileError | None:
    """Return how the compiler fails on a model; None where it does not."""
    target = CodeTarget.of(config.target)
    try:
        run_request(make_request(source, sizes, config, "artifact", target), config)
    except CompileError as error:
        return error
    return None


def _smallest(
    source: ModelSource, sizes: Sizes, config: Config, failure: CompileError
) -> tuple[bytes, int]:
    """Return the smallest ONNX model that fails as `source` does, and how many nodes it has."""
    from xyntra.frontends.onnx.file.subgraph import Subgraphs, with_random_weights
    from xyntra.frontends.onnx.inputs.bound_values import with_values

    bound = with_values(source.model, sizes.constants)
    graphs = Subgraphs(bound, sizes.shapes, sizes.dims)
    attempts = 0

    def fails(positions: Sequence[int]) -> bool:
        nonlocal attempts
        part = graphs.cut(positions)
        if part is None or attempts >= _MOST_ATTEMPTS:
            return False
        attempts += 1
        smaller = replace(source, model=part.SerializeToString())
        try:
            found = _failure(smaller, Sizes(), config)
        except XyntraError:
            return False  # a part may be no valid model: that is another failure
        return found is not None and _signature(found) == _signature(failure)

    everything = list(range(len(graphs.nodes)))
    near = _near(graphs, failure)
    start = near if near and fails(near) else everything
    kept = _minimal(start, fails)
    part = graphs.cut(kept)
    if part is None:
        raise ValueError("the part that fails can be cut, or it would not have failed")
    return with_random_weights(part, source.references).SerializeToString(), len(kept)


def _near(graphs: Subgraphs, failure: CompileError) -> list[int]:
    """Return the nodes that the failure names, in whatever form."""
    words = set(re.findall(r'"([^"]+)"', failure.place or ""))
    words |= set(re.split(r"[\s,]+", failure.place or ""))
    return [position for position, label in enumerate(graphs.labels()) if label in words]


def _minimal(items: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """Return a part of `items` that `fails`, and no more does with one more item left out."""
    kept, pieces = list(items), 2
    while len(kept) > 1:
        size = -(-len(kept) // pieces)
        chunks = [kept[start : start + size] for start in range(0, len(kept), size)]
        rest = next(
            (
                smaller
                for chunk in chunks
                if (smaller := [item for item in kept if item not in chunk]) and fails(smaller)
            ),
            None,
        )
        if rest is not None:
            kept, pieces = rest, max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces = min(2 * pieces, len(kept))
    return kept


def _signature(failure: CompileError) -> tuple[str, str, str]:
    """Return what failures of one cause have in common: neither names nor numbers."""
    text = f"{failure.message} {failure.cause or ''}".partition("\n")[0]
    return failure.code, failure.during, re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "", text)


def _report(failure: CompileError, config: Config, model: str) -> str:
    lines = [str(failure), "", f"XYNTRA_STRICT=true xyntra compile {model}", ""]
    lines += [f"{name} = {value}" for name, value in config.codegen_key()]
    return "\n".join([*lines, "", *versions(), ""])
