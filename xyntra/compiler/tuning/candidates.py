# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a kernel with several combinations of schedules, each in a child that may crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from torch_mlir import ir

from xyntra.cache import DiskCache
from xyntra.compiler.kernels.parallel import compile_each
from xyntra.compiler.worker.answers import answer, result
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.kernels.given_schedules import give_schedules
from xyntra.targets.kernel import CompiledKernel, KernelSource
from xyntra.tune.records import read_schedules

__all__ = ["compile_candidates", "read_outcomes", "write_candidates"]

Outcome = CompiledKernel | CompileError


def write_candidates(name: str, text: str, schedules: Sequence[str]) -> bytes:
    """Return the model of a request for candidates of one kernel."""
    return json.dumps({"name": name, "text": text, "schedules": list(schedules)}).encode()


def compile_candidates(request: Request, server: ForkServer | None) -> bytes:
    """Return the outcomes for what `write_candidates` wrote, in order.

    Args:
        request: its model says what to compile; with jobs, time and cache for each.
        server: forks the processes that compile.
    """
    asked = json.loads(request.model)
    source = KernelSource(
        asked["name"],
        asked["text"],
        opt_level=request.opt_level,
        architecture=request.architecture,
    )
    texts = _with_schedules(source.mlir, asked["schedules"])
    outcomes = compile_each(
        [replace(source, mlir=text) for text in texts],
        jobs=request.jobs,
        timeout=request.timeout,
        cache=DiskCache(request.cache_dir, request.cache_size) if request.cache_dir else None,
        server=server,
    )
    parts = [answer(partial(_bytes_of, each)) for each in outcomes]
    return json.dumps(list(map(len, parts))).encode() + b"\n" + b"".join(parts)


def read_outcomes(data: bytes) -> list[Outcome]:
    """Return the machine code of each candidate, or why there is none."""
    head, _, rest = data.partition(b"\n")
    outcomes: list[Outcome] = []
    for length in json.loads(head):
        part, rest = rest[:length], rest[length:]
        try:
            outcomes.append(CompiledKernel.from_bytes(result(part)))
        except CompileError as error:
            outcomes.append(error)
    return outcomes


def _bytes_of(outcome: Outcome) -> bytes:
    if isinstance(outcome, CompileError):
        raise outcome
    return outcome.to_bytes()


def _with_schedules(text: str, schedules: Sequence[str]) -> list[str]:
    found = []
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        function = kernel_function(module.operation)
        for each in schedules:
            give_schedules(function, read_schedules(each))
            found.append(function.get_asm(use_local_scope=True))
    return found
