# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the help of `xyntra-opt`: passes, options and pipelines."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from xyntra.passes.options import describe_options
from xyntra.passes.pipelines import PIPELINES
from xyntra.passes.registry import all_passes, help_of
from xyntra.tools.opt_flags import FLAGS, Flag

__all__ = ["TOPICS"]

_USAGE = """\
usage: xyntra-opt [flags and passes] [FILE | -]

Reads MLIR (text or bytecode), runs the passes in the order given, writes MLIR.
A pass is a flag: --PASS, or --PASS=option=value,option=value; upstream's passes too.
"""


def _help() -> str:
    lines = [_USAGE, "flags:"]
    lines += [_row(_spelled(name, flag), flag.summary) for name, flag in FLAGS.items()]
    lines += ["", "pipelines:"]
    lines += [_row(name, pipeline.summary) for name, pipeline in PIPELINES.items()]
    lines += ["", "passes of Xyntra:"]
    for cls in all_passes():
        lines.append(_row(f"--{cls.name}", help_of(cls)))
        lines += [_option_row(*option) for option in describe_options(cls)]
    return "\n".join(lines)


def _passes() -> str:
    return "\n".join(f"{cls.name:<28} {help_of(cls)}" for cls in all_passes())


def _version() -> str:
    return f"xyntra-opt {_version_of('xyntra')} (MLIR of torch-mlir {_version_of('torch-mlir')})"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _spelled(name: str, flag: Flag) -> str:
    if name == "o":
        return f"-o {flag.value}"
    return f"--{name}={flag.value}" if flag.value else f"--{name}"


def _row(left: str, right: str) -> str:
    return f"  {left:<32} {right}"


def _option_row(name: str, kind: str, default: Any) -> str:
    if isinstance(default, tuple):
        default = ",".join(map(str, default)) or "none"
    if isinstance(default, bool):
        default = str(default).lower()
    return f"      {name:<28} {kind}; default {default}"


TOPICS: dict[str, Callable[[], str]] = {"help": _help, "passes": _passes, "version": _version}
