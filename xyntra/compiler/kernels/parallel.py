# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles many kernels at once, each in a child process that may crash.

llvmlite holds a lock while LLVM works, so threads would not help. Children are forked from one
that loads the compiler while the model goes through the levels above.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing.connection import Connection

from xyntra.cache import DiskCache
from xyntra.compiler.kernels import kept_servers
from xyntra.compiler.kernels.child_processes import child_processes, ready, serve_kernels
from xyntra.compiler.kernels.kernel import (
    code_key,
    compile_kernel,
    kernel_key,
    load_cached,
    load_compiler,
    load_emitters,
)
from xyntra.compiler.worker.fork_server import ForkServer, can_fork
from xyntra.errors import CompileError, XyntraError
from xyntra.passes.tracebacks import innermost
from xyntra.spans import span
from xyntra.targets.kernel import CompiledKernel, KernelSource

_MORE_CODE = {"attention": 6500, "contraction": 7000, "conv": 7500}
"""Characters of text that take as long as what such kernels take besides, whatever they hold: code
for tiles. Of GPT-2's twelve kernels for GPUs, four children then compile the last in 0.6 s, not
0.75 s."""


Outcome = CompiledKernel | CompileError
"""A kernel's machine code, or why there is none."""


def _nothing() -> None: ...


@contextmanager
def compiler_server(architecture: str = "", *, keep: bool = False) -> Iterator[ForkServer | None]:
    """Start loading the compiler of kernels; None where this process cannot fork.

    Args:
        architecture: of the GPU to generate code for; "" for this processor.
        keep: whether a server may be one of an earlier model, and is kept for the next one.
    """
    if not can_fork():
        yield None
        return
    idle = kept_servers.idle() if keep else None

    def start() -> ForkServer:
        load = partial(load_compiler, architecture)
        return ForkServer.start(
            load, serve_kernel_sources, more=partial(load_emitters, architecture), idle=idle
        )

    server = kept_servers.take(architecture, start) if keep else start()
    try:
        yield server
    except BaseException:
        server.stop()  # with children that may be busy
        raise
    if keep:
        kept_servers.give_back(architecture, server)
    else:
        server.stop()


def compile_kernels(
    kernels: Sequence[KernelSource],
    *,
    jobs: int | None = None,
    timeout: float = 300.0,
    cache: DiskCache | None = None,
    server: ForkServer | None = None,
) -> list[CompiledKernel]:
    """Compile `kernels` as `compile_each` does; all of them, or none.

    Raises:
        WorkerError: a child crashed or took too long; names the kernel and its nodes.
        CompileError: a kernel cannot be compiled.
    """
    outcomes = compile_each(
        kernels, jobs=jobs, timeout=timeout, cache=cache, server=server, stop=True
    )
    compiled = []
    for outcome in outcomes:
        if isinstance(outcome, CompileError):
            raise outcome
        compiled.append(outcome)
    return compiled


def compile_each(
    kernels: Sequence[KernelSource],
    *,
    jobs: int | None = None,
    timeout: float = 300.0,
    cache: DiskCache | None = None,
    server: ForkServer | None = None,
    meanwhile: Callable[[], None] = _nothing,
    done: dict[str, CompiledKernel] | None = None,
    stop: bool = False,
) -> list[Outcome]:
    """Compile `kernels`, equal ones once; returns machine code, or why there is none, in order.

    Args:
        kernels: what to compile.
        jobs: child processes at most; as many as there are processors where not given.
        timeout: seconds for one kernel.
        cache: where machine code is looked up before lowering, and kept.
        server: of `compiler_server`; one of its own where not given.
        meanwhile: called once, while children compile.
        done: machine code by key; is asked first, and added to.
        stop: whether the first failure is raised at once.

    Raises:
        WorkerError: the process that starts the children died.
        CompileError: a kernel cannot be compiled, and `stop` is set.
    """
    keys = [kernel_key(kernel) for kernel in kernels]
    done = {} if done is None else done
    failed: dict[str, CompileError] = {}
    missing: dict[str, KernelSource] = {}
    for key, kernel in zip(keys, kernels, strict=True):
        if key in done or key in missing:
            continue
        cached = load_cached(cache, kernel)
        if cached is None:
            missing[key] = kernel
        else:
            done[key] = cached
    count = _job_count(jobs, len(missing))
    for key, outcome in _compile_missing(missing, count, timeout, server, meanwhile):
        if isinstance(outcome, CompileError):
            if stop:
                raise outcome
            failed[key] = outcome
            continue
        done[key] = outcome
        if cache is not None:
            cache.put(code_key(missing[key]), outcome.to_bytes())
    return [failed[key] if key in failed else done[key] for key in keys]


def _job_count(jobs: int | None, kernels: int) -> int:
    from xyntra.targets.host import allowed_processors

    return max(1, min(jobs or allowed_processors(), kernels))


def _compile_missing(
    missing: dict[str, KernelSource],
    jobs: int,
    timeout: float,
    server: ForkServer | None,
    meanwhile: Callable[[], None],
) -> Iterator[tuple[str, Outcome]]:
    if not missing:
        meanwhile()
        return
    # The longest first, so that no child is left alone with one of them at the end.
    queue = deque(sorted(missing.items(), key=lambda item: -_effort(item[1])))
    architecture = queue[0][1].architecture
    with nullcontext(server) if server else compiler_server(architecture) as used:
        if used is None:
            meanwhile()
            yield from ((key, _outcome(kernel)) for key, kernel in queue)
            return
        with child_processes(used, jobs) as children:
            for child in children:
                child.start_next(queue, timeout)
            meanwhile()
            while busy := [child for child in children if child.key]:
                for child in ready(busy):
                    answer = child.key, child.outcome()
                    child.start_next(queue, timeout)
                    yield answer


def _effort(kernel: KernelSource) -> int:
    """Return about how long a kernel takes to compile, in characters of its text."""
    return len(kernel.mlir) + _MORE_CODE.get(kernel.name.partition("_")[0], 0)


def _compile_named(kernel: KernelSource) -> CompiledKernel:
    try:
        with span(kernel.name, "kernel", place=kernel.place):
            return compile_kernel(kernel)
    except XyntraError as error:
        error.place = _more_exactly(kernel, error.place)
        raise
    except Exception as error:
        raise CompileError(
            "kernel-compile",
            "compiling a kernel failed unexpectedly",
            place=kernel.place,
            cause=f"{type(error).__name__}: {error} ({innermost(error)})",
        ) from error


def _more_exactly(kernel: KernelSource, place: str | None) -> str:
    """Return where a kernel comes from, and where in it something is, if `place` says so."""
    given = place or ""
    head, _, inside = given.partition("\n")
    if given.startswith(kernel.place):
        return given
    if not head.startswith("kernel "):
        inside = given
    return f"{kernel.place}\n{inside}" if inside else kernel.place


def _outcome(kernel: KernelSource) -> Outcome:
    try:
        return _compile_named(kernel)
    except CompileError as error:
        return error


def serve_kernel_sources(pipe: Connection) -> None:
    """Compile the kernels that come through `pipe`, until its other end is closed."""
    serve_kernels(pipe, _compile_named)
