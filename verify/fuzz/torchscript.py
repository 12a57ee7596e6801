# SPDX-License-Identifier: MIT OR Apache-2.0
"""Damages archives of TorchScript, and compiles what is left of them.

    python -m verify.fuzz.torchscript --files 100 --seed 1

Each must be refused with an error of ours, or compile; nothing outside of it may change. Half of
them are damaged as files, the others in one record, with the archive written anew around it.
"""

from __future__ import annotations

import argparse
import io
import pickle
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

import xyntra
from verify.fuzz.trial import report, tried
from xyntra.errors import XyntraError

_X = (2, 4)


class _Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self._path,)


def main() -> int:
    """Try as many files as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = [_written(module) for module in _modules()]
        for number in range(options.files):
            random = Random(f"{options.seed}/{number}")
            data, what = _damaged(random.choice(whole), random, folder / "made")
            path = folder / "damaged.pt"
            path.write_bytes(data)
            outcome = tried(partial(_compile, path), 300.0)
            if sorted(each.name for each in folder.iterdir()) != ["damaged.pt"]:
                outcome = "outside: a file was made"
            outcomes.append((number, what, outcome))
    return report(outcomes)


def _modules() -> list[Any]:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))
    return [torch.jit.script(layers.eval()), torch.jit.trace(layers.eval(), torch.zeros(_X))]


def _written(module: Any) -> bytes:
    data = io.BytesIO()
    torch.jit.save(module, data)
    return data.getvalue()


def _damaged(data: bytes, random: Random, bomb: Path) -> tuple[bytes, str]:
    if random.random() < 0.5:
        return _scratched(data, random), "bytes of the file"
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        chosen = random.choice(old.infolist()).filename
        for each in old.infolist():
            content = old.read(each)
            if each.filename == chosen:
                content = _changed(content, random, bomb)
            new.writestr(each.filename, content)
    return result.getvalue(), chosen


def _changed(content: bytes, random: Random, bomb: Path) -> bytes:
    kind = random.randrange(4)
    if kind == 0:
        return pickle.dumps(_Bomb(bomb), random.randint(0, 4))
    if kind == 1:
        return content[: random.randrange(len(content) + 1)]
    if kind == 2:
        return content * 2
    return _scratched(content, random)


def _scratched(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 6) if changed else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _compile(path: Path) -> str:
    try:
        xyntra.compile(path, inputs=[_X], config={"cache": False})
    except XyntraError as error:
        return f"refused: {error.code}"
    return "ran"


if __name__ == "__main__":
    raise SystemExit(main())
