# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever can run a model, each in a process of its own: what is timed side by side.

`make_runner` is called in that process (see `child_process`) with a job: `runner` names one of
`RUNNERS`, `threads` says how many threads it may use; the other keys are the runner's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from xyntra.compiler.worker.orphans import end_with_parent

__all__ = ["RUNNERS", "Bind", "Outputs", "Time", "make_runner"]

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outputs:
    """Asks for the outputs for some inputs: a list of arrays."""

    inputs: Arrays


@dataclass(frozen=True)
class Bind:
    """Says what later calls compute with."""

    inputs: Arrays


@dataclass(frozen=True)
class Time:
    """Asks for the seconds of single calls, after one that is not counted.

    Attributes:
        seconds: call again and again for this long.
        least: but at least so often.
    """

    seconds: float
    least: int


class Runner(Protocol):
    """A loaded model."""

    def outputs(self, inputs: Arrays) -> list[np.ndarray]: ...

    def bind(self, inputs: Arrays) -> Callable[[], object]:
        """A function that computes the outputs for `inputs` at every call."""


def make_runner(job: Mapping[str, Any]) -> Callable[[Outputs | Bind | Time], Any]:
    """Load what `job` names and return what answers messages."""
    end_with_parent()
    runner = RUNNERS[job["runner"]](job)
    call: Callable[[], object] | None = None

    def answer(message: Outputs | Bind | Time) -> Any:
        nonlocal call
        if isinstance(message, Outputs):
            return runner.outputs(message.inputs)
        if isinstance(message, Bind):
            call = runner.bind(message.inputs)
            return None
        if call is None:
            raise ValueError("nothing is bound")
        return _time(call, message.seconds, message.least)

    return answer


def _time(call: Callable[[], object], seconds: float, least: int) -> list[float]:
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


class _Xyntra:
    """Job: `path`, `shapes`, `config`; `preallocated`: results go into arrays made before."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        import xyntra

        config = {**job["config"], "threads": job["threads"]}
        self._exe = xyntra.compile(job["path"], inputs=job["shapes"] or None, config=config)
        self._preallocated = job["preallocated"]

    def outputs(self, inputs: Arrays) -> list[np.ndarray]:
        found = self._exe.run(inputs)
        return [found[port.name] for port in self._exe.outputs]

    def bind(self, inputs: Arrays) -> Callable[[], object]:
        exe = self._exe
        if not self._preallocated:
            return lambda: exe.run(inputs)
        out = self.outputs(inputs)
        arrays = [inputs[port.name] for port in exe.inputs]
        return lambda: exe(*arrays, out=out)


class _Onnxruntime:
    """Job: `path`; `preallocated`, as above."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = job["threads"]
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(job["path"], options, providers=providers)
        self._preallocated = job["preallocated"]

    def outputs(self, inputs: Arrays) -> list[np.ndarray]:
        found: list[np.ndarray] = self._session.run(None, dict(inputs))
        return found

    def bind(self, inputs: Arrays) -> Callable[[], object]:
        session, given = self._session, dict(inputs)
        if not self._preallocated:
            return lambda: session.run(None, given)
        from onnxruntime import OrtValue

        binding = session.io_binding()
        for name, array in given.items():
            binding.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(array))
        for port, array in zip(session.get_outputs(), self.outputs(inputs), strict=True):
            binding.bind_ortvalue_output(port.name, OrtValue.ortvalue_from_numpy(array))
        return lambda: session.run_with_iobinding(binding)


class _Torch:
    """Job: `model`, the name of a benchmark model; `compiled`: whether torch compiles it."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        import torch

        from bench.models.torch_module import torch_model

        torch.set_num_threads(job["threads"])
        module, _ = torch_model(job["model"])
        module.eval()
        self._run = torch.compile(module) if job["compiled"] else module
        self._mode = torch.inference_mode
        self._tensor = torch.from_numpy

    def outputs(self, inputs: Arrays) -> list[np.ndarray]:
        found = self.bind(inputs)()
        tensors = found if isinstance(found, (list, tuple)) else [found]
        return [np.ascontiguousarray(tensor.numpy()) for tensor in tensors]

    def bind(self, inputs: Arrays) -> Callable[[], Any]:
        tensors = [self._tensor(array) for array in inputs.values()]
        run, mode = self._run, self._mode

        def call() -> Any:
            with mode():
                return run(*tensors)

        return call


class _Layer(_Torch):
    """Job: `row` of `bench.sweep` for the CPU."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        import torch

        torch.set_num_threads(job["threads"])
        self._run, _, _ = job["row"].build()
        self._mode = torch.inference_mode
        self._tensor = torch.from_numpy


RUNNERS: Mapping[str, Callable[[Mapping[str, Any]], Runner]] = {
    "xyntra": _Xyntra,
    "onnxruntime": _Onnxruntime,
    "torch": _Torch,
    "layer": _Layer,
}
