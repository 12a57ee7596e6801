# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products of float8 on a GPU: `python -m bench.cuda.float8 prepare DIR`, then `… run DIR` there.

Ours beside `torch._scaled_mm`, with and without its fast accumulation, and beside our product of
f16. Factors are e4m3 with a scale for each row of both; results are bf16. Each has its error
relative to f64 as root mean square. `prepare` compiles on any machine; `run` exits with 1 where
ours is more than 1.5 times as far from f64 as the closer one of torch's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json

__all__ = ["main"]

RESULTS = ROOT / "bench" / "results"
_OURS, _HALF = "xyntra", "xyntra f16"
_SHAPES = (
    (8192, 8192, 8192), (4096, 4096, 4096), (8192, 3072, 768), (8192, 768, 3072),
    (2048, 2048, 2048), (512, 768, 3072), (128, 3072, 768), (128, 768, 3072), (16, 4096, 4096),
)  # fmt: skip
_MOST = 1.5
_REPEATS = 10  # products in one graph
Row = dict[str, Any]
_TEXT = """<ir_version: 10, opset_import: ["": 21]>
m ({kind}[{m}, {k}] a, {kind}[{n}, {k}] b{scales}) => ({result}[{m}, {n}] y) {{
  t = Transpose <perm = [1, 0]> (b)
  {body}
}}"""
_SCALED = """c = DequantizeLinear <axis = 0> (a, r)
  d = DequantizeLinear <axis = 1> (t, s)
  p = MatMul (c, d)
  y = Cast <to = 16> (p)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.cuda.float8", description=__doc__)
    parser.add_argument("command", choices=("prepare", "run"))
    parser.add_argument("artifacts", type=Path, metavar="DIR", help="what prepare writes")
    parser.add_argument("--target", default="cuda:sm_90a", help="of prepare")
    parser.add_argument("--rounds", type=int, default=9, help="of turns (default 9)")
    parser.add_argument("--json", type=Path, help="default: bench/results/float8_products-….json")
    options = parser.parse_args(arguments)
    if options.command == "prepare":
        return _prepare(options.artifacts, options.target)
    return _run(options)


def _file(folder: Path, shape: tuple[int, int, int], name: str) -> Path:
    return folder / f"{'x'.join(map(str, shape))}-{name.replace(' ', '-')}.xyn"


def _prepare(folder: Path, target: str) -> int:
    import onnx

    import xyntra

    folder.mkdir(parents=True, exist_ok=True)
    for shape in _SHAPES:
        m, n, k = shape
        sizes = {"m": m, "n": n, "k": k}
        scales = f", float[{m}] r, float[{n}] s"
        narrow = _TEXT.format(
            **sizes, kind="float8e4m3fn", result="bfloat16", scales=scales, body=_SCALED
        )
        half = _TEXT.format(
            **sizes, kind="float16", result="float16", scales="", body="y = MatMul (a, t)"
        )
        for name, text in ((_OURS, narrow), (_HALF, half)):
            executable = xyntra.compile(onnx.parser.parse_model(text), target=target)
            executable.save(_file(folder, shape, name))
            schedules = [text for each in executable.kernels for text in each.schedules]
            print(f"{shape} {name}: {'; '.join(schedules)}", flush=True)
    return 0


def _run(options: argparse.Namespace) -> int:
    import torch

    gpu = torch.cuda.get_device_name()
    path = options.json or RESULTS / f"float8_products-{'-'.join(gpu.lower().split())}.json"
    rows: list[Row] = []
    for shape in _SHAPES:
        rows.append(_row(shape, options.artifacts, options.rounds))
        times = {name: round(each, 1) for name, each in rows[-1]["microseconds"].items()}
        errors = {name: f"{each:.2e}" for name, each in rows[-1]["error"].items()}
        print(rows[-1]["name"], times, errors, rows[-1]["failed"], flush=True)
        write_json(path, {"machine": {**describe(), "gpu": gpu}, "rows": rows})
    return int(any(row["wrong"] for row in rows))


def _row(shape: tuple[int, int, int], folder: Path, rounds: int) -> Row:
    import torch

    import xyntra
    from bench.cuda.timing import captured, launches_of, take_turns

    m, n, k = shape
    torch.manual_seed(0)
    wide = [torch.randn((size, k), device="cuda") for size in (m, n)]
    scales = [each.abs().amax(1) / 448 for each in wide]
    pairs = zip(wide, scales, strict=True)
    a, b = ((each / scale[:, None]).to(torch.float8_e4m3fn) for each, scale in pairs)
    rows, columns = scales
    exact = (a.double() @ b.double().mT) * rows.double()[:, None] * columns.double()
    outputs = {name: torch.full((m, n), torch.nan, device="cuda") for name in (_OURS, _HALF)}
    outputs = {_OURS: outputs[_OURS].bfloat16(), _HALF: outputs[_HALF].half()}
    works, kept = {}, []
    halves = [each.half() for each in wide]
    for name, inputs in ((_OURS, [a, b, rows, columns]), (_HALF, halves)):
        executable = xyntra.load(_file(folder, shape, name))
        works[name] = launches_of(executable, inputs, [outputs[name]])
        kept.append(executable)

    def scaled(fast: bool) -> Any:
        return torch._scaled_mm(
            a, b.mT, rows[:, None], columns[None], out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    failed = {}
    for name, fast in (("torch._scaled_mm", False), ("torch._scaled_mm, fast", True)):
        try:
            outputs[name] = scaled(fast)
            works[name] = lambda fast=fast: scaled(fast)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:200]
    works[_OURS]()
    torch.cuda.synchronize()
    errors = {name: _relative(each, exact) for name, each in outputs.items() if name != _HALF}
    graphs = {name: captured(work, _REPEATS) for name, work in works.items()}
    usual = min((each for name, each in errors.items() if name != _OURS), default=2.0**-8)
    return {
        "name": f"float8_product {m}x{n}x{k} e4m3 nt",
        "error": errors,
        "failed": failed,
        "wrong": not errors[_OURS] <= _MOST * usual,
        "microseconds": take_turns(graphs, _REPEATS, rounds),
    }


def _relative(got: Any, expected: Any) -> float:
    difference = (got.double() - expected).square().mean()
    return float((difference / expected.square().mean()).sqrt())


if __name__ == "__main__":
    sys.exit(main())
