# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles many kernels at once, each in a child process that may crash.

llvmlite holds a lock while LLVM works, so threads would not help. Children are forked: they share
the libraries that the parent has loaded, and start in a few milliseconds.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence

from xyntra.cache import DiskCache
from xyntra.errors import CompileError, XyntraError
from xyntra.targets.cpu.child_processes import child_processes, ready
from xyntra.targets.cpu.kernels import (
    CompiledKernel,
    KernelSource,
    compile_kernel,
    compiler_context,
    kernel_key,
    load_cached,
)


def compile_kernels(
    kernels: Sequence[KernelSource],
    *,
    jobs: int | None = None,
    timeout: float = 300.0,
    cache: DiskCache | None = None,
) -> list[CompiledKernel]:
    """Compile `kernels`, equal ones once, and return their machine code in order.

    Args:
        kernels: what to compile.
        jobs: child processes at most; as many as there are processors where not given.
        timeout: seconds for one kernel.
        cache: where machine code is looked up before lowering, and kept.

    Raises:
        WorkerError: a child crashed or took too long; names the kernel and its nodes.
        CompileError: a kernel cannot be compiled.
    """
    keys = [kernel_key(kernel) for kernel in kernels]
    done: dict[str, CompiledKernel] = {}
    missing: dict[str, KernelSource] = {}
    for key, kernel in zip(keys, kernels, strict=True):
        if key in done or key in missing:
            continue
        cached = load_cached(cache, key)
        if cached is None:
            missing[key] = kernel
        else:
            done[key] = cached
    for key, compiled in _compile_missing(missing, _job_count(jobs, len(missing)), timeout):
        done[key] = compiled
        if cache is not None:
            cache.put(key, compiled.to_bytes())
    return [done[key] for key in keys]


def _job_count(jobs: int | None, kernels: int) -> int:
    from xyntra.targets.cpu.device import host_device

    return max(1, min(jobs or host_device().cores, kernels))


def _compile_missing(
    missing: dict[str, KernelSource], jobs: int, timeout: float
) -> Iterator[tuple[str, CompiledKernel]]:
    if not missing:
        return
    if not hasattr(os, "fork"):
        yield from ((key, _compile_named(kernel)) for key, kernel in missing.items())
        return
    _import_compiler()
    # The largest first, so that no child is left alone with a long kernel at the end.
    queue = deque(sorted(missing.items(), key=lambda item: -len(item[1].mlir)))
    with child_processes(jobs, _compile_named) as children:
        for child in children:
            child.start_next(queue, timeout)
        while busy := [child for child in children if child.key]:
            for child in ready(busy):
                yield child.key, child.receive()
                child.start_next(queue, timeout)


def _compile_named(kernel: KernelSource) -> CompiledKernel:
    try:
        return compile_kernel(kernel)
    except XyntraError as error:
        error.place = kernel.place
        raise
    except Exception as error:
        raise CompileError(
            "kernel-compile",
            "compiling a kernel failed unexpectedly",
            place=kernel.place,
            cause=f"{type(error).__name__}: {error}",
        ) from error


def _import_compiler() -> None:
    """Load before forking what every child needs."""
    from xyntra.passes.lower.cpu import pipeline  # noqa: F401
    from xyntra.targets.cpu import codegen

    compiler_context()
    codegen.target_key()
