# SPDX-License-Identifier: MIT OR Apache-2.0
"""One validated configuration out of defaults, `fusion.toml`, environment and arguments."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .config_sources import GivenSetting, check, find_file, from_environment, from_file, named
from .config_values import (
    SettingKind,
    choice,
    file,
    flag,
    folder,
    integer,
    optional,
    pattern,
    positive,
    seconds,
    size,
)
from .errors import ConfigError

Precision = Literal["f32", "tf32", "f16", "bf16", "int8", "fp8", "w8", "w4", "w4a8"]
Calibration = Literal["minmax", "percentile", "mse"]
Interface = Literal["model", "f16", "bf16"]


def user_cache_dir() -> Path:
    """Return this platform's folder for Xyntra's cached files (absolute; it may not exist)."""
    try:
        home = Path.home()
    except RuntimeError:
        owner = os.getuid() if hasattr(os, "getuid") else "user"
        return Path(tempfile.gettempdir()) / f"xyntra-{owner}"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "xyntra" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "xyntra"
    # The XDG base directory specification says to ignore relative paths.
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home / ".cache") / "xyntra"


def user_tuning_database() -> Path:
    """Return where tuned schedules are kept: unlike a cache, nobody makes them again soon."""
    try:
        home = Path.home()
    except RuntimeError:
        return user_cache_dir() / "tuned.sqlite3"
    if sys.platform in ("win32", "darwin"):
        return user_cache_dir().parent / "tuned.sqlite3"
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else home / ".local/share") / "xyntra" / "tuned.sqlite3"


def _setting(kind: SettingKind, default: object, *, codegen: bool = False) -> Any:
    metadata = {"kind": kind, "codegen": codegen}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Every setting, checked on construction.

    Attributes:
        target: where kernels run: "auto", or a target's name with an optional device number.
        precision: of models of f32: "f32", or "tf32" on NVIDIA GPUs, in which contractions round
            their factors, or "f16" or "bf16", in which weights are stored, and on GPUs also
            tensors and factors; or "int8", in which products with weights are computed, or "fp8",
            in which they are, while the rest is f16; or "w8" or
            "w4", bits in which weights of products are stored, or "w4a8", in which rows that
            meet weights of 4 bits have 8 bits.
        io: types of inputs and outputs of f32: "model" for those of the model, or that of
            `precision`.
        calibration: with "int8", how samples give the range of a factor: "minmax" of its values,
            "percentile" (99.99 % of them), or "mse", the range of least squared error.
        symmetric: with "int8", whether integers of factors are signed, around 0.
        tolerance: with "int8", how large the errors of outputs may become in samples, as root mean
            square, relative to that of the output; products of large errors stay in f32 for it.
        threads: threads that work on one call; None means one for each core that this process
            may use.
        opt_level: LLVM's optimisation level, 0 to 3.
        cache_dir: folder of compiled artifacts; by default the platform's user cache.
        cache_size: bytes that the folder may hold; the least recently used entries go first.
            Text with a unit ("4GiB") is accepted.
        cache: whether compiled artifacts are kept and reused.
        isolate: whether compiling happens in worker processes, so that a crash in a library
            becomes a WorkerError.
        jobs: kernels compiled at the same time; None means one for each core.
        compile_timeout: seconds after which a worker process is ended.
        memory_limit: bytes that one worker process may use; None means no limit.
        max_tensor_bytes: a model with a larger tensor is refused.
        parameters_root: a folder from which MLIR files may take their weights, beside their own;
            None for no other.
        fuse: whether operations are fused; off, every operation is a kernel of its own.
        egraph: whether elementwise expressions are rewritten into cheaper equal ones, where egglog
            is installed.
        fast_math: whether these rewrites may use all that is equal over the real numbers, and so
            change what becomes of NaN, infinities and zeros.
        fold_norms: whether products of few rows, on GPUs, normalise what they read themselves.
        strict: whether a failure of a pass, or of the code generator on a kernel, is an error; off,
            compiling falls back to something more general, which `explain` and a warning name.
        tuned: whether kernels get the schedules that tuning found best for them on this device.
        tuning_database: the file that these are kept in.
        progress: whether progress is shown; None means only on a terminal.
        trace: a JSON file to which a trace of what this process compiles and runs is written when
            the process ends; None for no trace.

    Raises:
        ConfigError: a value has the wrong type or is out of range.
    """

    target: str = _setting(
        pattern(
            '"auto" or a target such as "cpu", "cuda:1" or "cuda:sm_90a"',
            r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)?",
        ),
        "auto",
        codegen=True,
    )
    precision: Precision = _setting(
        choice(
            "f32",
            "tf32",
            "f16",
            "bf16",
            "int8",
            "fp8",
            "w8",
            "w4",
            "w4a8",
            expected='"f32", "f16", "bf16", "int8", "w8", "w4", on CPUs "w4a8", '
            'on GPUs "tf32" and "fp8"',
        ),
        "f32",
        codegen=True,
    )
    io: Interface = _setting(choice("model", "f16", "bf16"), "model", codegen=True)
    calibration: Calibration = _setting(choice("minmax", "percentile", "mse"), "mse")
    symmetric: bool = _setting(flag(), False)
    tolerance: float = _setting(positive("a relative error above 0, such as 0.05"), 0.1)
    threads: int | None = _setting(optional(integer(1, 4096)), None)
    opt_level: int = _setting(integer(0, 3), 2, codegen=True)
    cache_dir: Path = _setting(folder(), user_cache_dir)
    cache_size: int = _setting(size(), 4 << 30)
    cache: bool = _setting(flag(), True)
    isolate: bool = _setting(flag(), True)
    jobs: int | None = _setting(optional(integer(1, 4096)), None)
    compile_timeout: float = _setting(seconds(), 600.0)
    memory_limit: int | None = _setting(optional(size()), None)
    max_tensor_bytes: int = _setting(size(), 16 << 30)
    parameters_root: Path | None = _setting(optional(folder()), None)
    fuse: bool = _setting(flag(), True, codegen=True)
    egraph: bool = _setting(flag(), True, codegen=True)
    fast_math: bool = _setting(flag(), False, codegen=True)
    fold_norms: bool = _setting(flag(), True, codegen=True)
    strict: bool = _setting(flag(), False, codegen=True)
    tuned: bool = _setting(flag(), True)
    tuning_database: Path = _setting(file(), user_tuning_database)
    progress: bool | None = _setting(optional(flag()), None)
    trace: Path | None = _setting(optional(file()), None)

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            value = check(name, GivenSetting(getattr(self, name), None), kind)
            object.__setattr__(self, name, value)

    def codegen_key(self) -> tuple[tuple[str, str | int | bool | None], ...]:
        """Return (name, value) of the settings that change generated code, in a fixed order."""
        return tuple(
            (entry.name, getattr(self, entry.name))
            for entry in dataclasses.fields(self)
            if entry.metadata["codegen"]
        )


KINDS: dict[str, SettingKind] = {
    entry.name: entry.metadata["kind"] for entry in dataclasses.fields(Config)
}


def load_config(
    config: Config | Mapping[str, object] | str | os.PathLike[str] | None = None,
    **arguments: object,
) -> Config:
    """Return the configuration in force; a later source wins over an earlier one.

    The sources are the defaults, the file `fusion.toml` (table `[xyntra]`; looked for in the
    current folder and its parents), environment variables `XYNTRA_<FIELD>`, `config` where it is
    a mapping, and `arguments`.

    Args:
        config: a mapping of settings; or the path of the file to read instead of looking for
            one; or a finished Config, over which only `arguments` are laid.
        arguments: settings by name. None means "not given".

    Raises:
        ConfigError: an unknown name, a wrong value, or a file that cannot be read.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    own = dict(named(given, "argument {!r}", KINDS))
    if isinstance(config, Config):
        return dataclasses.replace(config, **_checked(own))
    layers: dict[str, GivenSetting] = {}
    searched = config is None or isinstance(config, Mapping)
    path = find_file() if searched else _as_path(config)
    if path is not None:
        layers.update(from_file(path, KINDS))
    layers.update(from_environment(os.environ, KINDS))
    if isinstance(config, Mapping):
        layers.update(named(config, "config[{!r}]", KINDS))
    return Config(**_checked(layers | own))


def _checked(layers: Mapping[str, GivenSetting]) -> dict[str, Any]:
    return {name: check(name, given, KINDS[name]) for name, given in layers.items()}


def _as_path(config: object) -> Path:
    if not isinstance(config, (str, os.PathLike)):
        raise ConfigError(
            "config-type",
            f"config= takes a Config, a mapping or a path, not {type(config).__name__}",
        )
    return Path(os.fspath(config)).expanduser()
