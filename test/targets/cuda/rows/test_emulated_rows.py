# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of clusters, columns and reductions in parts, run without a GPU: values, races, bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from emulator import run_artifact

from verify.random_models.case import Case
from verify.random_models.check import compared
from verify.random_models.compile import compile_case
from verify.random_models.maker import CaseMaker
from verify.random_models.reference import expected
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.rows import row_plan
from xyntra.targets.cuda.code.kernel_image import KernelImage


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


def _check(case: Case, context: ir.Context) -> list[tuple[int, int]]:
    """Compile a case, compare it with float64, and return blocks and clusters of its launches."""
    artifact = compile_case(case, "sm_90a", context)
    inputs = case.arrays("input")
    arrays = [inputs[port.name] for port in artifact.plan.inputs]
    finding = compared(run_artifact(artifact, arrays, case.arrays("weight")), expected(case))
    assert not finding.problem
    assert finding.unknown < finding.elements
    images = [KernelImage.from_bytes(each) for each in artifact.objects.values()]
    return [(launch.grid, launch.cluster) for image in images for launch in image.launches]


def _reduced(
    operator: str, shape: Sequence[int], axes: Sequence[int], dtype: str, *, special: bool = False
) -> Case:
    m = CaseMaker("row", 7)
    m.special = special
    x = m.leaf(dtype, shape)
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return m.finish(m.step(operator, [x], kept, constants={"1": list(axes)}, keepdims=1), label="")


@pytest.mark.parametrize(
    ("rows", "length", "dtype"), [(1, 40001, "float32"), (2, 65536, "float16")]
)
def test_a_cluster_shares_a_row(rows: int, length: int, dtype: str, context: ir.Context) -> None:
    m = CaseMaker("row", 7)
    x = m.leaf(dtype, (rows, length), scale=3.0)
    case = m.finish(m.step("Softmax", [x], x.shape, axis=-1), label="")
    assert _check(case, context) == [(8 * rows, 8)]


def test_the_blocks_of_a_cluster_meet_once_for_a_softmax(context: ir.Context) -> None:
    m = CaseMaker("row", 7)
    m.special = True
    x = m.leaf("float32", (2, 36868), scale=3.0)
    case = m.finish(m.step("Softmax", [x], x.shape, axis=-1), label="")
    assert _check(case, context) == [(16, 8)]
    (code,) = compile_case(case, "sm_90a", context).objects.values()
    assert bytes(code).count(b"barrier.cluster.arrive") == 2  # they run, and their pairs are there
    assert bytes(code).count(b"st.shared::cluster.b64") == 1


@pytest.mark.parametrize(
    ("rows", "length", "dtype", "cluster"),
    [
        (3, 10008, "bfloat16", 1),
        (2, 5001, "float32", 1),
        (1, 30004, "float32", 4),
        (1, 190004, "float32", 8),
    ],
)
def test_rows_wait_in_shared_memory(
    rows: int,
    length: int,
    dtype: str,
    cluster: int,
    context: ir.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_plan, "_MANY_BLOCKS", 0)
    m = CaseMaker("row", 7)
    m.special = True
    x = m.leaf(dtype, (rows, length), scale=3.0)
    case = m.finish(m.step("Softmax", [x], x.shape, axis=-1), label="")
    assert _check(case, context) == [(cluster * rows, cluster)]


@pytest.mark.parametrize(
    ("shape", "axis"), [((4099, 3), 1), ((50, 2), 1), ((33, 15), 1), ((2, 5, 70), 1), ((3, 67), 0)]
)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_short_rows_are_one_launch(
    shape: tuple[int, ...], axis: int, dtype: str, context: ir.Context
) -> None:
    m = CaseMaker("row", 7)
    m.special = True
    x = m.leaf(dtype, shape, scale=3.0)
    case = m.finish(m.step("Softmax", [x], x.shape, axis=axis), label="")
    assert len(_check(case, context)) == 1


@pytest.mark.parametrize("shape", [(77, 100), (300, 33), (9, 64), (40, 4100)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_columns(shape: tuple[int, int], dtype: str, context: ir.Context) -> None:
    case = _reduced("ReduceMean", shape, [0], dtype, special=True)
    assert len(_check(case, context)) == 1


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((8192, 32), [0]), ((2, 1 << 17), [1]), ((512, 512), [0, 1])]
)
def test_long_reductions_in_parts(
    operator: str, shape: tuple[int, int], axes: list[int], context: ir.Context
) -> None:
    (first, _), (last, _) = _check(_reduced(operator, shape, axes, "float32"), context)
    assert first > 8 * last


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "launch"),
    [
        ((2, 21, 40), 1, "float32", (5, 1)),
        ((3, 200, 33), 1, "float16", (13, 1)),
        ((100, 65), 0, "bfloat16", (9, 1)),
        ((2, 900, 12), 1, "float16", (3, 1)),  # 128 threads for each
        ((3, 15, 1500), 1, "float32", (141, 1)),  # enough blocks of 32
    ],
)
def test_rows_across_memory_lie_side_by_side(
    shape: tuple[int, ...], axis: int, dtype: str, launch: tuple[int, int], context: ir.Context
) -> None:
    m = CaseMaker("row", 7)
    m.special = True
    x = m.leaf(dtype, shape, scale=3.0)
    case = m.finish(m.step("Softmax", [x], x.shape, axis=axis), label="")
    assert _check(case, context) == [launch]


@pytest.mark.parametrize(("length", "rows"), [(16, 32), (24, 16)])
def test_short_rows_share_a_warp(length: int, rows: int, context: ir.Context) -> None:
    case = _reduced("ReduceMean", (4097, length), [1], "float32", special=True)
    ((blocks, _),) = _check(case, context)
    assert blocks == -(-4097 // rows)


@pytest.mark.parametrize(("shape", "axes"), [((3, 100003), [1]), ((20011, 20), [0])])
def test_long_reductions_of_any_length_in_parts(
    shape: tuple[int, ...], axes: list[int], context: ir.Context
) -> None:
    (first, _), *_ = _check(_reduced("ReduceMax", shape, axes, "float32"), context)
    assert first > 16
