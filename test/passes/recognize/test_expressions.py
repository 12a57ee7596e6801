# SPDX-License-Identifier: MIT OR Apache-2.0
"""Level 1 as a graph of expressions: what is folded into reads, and what is not looked into."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from xyntra.dialects import make_context, named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.matching.expressions import UNIT, Expression, ExpressionGraph

_EMPTY = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %r: tensor<1x8xf32>) {
  return
}
"""


class Block:
    """A function under construction."""

    def __init__(self) -> None:
        self.module = ir.Module.parse(_EMPTY)
        block = self.module.body.operations[0].regions[0].blocks[0]
        end = ir.InsertionPoint(block.operations[0])
        self.b = TensorBuilder(end, ir.Location.unknown())
        self.x, self.w, self.r = (Tensor(value, "float32") for value in block.arguments)
        self.graph = ExpressionGraph()

    def of(self, tensor: Tensor) -> Expression:
        return self.graph.expression(tensor.value)


@pytest.fixture
def block() -> Iterator[Block]:
    with make_context(), ir.Location.unknown():
        yield Block()


def sources(expression: Expression) -> list[tuple[str, tuple[int, ...]]]:
    return [(read.source.opcode, read.dims) for read in expression.operands]


def test_every_scalar_operation_is_an_expression(block: Block) -> None:
    y = block.b.map(lambda a, b: (a - b).math("exp") * 2.0, block.x, block.r, dtype="float32")
    product = block.of(y)
    assert (product.opcode, product.shape, product.element) == ("mul", (4, 8), "f32")
    assert product.value is not None
    exponential, two = (read.source for read in product.operands)
    assert (exponential.opcode, exponential.value, two.number) == ("exp", None, 2.0)
    difference = exponential.operands[0].source
    assert sources(difference) == [("argument", (0, 1)), ("argument", (UNIT, 1))]


def test_data_movement_is_in_the_reads(block: Block) -> None:
    b = block.b
    turned = b.transpose(block.x, [1, 0])
    wide = b.broadcast_to(b.reshape(turned, (8, 1, 4)), (8, 5, 4))
    y = block.of(b.map(lambda v: v.math("exp"), wide, dtype="float32"))
    assert sources(y) == [("argument", (2, 0))]
    assert y.operands[0].source is block.of(block.x)


def test_other_reshapes_are_expressions(block: Block) -> None:
    flat = block.b.reshape(block.x, (32,))
    y = block.of(block.b.map(lambda v: v.math("exp"), flat, dtype="float32"))
    assert sources(y) == [("reshape", (0,))]
    reshape = y.operands[0].source
    assert not reshape.aligned
    assert sources(reshape) == [("argument", (0, 1))]


def test_reductions_and_contractions(block: Block) -> None:
    b = block.b
    total = block.of(b.reduce(block.x, [0], "sum", keepdims=False, element=lambda v: v * v))
    assert (total.opcode, total.shape, total.domain) == ("reduce_sum", (8,), (8, 4))
    assert sources(total) == [("mul", (0, 1))]
    assert sources(total.operands[0].source) == [("argument", (1, 0))] * 2
    product = block.of(b.einsum("mk,kn->mn", block.x, block.w))
    assert product.contraction is not None
    assert [read.dims for read in product.contraction] == [(0, 2), (2, 1)]


def test_other_initial_values_are_not_looked_into(block: Block) -> None:
    b = block.b
    initial = b.fill((4,), "float32", 1.0)
    rows = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(0)])
    reduced = b.generic(
        [(block.x, b.identity(2))],
        [(initial, "float32", rows)],
        ["parallel", "reduction"],
        lambda v, running: running + v,
    )[0]
    assert (block.of(reduced).opcode, block.of(reduced).operands) == ("linalg.generic", ())


def test_computed_positions_are_not_looked_into(block: Block) -> None:
    b = block.b
    y = b.map(lambda v: v + b.index(0).cast("float32"), block.x, dtype="float32")
    assert block.of(y).opcode == "linalg.generic"
    flipped = b.flip(block.x, [True, False])
    assert block.of(flipped).opcode == "linalg.generic"


def test_constants_and_named_ops(block: Block) -> None:
    y = block.of(named.softmax(block.b, block.x, 1))
    assert (y.opcode, y.aligned) == ("xyntra.softmax", True)
    ones = Tensor(block.b.fill((4, 8), "float32", 1.0), "float32")
    read = block.graph.whole(ones.value)
    assert (read.source.number, read.dims) == (1.0, ())


def test_dynamic_shapes_are_not_looked_into() -> None:
    text = """func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          outs(%x : tensor<?x8xf32>) {
        ^bb0(%v: f32):
          %1 = math.exp %v : f32
          linalg.yield %1 : f32
      } -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32>
    }"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (first, _) = module.body.operations[0].regions[0].blocks[0].operations
        graph = ExpressionGraph()
        assert graph.expression(first.results[0]).opcode == "linalg.generic"


def test_nothing_outlives_the_graph(block: Block) -> None:
    """A value that is kept would be taken for a new one at the same address."""
    gc.disable()
    try:
        graph = ExpressionGraph()
        y = block.b.map(lambda v: v.math("exp"), block.x, dtype="float32")
        assert graph.expression(y.value).operands
        gone = ref(graph)
        del graph
        assert gone() is None
    finally:
        gc.enable()


def test_long_chains_are_analysed_one_by_one(block: Block) -> None:
    y = block.x
    for _ in range(3000):
        y = block.b.map(lambda v: v.math("exp"), y, dtype="float32")
    depth = 0
    expression = block.of(y)
    while expression.opcode == "exp":
        expression = expression.operands[0].source
        depth += 1
    assert depth == 3000
