# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fuse-elementwise` on random programs: legal regions, and the numbers of numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mlir_programs import Array, compare, run, type_of

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.diagnostics import Diagnostic
from xyntra.passes.manager import run_pipeline

Settings = dict[str, object]
UNARY: dict[str, Callable[[Any], Any]] = {
    "math.tanh": np.tanh,
    "math.absf": np.abs,
    "arith.negf": np.negative,
    "linalg.square": np.square,
    "linalg.exp": lambda x: np.exp(x),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addf": np.add,
    "arith.maximumf": np.maximum,
    "linalg.sub": np.subtract,
    "linalg.mul": np.multiply,
}
SHAPE = (12, 8)
T, ROW, COLUMN, TURNED = "tensor<12x8xf32>", "tensor<8xf32>", "tensor<12xf32>", "tensor<8x12xf32>"


class Program:
    """A random program on tensors of 12 x 8, and the value of each of its tensors."""

    def __init__(self, generator: np.random.Generator, count: int) -> None:
        self.generator = generator
        shapes = [SHAPE, SHAPE, (8,), (8, 12)]
        self.arguments = [generator.standard_normal(s).astype(np.float32) for s in shapes]
        self.values: dict[str, Array] = {f"%{i}": self.arguments[i] for i in (0, 1)}
        self.lines = [
            f"%e = tensor.empty() : {T}",
            f"%zeros = arith.constant dense<0.0> : {COLUMN}",
            f"%quarter = arith.constant dense<0.25> : {T}",
        ]
        for number in range(count):
            self.add(f"%v{number}")

    def pick(self) -> str:
        """The name of one of the last five tensors."""
        names = list(self.values)
        return names[max(0, len(names) - 1 - int(self.generator.integers(0, 5)))]

    def add(self, name: str) -> None:
        """Append one operation, whose result is kept between -1 and 1."""
        a, b = self.pick(), self.pick()
        x, y = self.values[a].astype(float), self.values[b].astype(float)
        kind = self.generator.choice(["unary", "binary", "broadcast", "permuted", "sum"])
        value: Array
        if kind == "unary":
            op = str(self.generator.choice(list(UNARY)))
            value = UNARY[op](x)
            self.apply(name, op, [a])
        elif kind == "binary":
            op = str(self.generator.choice(list(BINARY)))
            value = BINARY[op](x, y)
            self.apply(name, op, [a, b])
        elif kind == "broadcast":
            value = np.broadcast_to(self.arguments[2], SHAPE)
            self.move(name, "broadcast", f"%2 : {ROW}", "%e", "dimensions = [0]")
        elif kind == "permuted":
            value = self.arguments[3].T
            self.move(name, "transpose", f"%3 : {TURNED}", b, "permutation = [1, 0]")
        else:
            value = np.broadcast_to(x.sum(1, keepdims=True), SHAPE)
            summed = f"ins({a} : {T}) outs(%zeros : {COLUMN}) dimensions = [1]"
            self.lines.append(f"{name}s = linalg.reduce {{ arith.addf }} {summed}")
            self.move(name, "broadcast", f"{name}s : {COLUMN}", "%e", "dimensions = [1]")
        self.lines.append(f"{name}q = arith.mulf {name}, %quarter : {T}")
        self.lines.append(f"{name}t = math.tanh {name}q : {T}")
        self.values[f"{name}t"] = np.tanh(value * 0.25)

    def apply(self, name: str, op: str, operands: list[str]) -> None:
        names, types = ", ".join(operands), ", ".join([T] * len(operands))
        if op.startswith("linalg."):
            # What it writes to is one of the tensors that it, or others, read.
            rest = f"ins({names} : {types}) outs({operands[0]} : {T}) -> {T}"
            self.lines.append(f"{name} = {op} {rest}")
        else:
            self.lines.append(f"{name} = {op} {names} : {T}")

    def move(self, name: str, op: str, source: str, target: str, how: str) -> None:
        self.lines.append(f"{name} = linalg.{op} ins({source}) outs({target} : {T}) {how}")

    def text(self) -> tuple[str, list[Array]]:
        """The program, and what it returns: its last tensors."""
        names = list(self.values)[-3:]
        given = ", ".join(f"%{i}: {type_of(array)}" for i, array in enumerate(self.arguments))
        lines = [*self.lines, f"return {', '.join(names)} : {', '.join([T] * 3)}"]
        body = "\n".join(f"  {line}" for line in lines)
        text = f"func.func @main({given}) -> ({', '.join([T] * 3)}) {{\n{body}\n}}\n"
        return text, [self.values[name].astype(np.float32) for name in names]


@pytest.mark.parametrize("number", range(8))
def test_random_programs(number: int, settings: Settings) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    program = Program(np.random.default_rng(seed), 4 + 3 * number)
    text, expected = program.text()
    with make_context():
        module = ir.Module.parse(text)
        run_pipeline(module, ["fuse-elementwise", "check-fusion"])
        fused = str(module)
        main = next(iter(module.body.operations)).operation.regions[0].blocks[0]
        left = {view.operation.name for view in main.operations}
        assert not {name for name in left if name.startswith("math.")}, seed
        run_pipeline(module, ["outline-kernels", "check-fusion"])
    assert fused.count('kind = "elementwise"') >= 1
    for source in (fused, text):
        found = run(source, program.arguments, settings)
        for ours, theirs in zip(found, expected, strict=True):
            compare(ours, theirs, 20, f"seed {seed}")


@pytest.mark.parametrize("name", ["fuse-elementwise", "fuse-operations"])
def test_dynamic_shapes_are_remarked(name: str) -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = math.exp %x : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    found: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        run_pipeline(module, name, report=found.append)
    assert [(each.severity, each.line) for each in found] == [("remark", 2)]
    assert "'math.exp' has the dynamic shape tensor<?xf32>" in found[0].message
