# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles hostile modules in MLIR text, and runs what compiles between guard pages.

    python -m verify.fuzz.mlir --files 500 --seed 1

Half of them are written to leave their tensors; the others are levels that the compiler itself has
emitted, without guards and with changes. Each must be refused with a typed error, or run inside of
its memory and give the same twice, with other contents of all fresh memory.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

import xyntra
from verify.fuzz.guard import POISON, Arrays
from verify.fuzz.mlir_mutations import mutated
from verify.fuzz.mlir_templates import TEMPLATES
from verify.fuzz.trial import report, tried
from xyntra.compiler.driver import emit_level
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.kernels import parallel
from xyntra.compiler.kernels.kernel import load_compiler
from xyntra.config import load_config
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import XyntraError
from xyntra.passes.pipelines import PIPELINES, Pipeline
from xyntra.targets.cpu import prepared, program

_SETTINGS: dict[str, object] = {
    "cache": False,
    "isolate": False,
    "jobs": 1,
    "opt_level": 1,
    "strict": True,
}
_FAR = np.array([0, 7, -1, 8, 1 << 40, -(1 << 63), (1 << 63) - 1, 3], np.int64)


def main() -> int:
    """Try as many modules as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="try this one, and print its text")
    options = parser.parse_args()
    numbers = range(options.files) if options.only is None else [options.only]
    _load()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        saved, source = Path(folder) / "saved.xyn", Path(folder) / "source.mlir"
        for number in numbers:
            text, what = _module(Random(f"{options.seed}/{number}"), source)
            if options.only is not None:
                print(text)
            outcomes.append((number, what, _outcome(text, saved)))
    return report(outcomes)


def _load() -> None:
    """Load all that compiles: children then find it ready."""
    load_compiler("")
    with mock.patch.object(parallel, "can_fork", return_value=False):
        for template in set(TEMPLATES):
            with contextlib.suppress(XyntraError):
                xyntra.compile(template(Random(1)), config=_SETTINGS)


def _module(random: Random, file: Path) -> tuple[str, str]:
    template: Callable[[Random], str] = random.choice(TEMPLATES)
    text, what = template(random), template.__name__
    if random.random() < 0.5:
        level = random.choice(("linalg", "fused", "kernels"))
        file.unlink(missing_ok=True)
        tried(partial(_emit_unguarded, text, level, file))
        if file.exists():
            return mutated(file.read_text(), random), f"{what}, {level}, changed"
    return text, what


def _emit_unguarded(text: str, level: str, file: Path) -> str:
    """Write `text` at a level as it was before modules were made safe."""
    nothing = {"distrust": Pipeline("", ()), "safe-text": Pipeline("", ())}
    with mock.patch.dict(PIPELINES, nothing):
        config = load_config(_SETTINGS)
        emitted = emit_level(open_source(text), Sizes(), config, level)  # type: ignore[arg-type]
    with make_context():
        file.write_text(str(ir.Module.parse(emitted)))
    return "emitted"


def _outcome(text: str, saved: Path) -> str:
    saved.unlink(missing_ok=True)
    found = tried(partial(_compile, text, saved))
    if found.startswith(("crash", "hang")):
        return _contained(text)
    return tried(partial(_run, saved)) if found == "compiled" else found


def _compile(text: str, saved: Path) -> str:
    xyntra.compile(text, config=_SETTINGS).save(saved)
    return "compiled"


def _contained(text: str) -> str:
    """What the caller sees of a crash below the compiler: it has to be in a worker."""
    try:
        xyntra.compile(text, config={**_SETTINGS, "isolate": True, "compile_timeout": 60})
    except XyntraError as error:
        return f"refused: {error.code}"
    return "crash: in this process only"


def _run(saved: Path) -> str:
    results = [_result(saved, poison) for poison in (POISON, 0x5A)]
    if None in results:
        return "outside: written before an array"
    return "ran" if results[0] == results[1] else "leak: the result depends on fresh memory"


def _result(saved: Path, poison: int) -> bytes | None:
    arrays = Arrays(poison)

    def allocate(nbytes: int) -> np.ndarray:
        return arrays.empty((-(-max(nbytes, 1) // 64) * 64,), np.uint8)

    with (
        mock.patch.object(program, "allocate", allocate),
        mock.patch.object(prepared, "allocate", allocate),
    ):
        exe = xyntra.load(saved, threads=1)
        inputs = [arrays.copy(_input(port.shape, port.dtype)) for port in exe.inputs]
        outputs = [arrays.empty(port.shape, port.dtype) for port in exe.outputs]
        before = [array.copy() for array in inputs]
        exe(*inputs, out=outputs)
    kept = all(a.tobytes() == b.tobytes() for a, b in zip(inputs, before, strict=True))
    return b"".join(map(np.ndarray.tobytes, outputs)) if kept and arrays.intact() else None


def _input(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    count = int(np.prod(shape))
    if dtype == "int64":
        return np.resize(_FAR, count).reshape(shape)
    return np.arange(1, count + 1).astype(dtype).reshape(shape)


if __name__ == "__main__":
    raise SystemExit(main())
