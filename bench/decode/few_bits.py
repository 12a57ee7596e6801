# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m bench.decode.few_bits`: a decoder with weights of 4 bits on the CPU, beside llama.cpp.

A Llama-like decoder of drawn weights, that of Llama 3.2 1B with `--layers 16 --vocabulary 128256`,
as MatMulNBits with a cache that is written in place; as `precision="w4a8"`, and with exact rows.
Beside it onnxruntime, which rounds rows, and llama.cpp's Q4_0, which does, too, where
llama-cpp-python and gguf are installed. All take turns, each step is one more position of a
sequence, and the first results are compared with PyTorch's in f32. The peak of memory is that of a
process of its own, from the file on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.decode.onnx_model import aliases_of, decoder_model
from bench.decode.packed_weights import PackedMatrix, packed_weights_of
from bench.decode.size import Decoder
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

Array = np.ndarray[Any, Any]
Step = Callable[[Array], Array]
_CHECKED = 3
"""Positions whose results are compared."""
_ENTRANTS = ["xyntra", "xyntra, exact", "onnxruntime", "llama.cpp"]
_INTEGER_LEVEL = 4
"""The level of accuracy at which onnxruntime multiplies integers."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if our results are those of PyTorch."""
    options = _options(arguments)
    if options.peak:
        return _peak(options)
    if options.cpu_time and options.threads > 1:
        raise SystemExit("--cpu-time is for one thread")
    decoder = Decoder(
        layers=options.layers, vocabulary=options.vocabulary, hidden=options.hidden,
        heads=options.heads, groups=options.groups, inner=options.inner, dtype="float32",
    )  # fmt: skip
    weights = packed_weights_of(decoder)
    nbytes = sum(each.nbytes for each in weights.values())
    found: dict[str, Any] = {"machine": describe(), "decoder": vars(decoder), "bytes": nbytes}
    found |= {"threads": options.threads, "clock": "thread" if options.cpu_time else "wall"}
    with TemporaryDirectory(dir=options.folder) as folder:
        steps = _entrants(decoder, weights, Path(folder), options)
        inputs = _inputs(decoder, options.rounds * options.calls + _CHECKED)
        firsts = {
            name: np.stack([step(x) for x in inputs[:_CHECKED]]) for name, step in steps.items()
        }
        found["error"] = {} if options.unchecked else _errors(decoder, weights, inputs, firsts)
        clock = time.thread_time if options.cpu_time else time.perf_counter
        found["ms"] = _by_turns(steps, inputs[_CHECKED:], options.calls, clock)
        found["tokens per second"] = {name: 1e3 / ms for name, ms in found["ms"].items()}
        del steps
        found["peak bytes"] = _peaks(Path(folder), options)
        found["file bytes"] = (Path(folder) / "decoder.xyn").stat().st_size
    print(json.dumps({key: each for key, each in found.items() if key != "machine"}, indent=1))
    path = options.json or ROOT / "bench" / "results" / f"decode-w4-{slug(found['machine'])}.json"
    write_json(path, found)
    return int(found["error"].get("xyntra, exact", 0.0) > options.tolerance)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.decode.few_bits", description=__doc__)
    sizes = Decoder()
    for name in ("layers", "hidden", "heads", "groups", "inner"):
        parser.add_argument(f"--{name}", type=int, default=getattr(sizes, name))
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--room", type=int, default=512, help="positions of the caches")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7, help="of turns")
    parser.add_argument("--calls", type=int, default=8, help="steps in a turn")
    parser.add_argument("--entrants", nargs="+", default=_ENTRANTS)
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of our exact results")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="of the calling thread, for one thread beside others",
    )
    parser.add_argument("--unchecked", action="store_true", help="do not run PyTorch")
    parser.add_argument("--folder", help="for files of the size of the weights")
    parser.add_argument("--json", type=Path, help="default: bench/results/decode-w4-….json")
    parser.add_argument("--peak", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _inputs(decoder: Decoder, count: int) -> Array:
    draw = np.random.default_rng(1)
    return draw.standard_normal((count, 1, 1, decoder.hidden), np.float32)


def _entrants(
    decoder: Decoder,
    weights: Mapping[str, Array | PackedMatrix],
    folder: Path,
    options: argparse.Namespace,
) -> dict[str, Step]:
    """Write the files of all entrants, and return their steps."""
    found: dict[str, Step] = {}
    makers = (
        ("xyntra, exact", _exactly), ("xyntra", _ours),
        ("onnxruntime", _onnxruntime), ("llama.cpp", _llama_cpp),
    )  # fmt: skip
    for name, make in makers:
        if name in options.entrants:
            try:
                found[name] = make(decoder, weights, folder, options)
            except ImportError as error:
                print(f"{name}: {error}", file=sys.stderr)
    return found


def _exactly(
    decoder: Decoder, weights: Mapping[str, Any], folder: Path, options: argparse.Namespace
) -> Step:
    return _step_of(_compiled(decoder, weights, options, "f32"))


def _ours(
    decoder: Decoder, weights: Mapping[str, Any], folder: Path, options: argparse.Namespace
) -> Step:
    compiled = _compiled(decoder, weights, options, "w4a8")
    compiled.save(folder / "decoder.xyn")
    return _step_of(compiled)


def _compiled(
    decoder: Decoder, weights: Mapping[str, Any], options: argparse.Namespace, precision: str
) -> Any:
    import xyntra

    model = decoder_model(decoder, weights, 1, options.room)
    return xyntra.compile(
        model,
        target="cpu",
        precision=precision,
        aliases=aliases_of(decoder),
        threads=options.threads,
    )


def _step_of(executable: Any) -> Step:
    """Return what runs an executable position by position, from an empty cache on."""
    caches = [np.zeros(port.shape, port.dtype) for port in executable.inputs[2:]]
    y = np.empty(executable.outputs[0].shape, np.float32)
    out = [y, *[None] * len(caches)]
    last = np.array([-1], np.int32)

    def step(x: Array) -> Array:
        last[0] += 1
        executable(x, last, *caches, out=out)
        return y.reshape(-1).copy()

    return step


def _onnxruntime(
    decoder: Decoder, weights: Mapping[str, Any], folder: Path, options: argparse.Namespace
) -> Step:
    import onnx
    import onnxruntime

    model = decoder_model(decoder, weights, 1, options.room, accuracy_level=_INTEGER_LEVEL)
    _ask_for_total(model)
    file = folder / "decoder.onnx"
    onnx.save(model, file, save_as_external_data=True, location="decoder.weights")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(file, settings, ["CPUExecutionProvider"])
    names = aliases_of(decoder)
    shape = (1, decoder.groups, options.room, decoder.size)
    held = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
        for name in names.values()
    }
    last = np.array([-1], np.int32)
    binding = session.io_binding()
    for present, past in names.items():
        binding.bind_ortvalue_input(past, held[past])
        binding.bind_ortvalue_output(present, held[past])
    binding.bind_output("y")

    def step(x: Array) -> Array:
        last[0] += 1
        binding.bind_cpu_input("x", x)
        binding.bind_cpu_input("last", last)
        binding.bind_cpu_input("total", np.array(last[0] + 1, np.int32))
        session.run_with_iobinding(binding)
        return np.array(binding.get_outputs()[-1].numpy()).reshape(-1)

    return step


def _ask_for_total(model: Any) -> None:
    """Make how many positions there are an input: onnxruntime reads so many of a cache."""
    from onnx import TensorProto, helper

    kept = [each for each in model.graph.initializer if each.name != "total"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.input.append(helper.make_tensor_value_info("total", TensorProto.INT32, []))


def _llama_cpp(
    decoder: Decoder, weights: Mapping[str, Any], folder: Path, options: argparse.Namespace
) -> Step:
    import llama_cpp  # noqa: F401

    from bench.decode.llama_cpp_step import LlamaCppDecoder, write_gguf

    write_gguf(decoder, weights, folder / "decoder.gguf")
    return LlamaCppDecoder(folder / "decoder.gguf", decoder, options.room, options.threads).step


def _errors(
    decoder: Decoder,
    weights: Mapping[str, Array | PackedMatrix],
    inputs: Array,
    firsts: Mapping[str, Array],
) -> dict[str, float]:
    """Return the error of each entrant, relative to PyTorch, as root mean square."""
    import torch

    from bench.decode.torch_module import StaticCacheDecoder

    plain = {
        name: each.dequantized if isinstance(each, PackedMatrix) else each
        for name, each in weights.items()
    }
    module = StaticCacheDecoder(decoder, plain, 1, _CHECKED, "cpu").eval()
    with torch.inference_mode():
        exact = np.stack([
            module(torch.from_numpy(x), torch.tensor([number])).numpy().reshape(-1)
            for number, x in enumerate(inputs[:_CHECKED])
        ])  # fmt: skip
    size = np.sqrt(np.square(exact).mean())
    return {
        name: float(np.sqrt(np.square(each - exact).mean()) / size) for name, each in firsts.items()
    }


def _by_turns(
    steps: Mapping[str, Step], inputs: Array, calls: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Return the median milliseconds of a step."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for first in range(0, len(inputs), calls):
        for name, step in steps.items():
            for x in inputs[first : first + calls]:
                start = clock()
                step(x)
                times[name].append((clock() - start) * 1e3)
    return {name: statistics.median(each) for name, each in times.items()}


def _peaks(folder: Path, options: argparse.Namespace) -> dict[str, int]:
    """Return the most memory that a process held beside what it holds before it loads the file."""
    found = {}
    for name, file in (("xyntra", "decoder.xyn"), ("llama.cpp", "decoder.gguf")):
        if (folder / file).exists():
            command = [sys.executable, "-m", "bench.decode.few_bits", "--peak", str(folder / file)]
            sizes = [f"--{key}={getattr(options, key)}" for key in _SIZES]
            output = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
            found[name] = int(output.stdout)
    return found


_SIZES = ("layers", "vocabulary", "hidden", "heads", "groups", "inner", "room", "threads")


def _peak(options: argparse.Namespace) -> int:
    """Load a file, run a few steps, and print the bytes that this took."""
    decoder = Decoder(
        layers=options.layers, vocabulary=options.vocabulary, hidden=options.hidden,
        heads=options.heads, groups=options.groups, inner=options.inner, dtype="float32",
    )  # fmt: skip
    if options.peak.suffix == ".xyn":
        import xyntra

        before = _status("VmRSS")
        step = _step_of(xyntra.load(options.peak, threads=options.threads))
    else:
        import llama_cpp  # noqa: F401

        from bench.decode.llama_cpp_step import LlamaCppDecoder

        before = _status("VmRSS")
        step = LlamaCppDecoder(options.peak, decoder, options.room, options.threads).step
    for x in _inputs(decoder, _CHECKED):
        step(x)
    print(_status("VmHWM") - before)
    return 0


def _status(key: str) -> int:
    """Return bytes that Linux counts for this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    sys.exit(main())
