# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles many kernels at once, each in a child process that may crash.

llvmlite holds a lock while LLVM works, so threads would not help. Children are forked from one
that loads the compiler while the model goes through the levels above.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing.connection import Connection

from xyntra.cache import DiskCache
from xyntra.compiler.fork_server import ForkServer, can_fork
from xyntra.compiler.kernels.child_processes import child_processes, ready, serve_kernels
from xyntra.compiler.kernels.kernel import (
    CompiledKernel,
    KernelSource,
    compile_kernel,
    kernel_key,
    load_cached,
    load_compiler,
)
from xyntra.errors import CompileError, XyntraError

_MORE_CODE = {"attention": 6500, "contraction": 7000, "conv": 7500}
"""Characters of text that take as long as what such kernels take besides, whatever they hold: code
for tiles. Of GPT-2's twelve kernels for GPUs, four children then compile the last in 0.6 s, not
0.75 s."""


def _nothing() -> None: ...


@contextmanager
def compiler_server(architecture: str = "") -> Iterator[ForkServer | None]:
    """Start loading the compiler of kernels; None where this process cannot fork.

    Args:
        architecture: of the GPU to generate code for; "" for this processor.
    """
    if not can_fork():
        yield None
        return
    server = ForkServer(partial(load_compiler, architecture), _serve)
    try:
        yield server
    finally:
        server.stop()


def compile_kernels(
    kernels: Sequence[KernelSource],
    *,
    jobs: int | None = None,
    timeout: float = 300.0,
    cache: DiskCache | None = None,
    server: ForkServer | None = None,
    meanwhile: Callable[[], None] = _nothing,
) -> list[CompiledKernel]:
    """Compile `kernels`, equal ones once, and return their machine code in order.

    Args:
        kernels: what to compile.
        jobs: child processes at most; as many as there are processors where not given.
        timeout: seconds for one kernel.
        cache: where machine code is looked up before lowering, and kept.
        server: of `compiler_server`; one of its own where not given.
        meanwhile: called once, while children compile.

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
    count = _job_count(jobs, len(missing))
    for key, compiled in _compile_missing(missing, count, timeout, server, meanwhile):
        done[key] = compiled
        if cache is not None:
            cache.put(key, compiled.to_bytes())
    return [done[key] for key in keys]


def _job_count(jobs: int | None, kernels: int) -> int:
    from xyntra.targets.cpu.device import allowed_processors

    return max(1, min(jobs or allowed_processors(), kernels))


def _compile_missing(
    missing: dict[str, KernelSource],
    jobs: int,
    timeout: float,
    server: ForkServer | None,
    meanwhile: Callable[[], None],
) -> Iterator[tuple[str, CompiledKernel]]:
    if not missing:
        meanwhile()
        return
    # The longest first, so that no child is left alone with one of them at the end.
    queue = deque(sorted(missing.items(), key=lambda item: -_effort(item[1])))
    architecture = queue[0][1].architecture
    with nullcontext(server) if server else compiler_server(architecture) as used:
        if used is None:
            meanwhile()
            yield from ((key, _compile_named(kernel)) for key, kernel in queue)
            return
        with child_processes(used, jobs) as children:
            for child in children:
                child.start_next(queue, timeout)
            meanwhile()
            while busy := [child for child in children if child.key]:
                for child in ready(busy):
                    answer = child.key, child.receive()
                    child.start_next(queue, timeout)
                    yield answer


def _effort(kernel: KernelSource) -> int:
    """Return about how long a kernel takes to compile, in characters of its text."""
    return len(kernel.mlir) + _MORE_CODE.get(kernel.name.partition("_")[0], 0)


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


def _serve(pipe: Connection) -> None:
    serve_kernels(pipe, _compile_named)
