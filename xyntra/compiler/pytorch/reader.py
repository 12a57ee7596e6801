# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a file of TorchScript in a process of its own, and answers with its program.

The file is read by PyTorch's own reader in C++, which runs no Python, but may crash on damaged
files. The process is confined before it loads PyTorch; the answer is plain data, and weights go
into a file that the caller has opened.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from functools import partial
from typing import Any

from xyntra.compiler.worker.answers import answer
from xyntra.compiler.worker.confinement import confine, limit
from xyntra.compiler.worker.orphans import end_with_parent
from xyntra.errors import InputError, ModelError

__all__ = ["ALIGNMENT", "main"]

ALIGNMENT = 64
"""Bytes at a multiple of which each weight begins."""


def main() -> None:
    """Answer one request, which comes through standard input."""
    fields = json.load(sys.stdin.buffer)
    end_with_parent(fields["parent"])
    tempfile.tempdir = tempfile.gettempdir()  # a library that asks would look for one to write to
    gc.disable()  # tracing makes many objects, and hardly any garbage
    confine()
    limit(fields["memory"], fields["seconds"])
    _write(fields["answer"], memoryview(answer(partial(_read, fields))), 0)
    os._exit(0)


def _read(fields: dict[str, Any]) -> bytes:
    import warnings

    import numpy as np
    import torch

    from xyntra.compiler.pytorch.programs import script_program

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    try:
        script = torch._C.import_ir_module(
            torch._C.CompilationUnit(),
            f"/dev/fd/{fields['file']}",
            torch.device("cpu"),
            {},
            True,  # with the inputs that it was traced with
        )
    except Exception as error:  # of many kinds: the reader is C++
        raise ModelError(
            "model-not-torchscript",
            "PyTorch cannot read the file",
            cause=str(error).partition("\n")[0],
            hint="torch.jit.load(path) says more, if you trust the file",
        ) from error
    try:
        traced = script_program(script, _examples(fields["inputs"]))
    except RecursionError:
        raise ModelError("model-nested", "the module is nested too deeply") from None
    weights, end = [], 0
    for name, array in traced.weights.items():
        weights.append([name, array.dtype.name, list(array.shape), end])
        _write(fields["weights"], array.reshape(-1).view(np.uint8).data, end)
        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    os.ftruncate(fields["weights"], max(end, 1))
    layout = traced.layout
    return json.dumps(
        {
            "program": traced.program.to_bytes().decode(),
            "weights": weights,
            "arguments": _packed(layout.arguments),
            "held": layout.held,
            "result": _packed(layout.result),
            "leaves": layout.leaves,
            "names": layout.names,
        }
    ).encode()


def _write(file: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(file, data[: 1 << 30], offset)
        data, offset = data[count:], offset + count


def _examples(value: Any) -> Any:
    """Return inputs that `torch_files` has packed: tensors of zeros for their types."""
    import torch

    if isinstance(value, list):
        return [_examples(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        dtype, shape = value["tensor"]
        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise InputError("torch-input", f"PyTorch has no tensors of {dtype}")
        return torch.zeros(shape, dtype=kind)
    if "tuple" in value:
        return tuple(_examples(each) for each in value["tuple"])
    return {key: _examples(each) for key, each in value["dict"]}


def _packed(value: Any) -> Any:
    """Return a structure of numbers as JSON that keeps tuples apart from lists."""
    if isinstance(value, tuple):
        return {"tuple": [_packed(each) for each in value]}
    if isinstance(value, list):
        return [_packed(each) for each in value]
    if isinstance(value, dict):
        return {"dict": [[key, _packed(each)] for key, each in value.items()]}
    return value
