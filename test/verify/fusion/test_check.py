# SPDX-License-Identifier: MIT OR Apache-2.0
"""The comparison of random graphs must find what is wrong, and only that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from verify.fusion.check import Checker, Finding, check_order, failure, mismatches
from verify.fusion.command import Report, random_graph, run_graph, summary
from verify.fusion.graphs import Graph, Node, evaluate
from verify.fusion.random import generate
from verify.fusion.shrink import shrink, write_reproducer
from verify.fusion.values import Known, exact
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.executable import Executable


def _graph(*nodes: Node, outputs: tuple[int, ...] = (-1,)) -> Graph:
    leaf = Node("input", data=np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
    every = (leaf, *nodes)
    return Graph(every, tuple(i % len(every) for i in outputs))


class _WrongSum(Checker):
    """A compiler whose fused kernels subtract instead of adding."""

    def compiled(self, graph: Graph, *, fuse: bool) -> Executable:
        nodes = tuple(replace(n, op="sub") if fuse and n.op == "add" else n for n in graph.nodes)
        return super().compiled(replace(graph, nodes=nodes), fuse=fuse)


def _order(text: str) -> None:
    with make_context(allow_unregistered_dialects=True):
        check_order(ir.Module.parse(text).body)


def test_a_wrong_result_is_found(checker: Checker) -> None:
    graph = _graph(Node("tanh", (0,)), Node("add", (0, 1)), Node("exp", (2,)))
    broken = _WrongSum(checker.context)
    with pytest.raises(Finding, match="fused output 0") as found:
        broken.check(graph)
    assert found.value.kind == "mismatch"
    assert checker.check(graph).elements == 12


def test_what_is_found_becomes_small(checker: Checker, tmp_path: Path) -> None:
    broken = _WrongSum(checker.context)
    nodes = (Node("tanh", (0,)), Node("neg", (1,)), Node("add", (1, 2)), Node("exp", (3,)))
    report = run_graph(broken, _graph(*nodes, outputs=(4, 2)), 7, tmp_path)
    assert report.kind == "mismatch"
    text = (tmp_path / "mismatch-7.mlir").read_text()
    assert "arith.addf" in text
    assert "math.tanh" not in text
    with np.load(tmp_path / "mismatch-7.npz") as arrays:
        assert all(array.shape == (3, 4) for array in arrays.values())


def test_shrinking_keeps_what_matters() -> None:
    graph = generate(Random(3), 10)
    target = next(node.op for node in graph.nodes if node.data is None)
    small = shrink(graph, lambda g: any(node.op == target for node in g.nodes))
    assert [node.op for node in small.nodes if node.data is None] == [target]


def test_an_exception_is_reported(checker: Checker) -> None:
    found, outcome = failure(checker, _graph(Node("reshape", (0,), {"shape": (5,)})))
    assert found is not None
    assert found[0] == "error"
    assert outcome is None


def test_a_cycle_is_found() -> None:
    with pytest.raises(Finding, match="2 operations wait") as found:
        _order('%0 = "a.b"(%1) : (i1) -> i1\n%1 = "a.b"(%0) : (i1) -> i1')
    assert found.value.kind == "cycle"


def test_a_cycle_through_regions_is_found() -> None:
    with pytest.raises(Finding, match="wait for each other"):
        _order(
            '%0 = "a.b"() ({ "a.c"(%1) : (i1) -> () }) : () -> i1\n'
            '%1 = "a.b"() ({ "a.c"(%0) : (i1) -> () }) : () -> i1'
        )


def test_a_use_before_the_value_is_found() -> None:
    with pytest.raises(Finding, match="computed after") as found:
        _order('"a.c"(%1) : (i1) -> ()\n%1 = "a.b"() : () -> i1')
    assert found.value.kind == "illegal"


def test_order_is_accepted() -> None:
    _order('%0 = "a.b"() : () -> i1\n"a.c"() ({ "a.c"(%0) : (i1) -> () }) : () -> ()')


@pytest.mark.parametrize(
    ("array", "wrong"),
    [
        ([1.0, 2.0, np.nan, np.inf], [0, 0, 0, 0]),
        ([1.1, 2.0, np.nan, np.inf], [1, 0, 0, 0]),
        ([1.05, 9.0, 0.0, -np.inf], [0, 0, 1, 1]),
        ([np.inf, np.nan, np.inf, 1.0], [1, 0, 1, 1]),
    ],
)
def test_floats_must_lie_within_their_bounds(array: list[float], wrong: list[int]) -> None:
    """The second element is unknown: anything may stand there."""
    error = np.array([0.02, np.inf, 0.0, 0.0])
    reference = Known("float32", np.array([1.0, 2.0, np.nan, np.inf]), error)
    found = mismatches(np.array(array, np.float32), reference, 4.0)
    assert found.tolist() == [bool(flag) for flag in wrong]


def test_integers_must_be_exact() -> None:
    reference = Known("int64", np.array([1 << 60, 5]), np.array([0.0, np.inf]))
    found = mismatches(np.array([(1 << 60) + 1, 6]), reference, 4.0)
    assert found.tolist() == [True, False]


@pytest.mark.parametrize("number", range(20))
def test_bounds_are_worth_something(number: int) -> None:
    """The same seed gives the same graph, and of most elements nearly everything is known."""
    graph = random_graph(5, number)
    values = [evaluate(g)[i] for g in (graph, random_graph(5, number)) for i in graph.outputs]
    half = len(values) // 2
    for one, other in zip(values[:half], values[half:], strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        assert one.certain.mean() > 0.3 if one.value.size else True


def test_one_rounding_is_bounded_by_one_unit() -> None:
    graph = _graph(Node("mul", (0, 0)))
    known = evaluate(graph)[1]
    product = graph.nodes[0].data ** 2  # type: ignore[operator]
    assert (np.abs(product - known.value) <= known.error).all()
    assert (known.error <= 1.3e-7 * np.abs(known.value) + 1e-44).all()


def test_inputs_are_exact() -> None:
    assert not exact(np.ones(3, np.float32)).error.any()


def test_reports_are_added_up() -> None:
    reports = [
        Report(0, "ok", "", {"add": 2}, {"float32": 1}, {"fused": 1}),
        Report(1, "mismatch", "off", {"add": 1}, {"float32": 1}),
    ]
    result = summary(reports)
    assert result["operations"] == {"add": 3}
    assert result["found"]["mismatch"] == 1
    assert [problem["number"] for problem in result["problems"]] == [1]


def test_reproducers_hold_bfloat16(checker: Checker, tmp_path: Path) -> None:
    leaf = Node("input", data=np.ones((2,), np.dtype("bfloat16")))
    paths = write_reproducer(tmp_path, "x", Graph((leaf,), (0,)), "nothing", checker.context)
    with np.load(paths[1]) as arrays:
        assert arrays["input0"].tolist() == [0x3F80, 0x3F80]
