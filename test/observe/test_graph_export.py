# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs name every kernel and join the right ones."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest

from xyntra.dialects import Kind
from xyntra.observe.graph_export import to_dot, to_json
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step
from xyntra.plan.source_graph import SourceGraph, SourceNode

ODD = 'a"b\\c'


@pytest.fixture
def plan() -> Plan:
    """x -> k0 -> k1 -> y, where k1 also reads x and a weight; and x -> k0 -> z."""
    return Plan(
        inputs=(Port(ODD, "float32", (2, 3), 0),),
        outputs=(Port("y", "float32", (6,), 3), Port("z", "bool", (), 4)),
        buffers=(
            Buffer("input", 24),
            Buffer("parameter", 8, name="w"),
            Buffer("temporary", 24),
            Buffer("output", 24),
            Buffer("output", 1),
        ),
        steps=(
            Step("e", (0,), (2,), ("n1", "n2"), once=False),
            Step("r", (2, 0, 1), (3,), tuple("abcdef"), once=False),
            Step("e", (0,), (4,), (ODD,), once=False),
        ),
        kernels={
            "e": KernelCode("elementwise", 6, 0, (), ""),
            "r": KernelCode("row", 7, 0, (), ""),
        },
        operations=8,
    )


def edges(dot: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^  (\w+) -> (\w+)", dot, re.M))


def test_dot_joins_writers_and_readers(plan: Plan) -> None:
    assert edges(to_dot(plan)) == {
        ("b0", "k0"), ("k0", "k1"), ("b0", "k1"), ("b0", "k2"), ("k1", "o0"), ("k2", "o1"),
    }  # fmt: skip


def test_dot_is_well_formed(plan: Plan) -> None:
    dot = to_dot(plan)
    unquoted = re.sub(r'"(\\.|[^"\\])*"', '""', dot)
    assert unquoted.count("{") == unquoted.count("}") == 1
    assert unquoted.count("[") == unquoted.count("]")
    assert '"' not in unquoted.replace('""', "")
    assert "\\\\c" in dot
    assert "and 2 more" in dot
    assert dot.endswith("}\n")


def test_a_kernel_in_place_is_joined_in_order() -> None:
    plan = Plan(
        inputs=(Port("x", "float32", (1,), 0),),
        outputs=(Port("y", "float32", (1,), 2),),
        buffers=(Buffer("input", 4), Buffer("temporary", 4), Buffer("output", 4)),
        steps=(
            Step("k", (0,), (1,), ("a",), once=False),
            Step("k", (1,), (1,), ("b",), once=False),
            Step("k", (1,), (2,), ("c",), once=False),
        ),
        kernels={"k": KernelCode("elementwise", 1, 0, (), "")},
    )
    assert edges(to_dot(plan)) == {("b0", "k0"), ("k0", "k1"), ("k1", "k2"), ("k2", "o0")}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_a_colour(kind: str) -> None:
    plan = Plan(
        (), (), (), (Step("k", (), (), (), once=False),), {"k": KernelCode(kind, 0, 0, (), "")}
    )
    assert f'k0 [label="{kind}' in to_dot(plan)


def test_json_holds_the_plan(plan: Plan) -> None:
    found = json.loads(to_json(plan))
    assert found["operations"] == 8
    assert [kernel["nodes"] for kernel in found["kernels"]] == [list(s.nodes) for s in plan.steps]
    assert [kernel["reads"] for kernel in found["kernels"]] == [[0], [2, 0, 1], [0]]
    assert [kernel["bytes"] for kernel in found["kernels"]] == [48, 80, 25]
    assert found["inputs"][0] == {"name": ODD, "dtype": "float32", "shape": [2, 3], "buffer": 0}
    assert found["buffers"][1] == {"kind": "parameter", "bytes": 8, "name": "w"}


SOURCE = SourceGraph(
    (
        SourceNode(("n1",), "Neg", ("linalg.generic", "arith.negf"), (), (-1,)),
        SourceNode((ODD,), "View", ("tensor.expand_shape",), (), (0,)),
        SourceNode(("gone",), "Reshape", ("tensor.expand_shape",), (), (1,)),
    ),
    (2, None),
)


def test_the_graph_before_has_its_nodes(plan: Plan) -> None:
    dot = to_dot(plan, SOURCE, "before")
    # The input, three nodes, two outputs; a constant gives the second output.
    assert edges(dot) == {("n0", "n1"), ("n1", "n2"), ("n2", "n3"), ("n3", "n4")}
    assert re.search(r'n1 \[label="Neg\\nn1", fillcolor="#cfe8cf"\]', dot)
    assert re.search(
        r'n3 \[label="Reshape\\ngone", fillcolor="white", style="filled,dashed"\]', dot
    )


def test_both_graphs_are_clusters(plan: Plan) -> None:
    dot = to_dot(plan, SOURCE, "both")
    assert edges(dot) == edges(to_dot(plan, SOURCE, "before")) | edges(to_dot(plan))
    unquoted = re.sub(r'"(\\.|[^"\\])*"', '""', dot)
    assert re.findall(r"subgraph (\w+) \{", unquoted) == ["cluster_before", "cluster_after"]
    assert unquoted.count("{") == unquoted.count("}") == 3


def test_both_graphs_as_json(plan: Plan) -> None:
    found = json.loads(to_json(plan, SOURCE, "both"))
    assert found["after"] == json.loads(to_json(plan))
    assert found["before"] == json.loads(to_json(plan, SOURCE, "before"))
    nodes = found["before"]["nodes"]
    assert [node["name"] for node in nodes] == ["n1", ODD, "gone"]
    assert [node["kernels"] for node in nodes] == [[0], [2], []]
    assert [node["reads"] for node in nodes] == [[{"input": 0}], [{"node": 0}], [{"node": 1}]]
    assert [output["reads"] for output in found["before"]["outputs"]] == [[{"node": 2}], []]


def test_json_says_why(costed: Plan) -> None:
    found = json.loads(to_json(costed))
    assert found["unfused"] == {"kernels": 12, "bytes": 24000, "nanoseconds": 30000.0}
    kernel = found["kernels"][2]
    assert (kernel["label"], kernel["predicted_ns"], kernel["bound"]) == ("1", 1000.0, "memory")
    (boundary,) = kernel["boundaries"]
    assert (boundary["kernel"], boundary["reason"], boundary["bytes"]) == (1, "two-anchors", 1000)
    assert boundary["why"].startswith("both kernels are built around")


def test_json_leaves_what_is_not_known_open(plan: Plan) -> None:
    found = json.loads(to_json(plan))
    assert found["unfused"] is None
    assert {kernel["boundaries"] for kernel in found["kernels"]} == {None}
    assert {kernel["predicted_ns"] for kernel in found["kernels"]} == {None}
