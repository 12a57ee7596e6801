# SPDX-License-Identifier: MIT OR Apache-2.0
"""Answers a request: starts the processes that help, then takes the model down the levels."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack

from xyntra.compiler.kernels.parallel import compiler_server
from xyntra.compiler.model_import import started_import
from xyntra.compiler.worker.answers import MEMORY_VARIABLE
from xyntra.compiler.worker.request import Request
from xyntra.passes.collector import collector_paused


def compile_request(
    request: Request, *, apart: bool = False, meanwhile: Callable[[], None] = lambda: None
) -> bytes:
    """The artifact of a request, or the text of the level at which it stops.

    Args:
        request: what to compile.
        apart: whether a child process may import the model; if it crashes, so does this process.
        meanwhile: called while children compile the kernels.

    Raises:
        XyntraError: the model is wrong or cannot be compiled.
    """
    if request.level != "artifact":
        from xyntra.compiler.levels import emit_text

        return emit_text(request)
    server = compiler_server(request.architecture, keep=MEMORY_VARIABLE not in os.environ)
    with (
        started_import(request, apart=apart) as model,
        server as compiler,
        ExitStack() as until_loaded,
    ):
        until_loaded.enter_context(collector_paused())
        from xyntra.compiler.levels import make_artifact  # loads the passes meanwhile

        def rest() -> None:
            meanwhile()
            until_loaded.close()

        return make_artifact(request, model, compiler, rest)
