# SPDX-License-Identifier: MIT OR Apache-2.0
"""Changes the headers of saved models, signs them again, and loads and calls them.

    python -m verify.fuzz.archives --files 500 --seed 1

Each must be refused with an ArchiveError, or run inside of its memory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

import xyntra
from verify.fuzz.guard import Arrays
from verify.fuzz.trial import report, tried
from xyntra.errors import ArchiveError, InputError, XyntraError
from xyntra.plan.storage.container import read_container, write_container

_NUMBERS = (-1, 0, 1, 2, 3, 7, 64, 1 << 20, 1 << 31, 1 << 40, 1 << 62, 1 << 63, 1 << 70)
_OTHERS: tuple[Any, ...] = (None, True, False, 0.5, 1e300, "", "x", "float64", "\0", [], [[]], {})


def main() -> int:
    """Try as many files as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        saved = [_saved(model, Path(folder) / f"{n}.xyn") for n, model in enumerate(_models())]
        for number in range(options.files):
            random = Random(f"{options.seed}/{number}")
            data, what = _damaged(random.choice(saved), random)
            path = Path(folder) / "damaged.xyn"
            path.write_bytes(data)
            outcomes.append((number, what, tried(partial(_load_and_call, path))))
    return report(outcomes)


def _models() -> Iterator[Any]:
    """Models that together have every kind of buffer, step and kernel."""
    weights = numpy_helper.from_array(np.ones((32, 32), np.float32), "w")
    twice = helper.make_node("MatMul", ["w", "w"], ["v"])
    product = helper.make_node("MatMul", ["x", "v"], ["a"])
    yield _model([twice, product, _node("Relu", "a", "y")], weights)
    yield _model([_node("Softmax", "x", "a"), _node("Exp", "a", "y")], weights)
    steps = [helper.make_node("MatMul", ["x", "w"], ["a"]), _node("Softmax", "a", "b")]
    yield _model([*steps, helper.make_node("MatMul", ["b", "x"], ["y"])], weights, (32, 32))


def _node(kind: str, source: str, result: str) -> Any:
    return helper.make_node(kind, [source], [result])


def _model(nodes: list[Any], weights: Any, shape: tuple[int, int] = (4, 32)) -> Any:
    ports = [helper.make_tensor_value_info(name, 1, shape) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _saved(model: Any, path: Path) -> bytes:
    settings = {"cache": False, "isolate": False, "jobs": 1}
    xyntra.compile(model, config=settings).save(path)
    return path.read_bytes()


def _damaged(data: bytes, random: Random) -> tuple[bytes, str]:
    """A file with one to three changes of its header, and a checksum that fits."""
    container = read_container(memoryview(data), "saved")
    meta = json.loads(json.dumps(container.meta))
    changes = []
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.choice(list(_places(meta)))
        changes.append(f"{'.'.join(map(str, place))}={_change(meta, place, random)!r:.60}")
    blobs = dict(container.blobs)
    if random.random() < 0.1:
        name = random.choice(list(blobs))
        del blobs[name]
        changes.append(f"without {name}")
    return b"".join(write_container(meta, blobs)), ", ".join(changes)


def _places(entry: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if not isinstance(entry, (dict, list)):
        return
    for key, value in entry.items() if isinstance(entry, dict) else enumerate(entry):
        yield from _places(value, *path, key)


def _change(meta: Any, place: tuple[Any, ...], random: Random) -> Any:
    holder = meta
    for key in place[:-1]:
        holder = holder[key]
    value = holder[place[-1]]
    others = [*_NUMBERS, *_OTHERS]
    if type(value) is int:
        others = [*_NUMBERS, value + 1, value - 1, value * 2, random.choice(_OTHERS)]
    elif isinstance(value, list) and value:
        others = [value[1:], value[:-1], [*value, value[0]], value[::-1], random.choice(others)]
    elif isinstance(value, dict):
        others = [dict(list(value.items())[1:]), {**value, "more": 1}, random.choice(others)]
    holder[place[-1]] = random.choice(others)
    return holder[place[-1]]


def _load_and_call(path: Path) -> str:
    try:
        exe = xyntra.load(path, threads=1)
    except (ArchiveError, InputError) as error:
        return f"refused: {error.code}"
    except XyntraError as error:
        return f"exception: load gives {error!r}"
    arrays = Arrays()
    inputs = [arrays.copy(np.ones(port.shape, port.dtype)) for port in exe.inputs]
    outputs = [arrays.empty(port.shape, port.dtype) for port in exe.outputs]
    exe(*inputs, out=outputs)
    exe.explain()
    return "ran" if arrays.intact() else "outside: written before an array"


if __name__ == "__main__":
    raise SystemExit(main())
