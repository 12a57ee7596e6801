# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds compiled models in the cache, has workers compile them, and loads them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.cache import DiskCache, cache_key
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.parameter_file import parameter_file
from xyntra.compiler.inputs.source import ModelSource, open_onnx
from xyntra.compiler.worker.answers import unexpected
from xyntra.compiler.worker.exclusive import in_process
from xyntra.compiler.worker.request import Request
from xyntra.config import Config
from xyntra.errors import ArchiveError, WorkerError, XyntraError
from xyntra.passes.optional import OPTIONAL_PASSES
from xyntra.spans import span

if TYPE_CHECKING:
    import numpy as np

    from xyntra.executable import Executable
    from xyntra.plan.artifact import Artifact

__all__ = ["find_artifact", "load_artifact", "run_request", "weights_of"]

_MOST_CRASHES = 4
"""Workers that are started for one model, each without one more pass that has crashed."""
_log = logging.getLogger("xyntra")


def load_artifact(
    artifact: Artifact,
    source: ModelSource,
    target: CodeTarget,
    threads: int | None = None,
    parameters_root: Path | None = None,
) -> Executable:
    """Load an artifact with the weights of the model that it came from.

    Args:
        artifact: the compiled model.
        source: the model.
        target: where it runs.
        threads: how many threads work on one call; None means one for each core.
        parameters_root: a folder from which an MLIR module may take weights, beside its own.
    """
    from xyntra.compiler.saved import executable_of

    with span("load", "compile"):
        weights = weights_of(artifact, source, parameters_root)
        program = target.program(artifact, weights, threads)
        return executable_of(artifact, program, weights, (target.name, threads))


def weights_of(
    artifact: Artifact, source: ModelSource, parameters_root: Path | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights of a model as its artifact wants them; arguments as `load_artifact`."""
    from xyntra.plan.storage.stored import rounded

    if artifact.plan.parameter_file and not source.references:
        path = parameter_file(artifact.plan.parameter_file, source.path, parameters_root)
        source = replace(open_onnx(path), kind=source.kind, model=source.model)
    return rounded(artifact.plan, source.weights(artifact.plan.sources))


def find_artifact(request: Request, config: Config, target: CodeTarget) -> Artifact:
    """The compiled model that `request` asks for, from the cache where it is there."""
    prepare = partial(target.prepare, config.threads)
    if not config.cache:
        return _compiled(request, config, prepare)
    with span("look into the cache", "compile"):
        cache = DiskCache(config.cache_dir, config.cache_size)
        key = _key(request, config, target)
        found = _cached(cache, key)
    if found is not None:
        return found
    return _compiled(request, config, prepare, lambda data: cache.put(key, data))


def _compiled(
    request: Request,
    config: Config,
    meanwhile: Callable[[], None],
    keep: Callable[[bytes], object] = lambda _: None,
) -> Artifact:
    """Compile, and warn where the compiler fell back to something more general."""
    with span("wait for a worker", "compile"):
        data = run_request(request, config, meanwhile)
    keep(data)
    artifact = _read(data, "worker")
    for sentence in artifact.plan.fallbacks:
        _log.warning("%s; please report this with the model", sentence)
    return artifact


def _cached(cache: DiskCache, key: str) -> Artifact | None:
    data = cache.map(key)
    if data is None:
        return None
    try:
        return _read(data, "cache")
    except ArchiveError:
        return None


def _read(data: bytes | memoryview, place: str) -> Artifact:
    from xyntra.plan.artifact import Artifact  # with numpy: not before a worker has been started

    return Artifact.from_bytes(data, place)


def _key(request: Request, config: Config, target: CodeTarget) -> str:
    rewrites = request.fuse and request.egraph and find_spec("egglog") is not None
    given: list[object] = [request.shapes, request.dims, request.constants, request.magnitudes]
    given += [request.values, request.peaks, request.observe, request.observe_errors]
    given += [request.aliases, request.ranges, request.named, request.tuned]
    given += [request.relations, request.donated]
    given += [request.quantization]
    facts = [request.kind, given, config.codegen_key(), rewrites, request.trusted]
    settings = json.dumps(facts, sort_keys=True)
    return cache_key("artifact", request.model, settings, target.code_key)


def run_request(
    request: Request, config: Config, meanwhile: Callable[[], None] = lambda: None
) -> bytes:
    """The result of a request, computed in a worker process unless `isolate` is off.

    Args:
        request: what to compile.
        config: how.
        meanwhile: called while other processes work on it.
    """
    if config.isolate:
        return _isolated(request, config, meanwhile)
    from xyntra.compiler.compile_request import compile_request

    try:
        with in_process():
            return compile_request(request, meanwhile=meanwhile)
    except XyntraError:
        raise
    except Exception as error:
        raise unexpected(error) from error


def _isolated(request: Request, config: Config, meanwhile: Callable[[], None]) -> bytes:
    """Run a request in a worker; where it crashes in a pass that is not needed, without that."""
    from xyntra.worker import compile_isolated

    for _ in range(_MOST_CRASHES):
        try:
            return compile_isolated(
                request,
                timeout=config.compile_timeout,
                memory_limit=config.memory_limit,
                meanwhile=meanwhile,
            )
        except WorkerError as error:
            name = error.during.partition("{")[0]
            if config.strict or error.code != "worker-crashed" or name not in OPTIONAL_PASSES:
                raise
            sentence = f"pass '{name}' was left out, because the compiler crashed in it"
            request = replace(request, without=(*request.without, (name, sentence)))
            failure = error
    raise failure
