# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model: cache, worker process, loading."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.cache import DiskCache, cache_key
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.magnitudes import unusual_magnitudes
from xyntra.compiler.inputs.parameter_file import parameter_file
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource, open_onnx
from xyntra.compiler.worker.answers import unexpected
from xyntra.compiler.worker.exclusive import in_process
from xyntra.compiler.worker.request import Level, Request
from xyntra.config import Config
from xyntra.errors import (
    ArchiveError,
    ConfigError,
    DeviceError,
    InputError,
    UnsupportedError,
    WorkerError,
    XyntraError,
)
from xyntra.passes.optional import OPTIONAL_PASSES
from xyntra.targets.table import CODE_LEVELS, TARGETS, entry_for

if TYPE_CHECKING:
    from xyntra.executable import Executable
    from xyntra.plan.artifact import Artifact

_MOST_CRASHES = 4
"""Workers that are started for one model, each without one more pass that has crashed."""
_log = logging.getLogger("xyntra")


def compile_source(
    source: ModelSource, sizes: Sizes, config: Config, samples: Sequence[Any] = ()
) -> Executable:
    """The executable of a model, from the cache where it is there.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        samples: inputs of calls, by which a lower precision is chosen.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    target = _target(source, config)
    check_supported(config, target)
    with _placed(source):
        request = make_request(source, sizes, config, "artifact", target)
        if len(samples) and config.precision in ("f16", "bf16"):
            from xyntra.compiler.sampling import observe

            kind = target.backend.name
            request = replace(request, peaks=observe(source, request, config, kind, samples).peaks)
        artifact = find_artifact(request, config, target)
        return load_artifact(artifact, source, target, config.threads, config.parameters_root)


def emit_level(
    source: ModelSource, sizes: Sizes, config: Config, level: Level, kernel: str = ""
) -> bytes:
    """The text of a model at a level.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        level: where to stop.
        kernel: the name of the only kernel whose text is wanted; "" for all of the model.

    Raises:
        XyntraError: the model is wrong or cannot be compiled that far.
    """
    target = _target(source, config)
    check_supported(config, target)
    check_level(level, target, kernel)
    with _placed(source):
        request = make_request(source, sizes, config, level, target)
        return run_request(replace(request, kernel=kernel), config)


def _target(source: ModelSource, config: Config) -> CodeTarget:
    """Where a model is to run: what text below the level of kernels was made for, if not said."""
    return CodeTarget.of(source.target or "auto" if config.target == "auto" else config.target)


def check_level(level: Level, target: CodeTarget, kernel: str = "") -> None:
    """Refuse levels that code for a target does not go through, and those without kernels.

    Raises:
        UnsupportedError: `level-target`.
        InputError: `kernel-level`, one kernel is asked for where there are none yet.
    """
    if kernel and level in ("linalg", "fused"):
        raise InputError(
            "kernel-level",
            f"there are no kernels yet at the level '{level}'",
            hint="a level from 'kernels' down",
        )
    if level not in (*CODE_LEVELS, "llvm") or level in entry_for(target.architecture).texts:
        return
    others = [each for each in TARGETS.values() if level in each.texts]
    raise UnsupportedError(
        "level-target",
        f"only kernels for {' and '.join(each.title for each in others)} have the level '{level}'",
        hint=", or ".join(each.usage for each in others),
    )


@contextmanager
def _placed(source: ModelSource) -> Iterator[None]:
    """Name the model's file in errors about it, ahead of the node or kernel that they name."""
    try:
        yield
    except XyntraError as error:
        if source.path is not None and not isinstance(error, ConfigError | DeviceError):
            error.place = _in_file(str(source.path), error.place)
        raise


def _in_file(path: str, place: str | None) -> str:
    if not place:
        return path
    return place if path in place else f"{path}, {place}"


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
    from xyntra.compiler.saved import load_pickled
    from xyntra.executable import Executable
    from xyntra.plan.stored import rounded

    if artifact.plan.parameter_file and not source.references:
        path = parameter_file(artifact.plan.parameter_file, source.path, parameters_root)
        source = replace(open_onnx(path), kind=source.kind, model=source.model)
    weights = rounded(artifact.plan, source.weights(artifact.plan.parameters))
    program = target.program(artifact, weights, threads)
    return Executable(artifact, program, weights, (target.name, threads), load_pickled)


def check_supported(config: Config, target: CodeTarget) -> None:
    """Refuse precisions that a target does not have.

    Raises:
        UnsupportedError: `precision-unsupported`.
        ConfigError: `io` is of another precision.
    """
    if config.io not in ("model", config.precision):
        raise ConfigError(
            "config-value",
            f"io='{config.io}' does not fit precision='{config.precision}'",
            cause="inputs and outputs have the types of the model, or that of its precision",
            hint=f"precision='{config.io}', or leave out io",
        )
    known = entry_for(target.architecture).precisions
    if config.precision not in known:
        others = [name for name, each in TARGETS.items() if config.precision in each.precisions]
        titles = " and ".join(TARGETS[name].title for name in others)
        raise UnsupportedError(
            "precision-unsupported",
            f"precision '{config.precision}' is for {titles}",
            cause=f"on this target, contractions of f32 are computed in {' or '.join(known)}",
            hint=f"leave out precision, or give {' or '.join(f'target={n!r}' for n in others)}",
        )


def make_request(
    source: ModelSource, sizes: Sizes, config: Config, level: Level, target: CodeTarget
) -> Request:
    """Return what a worker is to do for `source`."""
    emitted = level != "artifact" and source.kind == "onnx" and source.path is not None
    return Request(
        kind=source.kind,
        model=source.model,
        parameters=str(source.path.resolve()) if emitted and source.path else "",
        shapes=dict(sizes.shapes),
        dims=dict(sizes.dims),
        constants=dict(sizes.constants),
        level=level,
        architecture=target.architecture,
        fuse=config.fuse,
        egraph=config.egraph,
        fast_math=config.fast_math,
        fold_norms=config.fold_norms,
        strict=config.strict,
        opt_level=config.opt_level,
        precision=config.precision,
        narrow_io=config.io != "model",
        magnitudes=unusual_magnitudes(source, config.precision),
        jobs=config.jobs,
        timeout=config.compile_timeout,
        max_tensor_bytes=config.max_tensor_bytes,
        cache_dir=str(config.cache_dir) if config.cache else None,
        cache_size=config.cache_size,
        trusted=source.trusted,
    )


def find_artifact(request: Request, config: Config, target: CodeTarget) -> Artifact:
    """The compiled model that `request` asks for, from the cache where it is there."""
    prepare = partial(target.prepare, config.threads)
    if not config.cache:
        return _compiled(request, config, prepare)
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
    given += [request.peaks, request.observe, request.observe_errors]
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
