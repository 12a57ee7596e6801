# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model as its settings say, or writes its text at a level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xyntra.compiler.artifacts import find_artifact, load_artifact, run_request
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.magnitudes import unusual_magnitudes
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.tuned_schedules import tuned_schedules
from xyntra.compiler.worker.request import Level, Request
from xyntra.config import Config
from xyntra.errors import (
    ConfigError,
    DeviceError,
    InputError,
    UnsupportedError,
    XyntraError,
)
from xyntra.passes.lower.gpu.device import DEVICES, Feature
from xyntra.targets.table import CODE_LEVELS, TARGETS, entry_for

if TYPE_CHECKING:
    import numpy as np

    from xyntra.compiler.calibration.search import Quantization
    from xyntra.executable import Executable
    from xyntra.tune.tuned import Tuned


def compile_source(
    source: ModelSource,
    sizes: Sizes,
    config: Config,
    samples: Sequence[Any] = (),
    tuned: Mapping[str, Tuned] | None = None,
) -> Executable:
    """The executable of a model, from the cache where it is there.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        samples: inputs of calls, by which a lower precision is chosen.
        tuned: schedules beside those of the tuning database, as requests have them.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    target = target_of_source(source, config)
    check_supported(config, target)
    if sizes.aliases and not target.backend.writes_inputs:
        raise UnsupportedError(
            "aliases-unsupported",
            f"outputs cannot be written where inputs lie on '{target.backend.name}'",
            hint="leave out aliases",
        )
    if sizes.aliases and sizes.ranges:
        raise UnsupportedError(
            "free-dimension",
            "outputs are written where inputs lie at fixed sizes only",
            hint="leave out aliases, or give dims= one size each",
        )
    with _placed(source):
        if sizes.ranges and not target.backend.free_variants():
            raise UnsupportedError(
                "free-dimension",
                f"free dimensions are not compiled for {target.backend.name} yet",
                hint=f"target='cpu', or one size: dims={{{next(iter(sizes.ranges))!r}: 128}}",
            )
        request = make_request(source, sizes, config, "artifact", target)
        if tuned:
            request = replace(request, tuned={**request.tuned, **tuned})
        request = _sampled(source, request, config, target, samples)
        artifact = find_artifact(request, config, target)
        return load_artifact(artifact, source, target, config.threads, config.parameters_root)


def quantize_source(
    source: ModelSource,
    sizes: Sizes,
    config: Config,
    samples: Sequence[Any],
    *,
    ranked: bool = False,
    by_rows: bool = True,
) -> Quantization:
    """Return which products of a model precision "int8" computes in integers, and by which ranges.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        samples: inputs of calls.
        ranked: whether it is measured what each product alone changes, needed or not.
        by_rows: whether rows of a factor may have scales of their own.

    Raises:
        XyntraError: the model is wrong or cannot be compiled, or a sample does not fit it.
    """
    from xyntra.compiler.calibration.search import quantize  # with numpy

    target = target_of_source(source, config)
    check_supported(config, target)
    with _placed(source):
        request = make_request(source, sizes, config, "artifact", target)
        kind = target.backend.name
        more = {"ranked": ranked, "by_rows": by_rows}
        return quantize(source, request, config, kind, samples, **more)


def _sampled(
    source: ModelSource,
    request: Request,
    config: Config,
    target: CodeTarget,
    samples: Sequence[Any],
) -> Request:
    """Return `request` with what samples say of a lower precision."""
    kind = target.backend.name
    if config.precision == "int8":
        from xyntra.compiler.calibration.search import quantize  # with numpy

        found = quantize(source, request, config, kind, samples)
        return replace(request, quantization=found.ranges)
    if len(samples) and config.precision in ("f16", "bf16", "fp8"):
        from xyntra.compiler.sampling import observe  # with numpy

        return replace(request, peaks=observe(source, request, config, kind, samples).peaks)
    return request


def compile_apart(
    source: ModelSource, config: Config
) -> Callable[[Mapping[str, np.ndarray[Any, Any]]], Executable]:
    """Compile a model whose weights come later, or change; return what loads it with some.

    Args:
        source: the model, of static sizes; weights that it holds need not be given again.
        config: how it is compiled; its precision is that of the model.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    target = target_of_source(source, config)
    check_supported(config, target)
    with _placed(source):
        request = make_request(source, Sizes(), config, "artifact", target)
        artifact = find_artifact(request, config, target)

    def load(weights: Mapping[str, np.ndarray[Any, Any]]) -> Executable:
        given = replace(source, arrays={**source.arrays, **weights})
        return load_artifact(artifact, given, target, config.threads)

    return load


def emit_level(
    source: ModelSource,
    sizes: Sizes,
    config: Config,
    level: Level,
    kernel: str = "",
    samples: Sequence[Any] = (),
) -> bytes:
    """The text of a model at a level.

    Args:
        source: the model.
        sizes: of its free dimensions.
        config: how it is compiled.
        level: where to stop.
        kernel: the name of the only kernel whose text is wanted; "" for all of the model.
        samples: inputs of calls, by which a lower precision is chosen.

    Raises:
        XyntraError: the model is wrong or cannot be compiled that far.
    """
    target = target_of_source(source, config)
    check_supported(config, target)
    check_level(level, target, kernel)
    if sizes.ranges:
        name = next(iter(sizes.ranges))
        raise InputError(
            "dimension-range",
            f"texts of a model have one size of each dimension, and '{name}' is free",
            hint=f"--dim {name}=128, or dims={{{name!r}: 128}}",
        )
    with _placed(source):
        request = make_request(source, sizes, config, level, target)
        if level != "linalg":
            request = _sampled(source, request, config, target, samples)
        return run_request(replace(request, kernel=kernel), config)


def target_of_source(source: ModelSource, config: Config) -> CodeTarget:
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


def check_supported(config: Config, target: CodeTarget) -> None:
    """Refuse precisions that a target does not have.

    Raises:
        UnsupportedError: `precision-unsupported`.
        ConfigError: `io` is of another precision.
    """
    narrow = "f16" if config.precision == "fp8" else config.precision
    if config.io not in ("model", narrow):
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
    features = target.backend.features(target.architecture)
    if config.precision == "fp8" and Feature.FLOAT8 not in features:
        having = [name for name, device in DEVICES.items() if device.has(Feature.FLOAT8)]
        raise UnsupportedError(
            "precision-unsupported",
            f"{target.architecture} does not multiply floats of 8 bits",
            cause=f"of the GPUs that code is made for, {', '.join(having)} do",
            hint="precision='f16' or precision='int8', which it multiplies",
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
        values=dict(sizes.values),
        aliases=dict(sizes.aliases),
        donated=sizes.donated,
        ranges=dict(sizes.ranges),
        named=dict(sizes.named),
        relations=dict(sizes.relations),
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
        tuned=tuned_schedules(config, target) if config.tuned else {},
    )
