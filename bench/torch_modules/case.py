# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles one module by Xyntra and by torch.compile, compares the results, and times calls."""

from __future__ import annotations

import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.torch_modules.networks import network
from verify.architectures.building import build
from verify.architectures.libraries import import_libraries

__all__ = ["make"]

Row = dict[str, Any]
_BOUND = {"f32": 1e-4, "f16": 1e-2}
"""How far a result may be from float64, in terms of its largest element."""
_FAR = 5
"""How much further than eager PyTorch, where that itself is beyond the bound."""
_CALLS, _ROUNDS = 20, 9


def make(job: Mapping[str, Any]) -> Callable[[str], Row]:
    """Return what answers "prepare", "peer" and then "measure" for one module, in its own process.

    Args:
        job: "name" of the network, "dtype" f32 or f16, "device"; "form" module, torchscript, or
            there for a module that lies on the device; "threads" of PyTorch; whether there are
            "peers".
    """
    case = _Case(job)
    answers = {"prepare": case.prepare, "peer": case.peer, "measure": case.measure}
    return lambda message: answers[message]()


class _Case:
    def __init__(self, job: Mapping[str, Any]) -> None:
        architecture = network(job["name"])
        import_libraries(("torch", architecture.library))
        import torch

        torch.set_num_threads(job["threads"])
        torch.backends.cudnn.allow_tf32 = False
        self.job, self.on_gpu = job, job["device"].startswith("cuda")
        built = build(architecture)
        kind = torch.float16 if job["dtype"] == "f16" else torch.float32
        self.module, self.inputs = built.module.to(kind), [*built.inputs.values()]
        self.inputs = [x.to(kind) if x.is_floating_point() else x for x in self.inputs]
        self.given = [each.to(job["device"]) for each in self.inputs]
        self.there = copy.deepcopy(self.module).to(job["device"])
        self.calls: dict[str, Any] = {"eager": self.there}
        self.plain: Any = None
        self.executable: Any = None

    def prepare(self) -> Row:
        """Return the seconds to first results, and how far these are from float64."""
        import torch

        row: Row = {}
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            settings = {"target": self.job["device"], "config": {"cache_dir": folder}}
            source = self._source(Path(folder))
            for key in ("first_s", "again_s"):
                self.executable, found, row[key] = self._first(lambda: self._ours(source, settings))
            row |= self._judged(found)
        self.calls["xyntra"] = self.executable
        return row

    def peer(self) -> Row:
        """Return the seconds to torch.compile's first results."""
        import torch

        if not self.job["peers"] or self.job["form"] != "module":
            return {}
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            return self._peer(folder)

    def measure(self) -> Row:
        """Return the microseconds of calls one by one, and on a GPU those of launches alone."""
        import torch

        row: Row = {}
        with torch.no_grad():
            row |= {f"{name}_us": self._microseconds(call) for name, call in self.calls.items()}
            if self.on_gpu and self.executable is not None:
                row |= self._graphs()
        return row

    def _source(self, folder: Path) -> Any:
        import torch

        if self.job["form"] != "torchscript":
            return self.there if self.job["form"] == "there" else self.module
        path = folder / "model.pt"
        torch.jit.save(torch.jit.trace(self.module, tuple(self.inputs), check_trace=False), path)
        return str(path)

    def _ours(self, source: Any, settings: Mapping[str, Any]) -> Any:
        import xyntra

        inputs = self.given if self.job["form"] == "there" else self.inputs
        return xyntra.compile(source, inputs=tuple(inputs), **settings)

    def _peer(self, folder: str) -> Row:
        """Let torch.compile make its kernels, without what an earlier program has left of them."""
        import os

        import torch

        row: Row = {}
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        mode = {"mode": "reduce-overhead"} if self.on_gpu else {}
        try:
            for key in ("torch_first_s", "torch_again_s"):
                torch._dynamo.reset()
                compiled, _, row[key] = self._first(lambda: torch.compile(self.there, **mode))
            self.calls["torch.compile"] = compiled
            if self.on_gpu:
                self.plain = torch.compile(self.there)  # for a graph of our own around it
                self.plain(*self.given)
        except Exception as error:  # of any kind: it is a peer's
            row["torch_failed"] = f"{type(error).__name__}: {error}"[:300]
        return row

    def _first(self, compiled: Callable[[], Any]) -> tuple[Any, Sequence[Any], float]:
        """Return what is compiled, its first result, and the seconds until that is there."""
        self._wait()
        start = time.perf_counter()
        call = compiled()
        found = call(*self.given)
        self._wait()
        return call, found, round(time.perf_counter() - start, 3)

    def _judged(self, found: Sequence[Any]) -> Row:
        """Compare results with those in float64 on the same device."""
        errors = self._errors(found)
        right = errors["error"] <= max(_BOUND[self.job["dtype"]], _FAR * errors["eager_error"])
        devices = {str(each.device.type) for each in found}
        right = right and devices == {self.job["device"].partition(":")[0]}
        kernels = len(self.executable.kernels)
        return {"status": "right" if right else "wrong", **errors, "kernels": kernels}

    def _errors(self, found: Sequence[Any]) -> Row:
        eager = self.there(*self.given)
        try:
            exact = self._exact()
        except RuntimeError:  # a dtype is written into the module: eager PyTorch is what there is
            return {"error": _apart(found, eager), "eager_error": 0.0, "beside": "eager"}
        return {"error": _apart(found, exact), "eager_error": _apart(eager, exact)}

    def _exact(self) -> Sequence[Any]:
        module = copy.deepcopy(self.there).double()
        given = [each.double() if each.is_floating_point() else each for each in self.given]
        results: Sequence[Any] = module(*given)
        if any(each.is_floating_point() and each.itemsize != 8 for each in results):
            raise RuntimeError("the module computes in another dtype")
        return results

    def _microseconds(self, call: Any) -> float:
        if self.on_gpu:
            from bench.cuda.timing import microseconds_of_calls

            for _ in range(5):  # torch.compile records its graphs in the first ones
                call(*self.given)
            return microseconds_of_calls(lambda: call(*self.given), _CALLS, _ROUNDS)
        taken = []
        for _ in range(_ROUNDS + 2):
            start = time.perf_counter()
            call(*self.given)
            taken.append(1e6 * (time.perf_counter() - start))
        return statistics.median(taken[2:])

    def _graphs(self) -> Row:
        """Return the microseconds of launches in CUDA graphs: ours, and torch.compile's."""
        from bench.cuda.timing import captured, launches_of, take_turns

        outputs = [each.clone() for each in self.executable(*self.given)]
        works = {"xyntra": launches_of(self.executable, self.given, outputs)}
        if self.plain is not None:
            works["torch.compile"] = lambda: self.plain(*self.given)
        graphs = {name: captured(work, 5) for name, work in works.items()}
        times = take_turns(graphs, 5, _ROUNDS)
        return {f"{name}_graph_us": time for name, time in times.items()}

    def _wait(self) -> None:
        import torch

        if self.on_gpu:
            torch.cuda.synchronize()


def _apart(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest difference, in terms of the largest element of its output."""
    from verify.torch_modules.checking import apart

    pairs = list(zip(found, wanted, strict=True))
    return max(apart(a.to(b.dtype), b) for a, b in pairs)
