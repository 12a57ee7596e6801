# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares trained models in fewer bits with f32: `python -m verify.precision`.

Each model answers 500 inputs in f32 and in every precision, on the CPU or the GPU. Classifiers have
to give the same largest class for at least as many rows as `_ENOUGH` says, embeddings and boxes
the same direction. The command exits with 1 where one does not. "int8" is calibrated with 64 other
inputs; `--seeds 5` repeats it five times with other samples and other inputs, none of which any
other seed draws. Magika reads files of this Python installation; pictures are drawn, and so are
token ids.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.machine import describe
from bench.models import DEFAULT_FOLDER, REGISTRY, ensure

__all__ = ["main"]

Array = np.ndarray[Any, Any]
Sample = dict[str, Array]

_ENOUGH = {"f16": 1.0, "bf16": 0.99, "int8": 0.99, "w8": 0.99, "w4": 0.9, "w4a8": 0.9}
"""Least share of rows of the same class, and least cosine of the whole output."""
_WINDOW, _PADDING = 1024, 256  # of Magika's features
_FIRST, _APART = 7000, 100_000  # numbers of inputs: where a seed begins, and the next one


@dataclass(frozen=True)
class _Case:
    """A trained model.

    Attributes:
        name: in the zoo.
        is_classifier: whether the last dimension of its output has a score for each class.
    """

    name: str
    is_classifier: bool


_CASES = (
    _Case("magika", True),
    _Case("rapidocr-cls", True),
    _Case("rapidocr-det", False),
    _Case("rapidocr-rec", True),
    _Case("minilm", False),
    _Case("nudenet", False),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every precision is as good as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m verify.precision", description=__doc__)
    names = [each.name for each in _CASES]
    parser.add_argument("models", nargs="*", metavar="MODEL", default=names)
    parser.add_argument("--precision", default="f16,bf16,int8")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--inputs", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --first-seed on")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=64, help="for int8 (default 64)")
    parser.add_argument("--tolerance", type=float, help="for int8")
    parser.add_argument("--calibration", choices=("mse", "percentile", "minmax"), default="mse")
    parser.add_argument("--json", type=Path, help="write the results, too")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.models if name not in names]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; known: {', '.join(names)}")
    rows = []
    for case in _CASES:
        if case.name in options.models:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                for row in _rows(case, seed, options):
                    rows.append(row)
                    print(_line(row), flush=True)
                    _write(rows, options.json)
    return int(any(row["wrong"] for row in rows))


def _write(rows: Sequence[dict[str, Any]], path: Path | None) -> None:
    if path is not None:
        text = json.dumps({"machine": describe(), "rows": rows}, indent=1)
        path.write_text(text + "\n", encoding="utf-8")


def _rows(case: _Case, seed: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    import xyntra

    spec = REGISTRY[case.name]
    path = ensure(case.name, DEFAULT_FOLDER)
    # The first ones are for calibration alone.
    draw = _drawn(case.name, options.samples + options.inputs, seed)
    samples = [draw(number) for number in range(options.samples)]
    how: dict[str, Any] = {"target": options.target, "inputs": spec.shapes or None}
    exact = xyntra.compile(path, **how)
    found: dict[str, Any] = {}
    for precision in options.precision.split(","):
        more = {}
        if precision == "int8":
            more = {"samples": samples, "tolerance": options.tolerance}
            more["config"] = {"calibration": options.calibration}
        found[precision] = xyntra.compile(path, precision=precision, **how, **more)
    sums = {precision: _Agreement() for precision in found}
    for number in range(options.samples, options.samples + options.inputs):
        sample = draw(number)
        (expected,) = exact.run(sample).values()
        for precision, executable in found.items():
            (given,) = executable.run(sample).values()
            sums[precision].add(np.asarray(given), np.asarray(expected))
    for precision, executable in found.items():
        kinds = [kind for _, kind, reason in executable.plan.precisions if not reason]
        row = {"model": case.name, "seed": seed, "precision": precision, "inputs": options.inputs}
        row |= sums[precision].row(is_classifier=case.is_classifier)
        row["lowered"], row["kept"] = len(kinds), len(executable.plan.precisions) - len(kinds)
        value = row["top1"] if case.is_classifier else row["cosine"]
        row["wrong"] = not value >= _ENOUGH[precision]
        yield row


class _Agreement:
    """What two outputs have in common, over many inputs."""

    def __init__(self) -> None:
        self.rows = self.same = 0
        self.dot = self.left = self.right = self.difference = 0.0
        self.least_cosine = 1.0

    def add(self, found: Array, exact: Array) -> None:
        """Take in the outputs for one input."""
        same = found.argmax(-1) == exact.argmax(-1)
        self.rows, self.same = self.rows + same.size, self.same + int(same.sum())
        x, y = found.astype(np.float64), exact.astype(np.float64)
        dot, left, right = (x * y).sum(), np.square(x).sum(), np.square(y).sum()
        self.dot, self.left, self.right = self.dot + dot, self.left + left, self.right + right
        self.difference += float(np.square(x - y).sum())
        cosine = float(dot / np.sqrt(left * right))
        # A comparison with NaN is false: what is no number counts as 0.
        self.least_cosine = min(self.least_cosine, cosine if cosine == cosine else 0.0)

    def row(self, *, is_classifier: bool) -> dict[str, Any]:
        """Return shares of rows of one class, cosines, and the relative error."""
        return {
            "rows": self.rows,
            "top1": self.same / self.rows if is_classifier else None,
            "cosine": float(self.dot / np.sqrt(self.left * self.right)),
            "least_cosine": self.least_cosine,
            "error": float(np.sqrt(self.difference / self.right)),
        }


def _drawn(name: str, count: int, seed: int) -> Callable[[int], Sample]:
    """Return a function that gives the input of a number."""
    spec = REGISTRY[name]
    if name != "magika":
        return lambda number: spec.random_inputs(_FIRST + seed * _APART + number)
    files = sorted(path for path in Path(np.__file__).parents[1].rglob("*") if path.is_file())
    every = max(1, len(files) // count)
    chosen = files[seed % every :: every]

    def features(number: int) -> Sample:
        content = chosen[number % len(chosen)].read_bytes()
        values = np.full((1, 2 * _WINDOW), _PADDING, np.int32)
        head, tail = content[:_WINDOW], content[-_WINDOW:]
        values[0, : len(head)] = np.frombuffer(head, np.uint8)
        values[0, 2 * _WINDOW - len(tail) :] = np.frombuffer(tail, np.uint8)
        return {spec.inputs[0].name: values}

    # In another order, so that calibration sees files of all packages.
    order = np.random.default_rng(1 + seed).permutation(count)
    return lambda number: features(int(order[number]))


def _line(row: dict[str, Any]) -> str:
    top1 = "" if row["top1"] is None else f"top-1 {row['top1']:.2%} of {row['rows']} rows, "
    return (
        f"{row['model']:14}{row['seed']:2} {row['precision']:5} {top1}cosine {row['cosine']:.6f}"
        f" (least {row['least_cosine']:.6f}), error {row['error']:.1e}, {row['lowered']} lowered,"
        f" {row['kept']} kept{'  WRONG' * row['wrong']}"
    )


if __name__ == "__main__":
    sys.exit(main())
