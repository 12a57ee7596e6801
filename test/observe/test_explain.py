# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report adds up and names every kernel."""

from __future__ import annotations

import pytest

from xyntra.observe.explain import explain
from xyntra.plan.plan import Buffer, KernelCode, Plan, Port, Step


def make_plan(nodes: list[tuple[str, ...]]) -> Plan:
    """A chain of kernels over 1000-byte buffers, the first of which runs at load."""
    count = len(nodes)
    buffers = [Buffer("parameter", 1000, name="w")]
    buffers += [Buffer("prepared" if i == 0 else "temporary", 1000) for i in range(count - 1)]
    buffers.append(Buffer("output", 1000))
    return Plan(
        inputs=(),
        outputs=(Port("y", "uint8", (1000,), count),),
        buffers=tuple(buffers),
        steps=tuple(
            Step(f"k{i % 2}", (i,), (i + 1,), names, once=i == 0) for i, names in enumerate(nodes)
        ),
        kernels={
            "k0": KernelCode("row", 1_500_000, 0, (), "", ""),
            "k1": KernelCode("elementwise", 1000, 0, (), "", ""),
        },
        operations=9,
    )


def test_totals() -> None:
    text = explain(make_plan([("a",), ("b",), ("c",)]))
    assert text.splitlines()[0] == (
        "9 operations became 2 kernels a call (2 distinct, 1 run once at load)"
    )
    assert "1 elementwise" in text
    assert "1 row" in text
    # Each call reads and writes 1000 bytes; what runs at load does not count.
    assert "moves at least 4 kB and computes 1.5 MFLOP; weights: 1 kB" in text


def test_rows() -> None:
    lines = explain(make_plan([("a",), ("b", "c"), ("d",)])).splitlines()
    rows = [line.split() for line in lines[-3:]]
    assert rows[0] == ["0", "row", "(once)", "k0", "2", "k", "1.5", "M", "a"]
    assert rows[1] == ["1", "elementwise", "k1", "2", "k", "1", "k", "b,", "c"]
    assert not any(line != line.rstrip() for line in lines)
    starts = {line.index(word) for line, word in zip(lines[-3:], ("k0", "k1", "k0"), strict=True)}
    assert len(starts) == 1


def test_times() -> None:
    lines = explain(make_plan([("a",), ("b",), ("c",)]), [0, 1500, 20]).splitlines()
    assert lines[-4].split()[-2:] == ["us", "nodes"]
    assert [line.split()[-2] for line in lines[-3:]] == ["0.0", "1.5", "0.0"]


def test_many_nodes_are_counted() -> None:
    names = tuple(f"n{i}" for i in range(10))
    assert explain(make_plan([("a",), names])).endswith("n0, n1, n2, n3, n4, n5 and 4 more")


def test_a_shared_folder_is_said_once() -> None:
    text = explain(make_plan([("/model/a/x",), ("/model/a/y", "/model/b")]))
    assert text.count("/model/") == 1
    assert "every node's name begins with /model/\n" in text
    assert text.endswith("a/y, b")


@pytest.mark.parametrize(
    "nodes", [[("a/x",), ("b/y",)], [("a/x",), ("ab/y",)], [("a/x",)], [("a",), ("a/b",)]]
)
def test_names_without_a_shared_folder_stay(nodes: list[tuple[str, ...]]) -> None:
    text = explain(make_plan(nodes))
    assert "begins with" not in text
    assert all(name in text for names in nodes for name in names)


def test_a_model_without_kernels() -> None:
    text = explain(Plan((), (), (), ()))
    assert text.startswith("0 operations became 0 kernels")
    assert "kinds: none" in text
