# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the model of a request into a module: in this process, or in a child of it.

Loading what reads ONNX and loading the passes take about equally long, so a process that has
nothing loaded yet is done sooner when a child does the first while it does the second.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NoReturn, Protocol

from xyntra.compiler.worker.answers import answer, result, succeeded
from xyntra.compiler.worker.fork_server import can_fork, forked
from xyntra.compiler.worker.orphans import end_with_parent
from xyntra.compiler.worker.request import Request
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import InputError

__all__ = ["ModelImport", "import_module", "started_import"]


class ModelImport(Protocol):
    """A model on its way to a module."""

    def module(self) -> ir.Module:
        """As `import_module`; waits for it."""

    def op_types(self) -> dict[str, str]:
        """Return the operator of each of the model's nodes by name, where known; after `module`."""


def import_module(request: Request) -> ir.Module:
    """Return the model of `request` as linalg on tensors, in the current context.

    Raises:
        XyntraError: the model is wrong or has something that is not supported.
    """
    if request.kind == "onnx":
        from xyntra.frontends.onnx.importer import import_model

        return import_model(
            request.model,
            request.shapes,
            context=ir.Context.current,
            max_tensor_bytes=request.max_tensor_bytes,
            dims=request.dims,
            constants=request.constants,
        )
    if request.kind == "torch":
        from xyntra.frontends.torch.importer import import_program

        return import_program(
            request.model,
            context=ir.Context.current,
            max_tensor_bytes=request.max_tensor_bytes,
        )
    if request.dims:
        raise InputError(
            "unknown-dimension",
            f"the model has no dimension '{next(iter(request.dims))}'",
            cause="MLIR has static shapes: no dimension is free",
        )
    if request.constants:
        raise InputError(
            "unknown-input",
            f"'{next(iter(request.constants))}' cannot be bound",
            cause="values of inputs are bound in ONNX models",
            hint="put the value into the MLIR as an arith.constant",
        )
    from xyntra.frontends.mlir_text import parse_mlir

    return parse_mlir(request.model, ir.Context.current, request.shapes)


@contextmanager
def started_import(request: Request, *, apart: bool) -> Iterator[ModelImport]:
    """Begin to import the model of `request`.

    Args:
        apart: whether a child may do it. If the child crashes, so does this process.
    """
    if not apart or request.kind == "mlir" or not can_fork():
        yield _ImportHere(request)
        return
    child = _ImportApart(request)
    try:
        yield child
    finally:
        child.stop()


class _ImportHere:
    def __init__(self, request: Request) -> None:
        self._request = request

    def module(self) -> ir.Module:
        return import_module(self._request)

    def op_types(self) -> dict[str, str]:
        if self._request.kind == "torch":
            from xyntra.frontends.torch.program import call_operators

            return call_operators(self._request.model)
        if self._request.kind != "onnx":
            return {}
        from xyntra.compiler.node_types import onnx_op_types

        return onnx_op_types(self._request.model)


class _ImportApart:
    def __init__(self, request: Request) -> None:
        self._answers, theirs = multiprocessing.Pipe(duplex=False)
        self._process = forked(_serve, request, theirs)
        theirs.close()
        self._op_types: dict[str, str] | None = None

    def module(self) -> ir.Module:
        return ir.Module.parse(self._next())

    def op_types(self) -> dict[str, str]:
        # Sent once, but asked for again where a kernel has failed and the module has changed.
        if self._op_types is None:
            self._op_types = json.loads(self._next())
        return self._op_types

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._answers.close()

    def _next(self) -> bytes:
        try:
            data = self._answers.recv_bytes()
        except EOFError:
            self._end_alike()
        return result(data)

    def _end_alike(self) -> NoReturn:
        """End as the child did, so that our caller sees how; both write to the same messages."""
        self._process.join()
        status = self._process.exitcode
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status or 1)


def _serve(request: Request, answers: Connection) -> None:
    """Send the module of `request` as bytecode, then the operators of its nodes."""
    end_with_parent()
    with make_context(), ir.Location.unknown():
        model = _ImportHere(request)
        module = answer(lambda: _bytecode(model.module()))
        answers.send_bytes(module)
        if succeeded(module):
            answers.send_bytes(answer(lambda: json.dumps(model.op_types()).encode()))
    os._exit(0)  # tearing MLIR down takes time and serves nobody


def _bytecode(module: ir.Module) -> bytes:
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    return data.getvalue()
