# SPDX-License-Identifier: MIT OR Apache-2.0
"""The legality checker: its graph function against brute force, order, errors and cost."""

from __future__ import annotations

import time
from itertools import pairwise, product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.errors import CompileError, ConfigError
from xyntra.passes.fusion.legality.acyclic import find_cycle, regions_are_acyclic
from xyntra.passes.fusion.legality.alignment import OTHER, compare
from xyntra.passes.fusion.legality.violation import IllegalFusion
from xyntra.passes.fusion.regions.check_fusion import CheckFusion
from xyntra.passes.manager import run_pipeline
from xyntra.passes.options import make_pass
from xyntra.passes.pipelines import kernel_pipeline
from xyntra.passes.targets.table import TARGETS, TargetName

ONE = "operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>"
GIVES = "resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>"


def region(result: str, operand: str, kind: str = "elementwise") -> str:
    """Text of a region that applies silu to `operand`."""
    return f"""
  %{result} = "xyntra.fused"() ({{
    %0 = "xyntra.silu"(%{operand}) : (tensor<8xf32>) -> tensor<8xf32>
    "xyntra.yield"(%0) {{{ONE}}} : (tensor<8xf32>) -> ()
  }}) {{kind = "{kind}", {GIVES}}} : () -> tensor<8xf32>"""


def function(body: str, result: str) -> str:
    """Text of a function with `body`."""
    return (
        f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{{body}\n"
        f"  return %{result} : tensor<8xf32>\n}}"
    )


def test_a_partition_that_goes_round_is_found() -> None:
    # 0 and 2 share a kernel, 1 stands between them.
    assert sorted(find_cycle([[0, 2]], [[], [0], [1]]) or []) == [0, 1]
    assert not regions_are_acyclic([[0, 2]], [[], [0], [1]])
    assert regions_are_acyclic([[0, 1, 2]], [[], [0], [1]])
    assert regions_are_acyclic([[0, 1], [2]], [[], [0], [1]])


def test_an_operation_that_needs_itself_is_a_cycle() -> None:
    assert find_cycle([], [[0]]) == [0]


@pytest.mark.parametrize("partition", [[[0, 1], [1]], [[0, 0]], [[3]], [[-1]]])
def test_what_is_no_partition_is_refused(partition: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="operation"):
        regions_are_acyclic(partition, [[], [], []])


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    count = draw(st.integers(1, 9))
    reads = [
        draw(st.lists(st.integers(0, index - 1), max_size=3, unique=True)) if index else []
        for index in range(count)
    ]
    group = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    partition = [[i for i in range(count) if group[i] == g] for g in sorted(set(group))]
    return partition, reads


@settings(max_examples=100, deadline=None)
@given(partitions())
def test_cycles_agree_with_reachability(case: tuple[list[list[int]], list[list[int]]]) -> None:
    partition, reads = case
    home = {index: number for number, members in enumerate(partition) for index in members}
    edges = {(home[p], home[i]) for i, ps in enumerate(reads) for p in ps if home[p] != home[i]}
    reach = set(edges)
    for middle in range(len(partition)):
        reach |= {(a, d) for a, b in reach if b == middle for c, d in reach if c == middle}
    cyclic = any(a == b for a, b in reach)
    assert regions_are_acyclic(partition, reads) is not cyclic
    cycle = find_cycle(partition, reads)
    if cycle is not None:
        around = [home[index] for index in cycle]
        assert all(edge in edges for edge in pairwise([*around, around[0]]))


def test_alignment_ignores_extents_of_one() -> None:
    found = compare((0, 1, 2), (1, 4, 8), (1, 2), (4, 8))
    assert found.pointwise
    assert found.rows == {1, 4, 32}


@pytest.mark.parametrize(
    ("operand", "shape", "rows"),
    [
        ((0, 1), (4, 8), {1, 4, 32}),
        ((0,), (4,), {1, 4}),
        ((1,), (8,), {1}),
        ((1, 0), (8, 4), {1}),
        ((0, OTHER), (4, 9), {1, 4}),
        ((0, 0), (4, 4), {1, 4}),
        ((), (), {1}),
    ],
)
def test_alignment_is_that_of_leading_loops(
    operand: tuple[int, ...], shape: tuple[int, ...], rows: set[int]
) -> None:
    found = compare((0, 1), (4, 8), operand, shape)
    assert found.rows == rows
    assert found.pointwise is (rows == {1, 4, 32})


@st.composite
def accesses(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Extents of loops, those that index the result, and those that index the operand."""
    extents = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    result = draw(st.permutations(range(len(extents))))
    operand = draw(st.lists(st.integers(-1, len(extents) - 1), max_size=4))
    return extents, result, operand


@settings(max_examples=100, deadline=None)
@given(accesses())
def test_alignment_agrees_with_every_element(case: tuple[list[int], list[int], list[int]]) -> None:
    extents, result, operand = case
    result_shape = tuple(extents[loop] for loop in result)
    operand_shape = tuple(extents[loop] if loop >= 0 else 1 for loop in operand)
    found = compare(tuple(result), result_shape, tuple(operand), operand_shape)
    sizes = prod(result_shape), prod(operand_shape)
    for indices in product(*map(range, extents)):
        written = position([indices[loop] for loop in result], result_shape)
        read = position([indices[loop] if loop >= 0 else 0 for loop in operand], operand_shape)
        assert not found.pointwise or written == read
        for rows in found.rows:
            assert written * rows // sizes[0] == read * rows // sizes[1] or rows == 1
    assert not found.pointwise or sizes[0] == sizes[1]


def position(indices: list[int], shape: tuple[int, ...]) -> int:
    """The place of an element in row-major order."""
    place = 0
    for index, extent in zip(indices, shape, strict=True):
        place = place * extent + index
    return place


def test_a_value_used_before_it_is_computed_is_reported() -> None:
    text = function(region("a", "x") + region("b", "a"), "b")
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        first, second = (view.operation for view in list(block.operations)[:2])
        second.move_before(first)
        with pytest.raises(IllegalFusion) as caught:
            CheckFusion().run(module.operation)
        assert caught.value.codes == ("use-before-definition",)


def test_every_region_at_fault_is_reported_and_the_module_is_kept() -> None:
    text = function(
        region("a", "x", "row") + region("b", "a", "data") + region("c", "b", "conv"), "c"
    )
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        with pytest.raises(CompileError) as caught:
            run_pipeline(module, "check-fusion")
        assert isinstance(caught.value, IllegalFusion)
        assert caught.value.code == "illegal-fusion"
        assert caught.value.codes == ("kind-mismatch", "no-anchor")
        assert [len(each.notes) for each in caught.value.diagnostics] == [1, 1]
        assert str(module) == before


def test_regions_in_control_flow_are_checked() -> None:
    text = f"""func.func @main(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {{
  %r = scf.if %c -> tensor<8xf32> {{{region("a", "x", "data")}
    scf.yield %a : tensor<8xf32>
  }} else {{
    scf.yield %x : tensor<8xf32>
  }}
  return %r : tensor<8xf32>
}}"""
    with make_context(), ir.Location.unknown(), pytest.raises(IllegalFusion):
        run_pipeline(ir.Module.parse(text), "check-fusion")


@pytest.mark.parametrize("target", ["cpu", "cuda", "webgpu"])
def test_rows_are_as_long_as_the_engine_makes_them(target: TargetName) -> None:
    """Two operations may share a row of the limit, and none that is longer."""
    limit = TARGETS[target].machine.max_row_bytes
    tensor = "tensor<3x{0}xf16>"
    text = f"""func.func @rows(%x: {tensor}) -> {tensor} {{{{
      %0 = "xyntra.fused"() ({{{{
        %1 = "xyntra.softmax"(%x) {{{{axis = 1}}}} : ({tensor}) -> {tensor}
        %2 = "xyntra.softmax"(%1) {{{{axis = 1}}}} : ({tensor}) -> {tensor}
        "xyntra.yield"(%2) {{{{{ONE}}}}} : ({tensor}) -> ()
      }}}}) {{{{kind = "row", {GIVES}}}}} : () -> {tensor}
      return %0 : {tensor}
    }}}}"""
    check = f"check-fusion{{target={target}}}"
    with make_context(), ir.Location.unknown():
        run_pipeline(ir.Module.parse(text.format(limit // 2)), check)
        with pytest.raises(IllegalFusion) as caught:
            run_pipeline(ir.Module.parse(text.format(limit // 2 + 1)), check)
    assert caught.value.codes == ("row-too-long",)
    assert check in kernel_pipeline(target)


def test_targets_have_their_limits() -> None:
    most = {name: target.limits.max_buffers for name, target in TARGETS.items()}
    assert most["webgpu"] < most["cuda"] < most["cpu"]
    with pytest.raises(ConfigError, match="target"):
        make_pass(CheckFusion, "target=tpu")


def test_the_check_is_linear_and_fast() -> None:
    """One pass over many regions; the bound is many times what an idle machine takes."""

    def seconds(count: int) -> float:
        names = ["x", *(f"v{number}" for number in range(count))]
        body = "".join(region(result, operand) for operand, result in pairwise(names))
        text = function(body, names[-1])
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            start = time.process_time()
            CheckFusion().run(module.operation)
            return time.process_time() - start

    seconds(10)
    few, many = seconds(500), seconds(4000)
    assert many < 4000 * 200e-6
    assert many < 8 * 4 * few
