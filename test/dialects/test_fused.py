# SPDX-License-Identifier: MIT OR Apache-2.0
"""Building `xyntra.fused` and spreading results over groups of one type."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from xyntra.dialects import FusedOp, make_context
from xyntra.dialects.mlir import ir
from xyntra.dialects.segments import SEGMENTS, assign_segments
from xyntra.errors import UnsupportedError


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with make_context(), ir.Location.unknown():
        yield


def tensor(size: int) -> ir.RankedTensorType:
    return ir.RankedTensorType.get([size], ir.F32Type.get())


def fuse(types: list[ir.Type]) -> tuple[ir.Module, list[ir.Type]]:
    """Fuse functions arguments of `types` into results, and return the results' types."""
    arguments = ", ".join(f"%{i}: {type_}" for i, type_ in enumerate(types))
    module = ir.Module.parse(f"func.func @f({arguments}) {{ return }}")
    block = module.body.operations[0].regions[0].blocks[0]
    fused = FusedOp.build(types, "data", ip=ir.InsertionPoint.at_block_begin(block))
    fused.finish(list(block.arguments))
    return module, [result.type for result in fused.results]


@pytest.mark.parametrize(
    "sizes",
    [[1], [1, 1], [1, 2, 1], [1, 2] * 5, [3, 1, 2, 1, 3, 2, 1, 3, 2, 1], list(range(SEGMENTS))],
)
def test_results_come_in_the_callers_order(sizes: list[int]) -> None:
    types = [tensor(size) for size in sizes]
    module, found = fuse(types)
    assert module.operation.verify()
    assert found == types


def test_order_is_kept_while_groups_suffice() -> None:
    assert assign_segments([tensor(i % 2) for i in range(SEGMENTS)]).order == tuple(range(SEGMENTS))


def test_equal_neighbours_share_a_group() -> None:
    types = [tensor(1), tensor(1), tensor(2)]
    assert assign_segments(types).sizes == (2, 1) + (0,) * (SEGMENTS - 2)


def test_too_many_types() -> None:
    types = [tensor(size) for size in range(SEGMENTS + 1)]
    with pytest.raises(UnsupportedError, match="9 distinct types, and at most 8") as caught:
        fuse(types)
    assert caught.value.code == "too-many-result-types"


def test_text_and_bytecode_round_trips() -> None:
    module, _ = fuse([tensor(1), tensor(2)])
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    for copy in (str(module), buffer.getvalue()):
        again = ir.Module.parse(copy)
        assert str(again) == str(module)
        view = again.body.operations[0].regions[0].blocks[0].operations[0]
        assert isinstance(view, FusedOp)
        assert view.kind.value == "data"


def test_location_is_that_of_the_caller() -> None:
    location = ir.Location.name("node_7")
    module = ir.Module.parse("func.func @f() { return }")
    block = module.body.operations[0].regions[0].blocks[0]
    fused = FusedOp.build([], "generic", loc=location, ip=ir.InsertionPoint.at_block_begin(block))
    fused.finish([])
    assert fused.operation.location == location
    assert fused.block.operations[0].location == location
