# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads files of TorchScript through a confined process, so that what they hold stays there."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.pytorch.traces import Trace, TraceCache
from xyntra.compiler.worker.answers import is_answer, result
from xyntra.config import Config
from xyntra.errors import InputError, MissingExtraError, ModelError, XyntraError
from xyntra.frontends.torch.program import AtenProgram
from xyntra.frontends.torch.script.archive import check_archive
from xyntra.frontends.weight_types import dtype_of
from xyntra.plan.storage.files import open_regular

if TYPE_CHECKING:
    from xyntra.compiler.pytorch.programs import TracedProgram

__all__ = ["Example", "ensure_torch", "read_torchscript", "torch_source"]

_START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from xyntra.compiler.pytorch.reader import main; main()"
)
_MEMORY = 16 << 30
"""Bytes of address space that reading a small file may take; PyTorch itself takes several."""
_TIMES_FILE = 8
_MOST_ANSWER = 1 << 30
_TAIL = 1000


@dataclass(frozen=True)
class Example:
    """The type of an example input.

    Attributes:
        shape: its shape.
        dtype: PyTorch's name of its element type.
    """

    shape: tuple[int, ...]
    dtype: str


def read_torchscript(
    path: str | os.PathLike[str],
    inputs: Mapping[str, Any] | Sequence[Any] | None,
    config: Config,
) -> TracedProgram:
    """Return the program of a file of TorchScript.

    Args:
        path: the file.
        inputs: example tensors, arrays or shapes (of float32), in order or by name; None for those
            that the module was traced with.
        config: for limits of time and memory.

    Raises:
        ModelError: the file cannot be read, or is no archive of TorchScript.
        InputError: `inputs` is missing, or not what the module takes.
        UnsupportedError: the module has something that is not supported.
    """
    from xyntra.compiler.pytorch.programs import CallLayout, TracedProgram

    fields, program, weights = _read(Path(path), inputs, config)
    layout = CallLayout(
        _unpacked(fields["arguments"]),
        tuple(fields["held"]),
        _unpacked(fields["result"]),
        tuple(tuple(each) if isinstance(each, list) else each for each in fields["leaves"]),
        tuple(fields["names"]),
    )
    return TracedProgram(program, weights, layout)


def ensure_torch(model: Any) -> None:
    """Refuse a model of PyTorch where PyTorch is not installed; files are looked at before.

    Raises:
        MissingExtraError: PyTorch is not installed.
        ModelError: the file is no archive of TorchScript.
    """
    if find_spec("torch") is not None:
        return
    error: XyntraError = MissingExtraError.for_extra("torch", "PyTorch", purpose="the model")
    if isinstance(model, str | os.PathLike):
        error.place = os.fspath(model)
        if not error.place.lower().endswith(".pt2"):
            with _opened(Path(model)):
                pass
    raise error


def torch_source(
    path: str | os.PathLike[str], inputs: Mapping[str, Any] | None, config: Config
) -> ModelSource:
    """Return a file of TorchScript, or of an exported program, as a model to compile.

    Args:
        path: the file.
        inputs: as `read_torchscript`; an exported program has its own.
        config: as `read_torchscript`.

    Raises:
        XyntraError: as `read_torchscript`.
    """
    ensure_torch(path)
    if os.fspath(path).lower().endswith(".pt2"):
        return _exported(path, inputs)
    _, program, weights = _read(Path(path), inputs, config)
    return ModelSource("torch", program.to_bytes(), Path(path), {}, None, arrays=weights)


def _exported(path: str | os.PathLike[str], inputs: Mapping[str, Any] | None) -> ModelSource:
    from xyntra.compiler.pytorch.programs import exported_program  # loads torch
    from xyntra.frontends.torch.exporting import load_program

    if inputs is not None:
        raise InputError(
            "torch-input",
            "an exported program has the shapes that it was exported for",
            place=str(path),
            hint="leave out --shape",
        )
    traced = exported_program(load_program(path))
    return ModelSource(
        "torch", traced.program.to_bytes(), Path(path), {}, None, arrays=traced.weights
    )


def _read(
    path: Path, inputs: Mapping[str, Any] | Sequence[Any] | None, config: Config
) -> tuple[dict[str, Any], AtenProgram, dict[str, np.ndarray[Any, Any]]]:
    with _opened(path) as file:
        packed = _packed_inputs(inputs)
        kept = TraceCache(file, packed, config)
        trace = kept.get()
        if trace is None:
            trace = _trace(file, packed, config)
            kept.put(trace)
    program = AtenProgram.from_bytes(trace.fields["program"].encode())
    return trace.fields, program, _weights(trace)


def _trace(file: BinaryIO, inputs: Any, config: Config) -> Trace:
    """Return what a process of its own reads from a file."""
    with tempfile.TemporaryFile() as store:
        size = os.fstat(file.fileno()).st_size
        request = {
            "parent": os.getpid(),
            "file": file.fileno(),
            "weights": store.fileno(),
            "inputs": inputs,
            "memory": config.memory_limit or _MEMORY + _TIMES_FILE * size,
            "seconds": config.compile_timeout,
        }
        fields = json.loads(_asked(request, config.compile_timeout))
        return Trace(fields, memoryview(mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open an archive of TorchScript, and name it in what is raised about it."""
    try:
        with open_regular(path) as file:
            check_archive(file)
            yield file
    except OSError as error:
        raise ModelError(
            "model-missing", "the file cannot be read", place=str(path), cause=error.strerror
        ) from None
    except XyntraError as error:
        error.place = f"{path}, {error.place}" if error.place else str(path)
        raise


def _asked(request: dict[str, Any], timeout: float) -> bytes:
    """Return what the process that reads the file answers to a request.

    Raises:
        XyntraError: what it raised, or that it crashed or took too long.
    """
    command = [sys.executable, "-P", "-c", _START, *filter(None, sys.path)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as messages:
        files = (request["file"], request["weights"], answers.fileno())
        try:
            status = subprocess.run(
                command,
                input=json.dumps({**request, "answer": answers.fileno()}).encode(),
                stdout=messages,
                stderr=messages,
                env=environment,
                start_new_session=True,
                pass_fds=files,
                timeout=timeout,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise ModelError(
                "model-slow",
                f"reading the file took more than {timeout:g} seconds and was ended",
                hint="raise compile_timeout",
            ) from None
        answered = _content(answers, 0)
        if status == 0 and is_answer(answered):
            return result(answered)
        tail = _content(messages, -_TAIL).decode("utf-8", "replace").strip()
    raise ModelError(
        "model-crashes",
        "the process that reads the file crashed: the file is damaged or too large, or this is a"
        " defect of PyTorch's reader",
        cause=f"exit status {status}\n{tail}".strip(),
        hint="save the module again, or raise memory_limit",
    )


def _content(file: IO[bytes], start: int) -> bytes:
    """Return the end of a file that another process has written; at most as much as an answer."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end + start) if start < 0 else start)
    return file.read(_MOST_ANSWER)


def _weights(trace: Trace) -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights of a trace where they lie."""
    memory = np.frombuffer(trace.weights, np.uint8)
    weights = {}
    for name, dtype, shape, start in trace.fields["weights"]:
        kind = dtype_of(dtype)
        count = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        weights[name] = memory[start : start + count].view(kind).reshape(shape)
    return weights


def _packed_inputs(inputs: Any) -> Any:
    """Return example inputs as JSON: the types of tensors, and other values as they are."""
    if inputs is None or isinstance(inputs, Mapping):
        return inputs if inputs is None else {"dict": _pairs(inputs)}
    if not isinstance(inputs, (list, tuple)):
        raise InputError("torch-input", f"inputs= cannot be a {type(inputs).__name__}")
    return [_packed(each) for each in inputs]


def _pairs(values: Mapping[Any, Any]) -> list[list[Any]]:
    return [[key, _packed(each)] for key, each in values.items()]


def _packed(value: Any) -> Any:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return {"tensor": [str(value.dtype).removeprefix("torch."), list(value.shape)]}
    if isinstance(value, (tuple, list)):
        if value and all(type(each) is int for each in value):
            return {"tensor": ["float32", list(value)]}
        packed = [_packed(each) for each in value]
        return packed if isinstance(value, list) else {"tuple": packed}
    if isinstance(value, Mapping):
        return {"dict": _pairs(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError("torch-input", f"an input cannot be a {type(value).__name__}")


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(_unpacked(each) for each in value["tuple"])
        return {key: _unpacked(each) for key, each in value["dict"]}
    return value
