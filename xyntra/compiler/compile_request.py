# SPDX-License-Identifier: MIT OR Apache-2.0
"""Answers a request: starts what forks compilers, then takes the model down the levels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext

from xyntra.compiler.kernels.parallel import compiler_server
from xyntra.compiler.model_import import ModelImport
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.compiler.worker.request import CANDIDATES, COMPILED, SPACES, Request
from xyntra.passes.collector import collector_paused


def compile_request(
    request: Request,
    *,
    server: ForkServer | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> bytes:
    """The artifact of a request, or the text of the level at which it stops.

    Args:
        request: what to compile.
        server: forks the processes that compile kernels; one of this process's where not given.
        meanwhile: called while children compile the kernels.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    if request.level == SPACES:
        from xyntra.compiler.tuning.spaces import list_spaces

        return list_spaces(request)
    if request.level not in COMPILED:
        from xyntra.compiler.levels import emit_text

        return emit_text(request)
    servers = nullcontext(server) if server else compiler_server(request.architecture, keep=True)
    with servers as compiler, ExitStack() as until_loaded:
        until_loaded.enter_context(collector_paused())
        from xyntra.compiler.levels import make_artifact  # loads the passes meanwhile

        def rest() -> None:
            meanwhile()
            until_loaded.close()

        if request.ranges:
            from xyntra.compiler.free.artifact import make_free_artifact

            return make_free_artifact(request, compiler, rest)
        if request.level == CANDIDATES:
            from xyntra.compiler.tuning.candidates import compile_candidates

            return compile_candidates(request, compiler)
        return make_artifact(request, ModelImport(request), compiler, rest)
