# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepares decode steps: ours, PyTorch's, torch.compile's with a static cache, onnxruntime's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

import xyntra
from bench.decode.onnx_model import aliases_of, decoder_model
from bench.decode.size import Decoder
from bench.decode.torch_module import StaticCacheDecoder

__all__ = ["Case", "Entrant", "entrants"]

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes:
        decoder: its sizes.
        batch: sequences.
        room: positions that the caches hold at most.
        device: "cpu" or "cuda".
    """

    decoder: Decoder
    batch: int
    room: int
    device: str


@dataclass(frozen=True)
class Entrant:
    """A way to run a step, whatever the number of positions in the caches is.

    Attributes:
        step: runs it; on a GPU it need not have finished on return.
        result: runs it, and returns what it computes.
        seek: says how many positions there are from now on, with the new one.
        facts: what is to be told beside its time.
        launches: our launches of a step on a GPU, in order; none for others.
    """

    step: Step
    result: Callable[[], Array]
    seek: Callable[[int], None]
    facts: dict[str, Any]
    launches: Sequence[Any] = ()


def entrants(case: Case, weights: Mapping[str, Array], wanted: set[str]) -> dict[str, Any]:
    """Return entrants by name; for one that cannot run here, the reason as a text."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((case.batch, 1, case.decoder.hidden), np.float32)
    x = x.astype(case.decoder.dtype)
    makers: dict[str, Callable[[], Entrant]] = {
        "xyntra": lambda: _ours(case, weights, x),
        "torch": lambda: _eager(case, weights, x),
        "torch.compile": lambda: _compiled(case, weights, x),
        "onnxruntime": lambda: _onnxruntime(case, weights, x),
    }
    found: dict[str, Any] = {}
    for name, make in makers.items():
        if name in wanted:
            try:
                found[name] = make()
            except Exception as error:  # a peer may not be there, or not take the model
                if name == "xyntra":
                    raise
                found[name] = f"{type(error).__name__}: {error}"[:400]
    return found


def _filled(shape: tuple[int, ...], dtype: str, number: int) -> Array:
    """A cache that holds something, the same for every entrant."""
    draw = np.random.default_rng(100 + number)
    return (draw.standard_normal(shape, np.float32) * 0.5).astype(dtype)


def _caches(case: Case) -> dict[str, Array]:
    decoder = case.decoder
    shape = (case.batch, decoder.groups, case.room, decoder.size)
    names = aliases_of(decoder).values()
    return {name: _filled(shape, decoder.dtype, n) for n, name in enumerate(names)}


def _ours(case: Case, weights: Mapping[str, Array], x: Array) -> Entrant:
    model = decoder_model(case.decoder, weights, case.batch, case.room)
    aliases = aliases_of(case.decoder)
    with _saved(model) as path:
        exe = xyntra.compile(path, target=case.device, aliases=aliases)
    place = torch.device(case.device)
    arrays = [x, np.zeros(case.batch, np.int32), *_caches(case).values()]
    given: list[Any] = [torch.from_numpy(each).to(place) for each in arrays]
    last = given[1]
    y = torch.empty(exe.outputs[0].shape, dtype=given[0].dtype, device=place)
    if case.device == "cpu":
        given = arrays
    out = [y.numpy() if case.device == "cpu" else y, *[None] * len(aliases)]

    def result() -> Array:
        exe(*given, out=out)
        return np.array(y.cpu())

    facts = {
        "kernels": len(exe.kernels),
        "caches": len(exe.plan.aliases),
        "copied caches": sum(bool(port.copied) for port in exe.outputs),
    }
    launches: Sequence[Any] = ()
    if case.device == "cuda":
        launches = exe.launches([each.data_ptr() for each in (*given, y)])
        facts |= {"launches": len(launches)}
    return Entrant(lambda: exe(*given, out=out), result, _seeks(last), facts, launches)


@contextmanager
def _saved(model: onnx.ModelProto) -> Iterator[str]:
    """Write a model beside its weights, which may have more bytes than protobuf allows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decoder.onnx"
        onnx.save(model, path, save_as_external_data=True, location="weights")
        yield str(path)


def _seeks(last: torch.Tensor) -> Callable[[int], None]:
    def seek(length: int) -> None:
        last.fill_(length - 1)

    return seek


def _module(
    case: Case, weights: Mapping[str, Array], x: Array
) -> tuple[StaticCacheDecoder, torch.Tensor, torch.Tensor]:
    module = StaticCacheDecoder(case.decoder, weights, case.batch, case.room, case.device).eval()
    caches = list(_caches(case).values())
    for number in range(case.decoder.layers):
        for part in (0, 1):
            module.cache[number, part].copy_(torch.from_numpy(caches[2 * number + part]))
    place = torch.device(case.device)
    last = torch.zeros(case.batch, dtype=torch.int64, device=place)
    return module, torch.from_numpy(x).to(place), last


def _eager(case: Case, weights: Mapping[str, Array], x: Array) -> Entrant:
    module, *given = _module(case, weights, x)
    return _of_torch(module, given)


def _compiled(case: Case, weights: Mapping[str, Array], x: Array) -> Entrant:
    module, *given = _module(case, weights, x)
    mode = "reduce-overhead" if case.device == "cuda" else None
    return _of_torch(torch.compile(module, mode=mode, fullgraph=True, dynamic=False), given)


def _of_torch(call: Callable[..., torch.Tensor], given: list[torch.Tensor]) -> Entrant:
    def step() -> torch.Tensor:
        with torch.inference_mode():
            return call(*given)

    return Entrant(step, lambda: np.array(step().cpu()), _seeks(given[1]), {})


def _onnxruntime(case: Case, weights: Mapping[str, Array], x: Array) -> Entrant:
    import onnxruntime

    provider = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}[case.device]
    if provider not in onnxruntime.get_available_providers():
        raise RuntimeError(f"onnxruntime has no {provider} here")
    model = decoder_model(case.decoder, weights, case.batch, case.room)
    _ask_total(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    with _saved(model) as path:
        session = onnxruntime.InferenceSession(path, options, [provider])
    binding, caches = session.io_binding(), _caches(case)
    values = {"x": x, **caches}
    held = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(each, case.device, 0)
        for name, each in values.items()
    }
    for name, value in held.items():
        binding.bind_ortvalue_input(name, value)
    for present, past in aliases_of(case.decoder).items():
        binding.bind_ortvalue_output(present, held[past])
    shape = [case.batch, 1, case.decoder.vocabulary or case.decoder.hidden]
    y = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
        shape, np.dtype(case.decoder.dtype), case.device, 0
    )
    binding.bind_ortvalue_output("y", y)

    def seek(length: int) -> None:
        binding.bind_cpu_input("last", np.full(case.batch, length - 1, np.int32))
        binding.bind_cpu_input("total", np.array(length, np.int32))

    def result() -> Array:
        session.run_with_iobinding(binding)
        return np.array(y.numpy())

    return Entrant(lambda: session.run_with_iobinding(binding), result, seek, {})


def _ask_total(model: onnx.ModelProto) -> None:
    """Let a call say how many positions there are: onnxruntime reads so many of a cache."""
    held = [each for each in model.graph.initializer if each.name != "total"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(held)
    total = onnx.helper.make_tensor_value_info("total", onnx.TensorProto.INT32, [])
    model.graph.input.append(total)
