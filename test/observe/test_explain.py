# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report adds up, names every kernel and says why kernels stayed apart."""

from __future__ import annotations

from dataclasses import replace

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
            "k0": KernelCode("row", 1_500_000, 0, (), ""),
            "k1": KernelCode("elementwise", 1000, 0, (), ""),
        },
        operations=9,
    )


def rows_of(text: str, title: str) -> list[list[str]]:
    """Cells of the table below the line that begins with `title`, header first."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(title)) + 1
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [line.split() for line in lines[start:end]]


def flat(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def test_totals() -> None:
    text = explain(make_plan([("a",), ("b",), ("c",)]))
    assert text.splitlines()[0] == (
        "9 operations became 2 kernels a call (2 distinct); 1 more run once, at load"
    )
    assert "kinds: 1 elementwise, 1 row" in text
    assert "weights: 1 kB" in text
    # Each call reads and writes 1000 bytes; what runs at load does not count.
    assert "bytes moved - 4 kB" in flat(text)
    assert "operations 1.5 MFLOP" in flat(text)


def test_what_is_not_known_is_not_shown() -> None:
    text = explain(make_plan([("a",), ("b",), ("c",)]))
    assert "predicted time - -" in flat(text)
    header = rows_of(text, "kernels of a call")[0]
    assert header == ["#", "x", "kind", "bytes", "flops", "kernel", "nodes"]
    assert "why kernels stayed apart was not recorded" in text


def test_rows() -> None:
    text = explain(make_plan([("a",), ("b", "c"), ("d",)]))
    assert rows_of(text, "kernels of a call")[1:] == [
        ["0", "1", "elementwise", "2", "k", "1", "k", "k1", "b,", "c"],
        ["1", "1", "row", "2", "k", "1.5", "M", "k0", "d"],
    ]
    assert rows_of(text, "kernels that run once")[1][:3] == ["L0", "1", "row"]
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_costs(costed: Plan) -> None:
    text = flat(explain(costed))
    assert "kernels 12 4 3 x less" in text
    assert "bytes moved 24 kB 8 kB 3 x less" in text
    assert "predicted time 30 us 10 us 3 x less" in text
    assert "operations 1 MFLOP" in text


def test_equal_kernels_share_a_line(costed: Plan) -> None:
    header, *rows = rows_of(explain(costed), "kernels of a call")
    assert header == "# x kind bytes flops predicted bound share kernel nodes".split()
    assert [row[:3] for row in rows] == [["0", "2", "contraction"], ["1", "2", "row"]]
    assert rows[0][-3:] == ["dot_1", "*/mm,", "*/add"]
    # 2 x 4 us of 10 us.
    assert rows[0][7:-3] == ["4", "us", "compute", "80.0%"]
    assert rows[1][7:-2] == ["1", "us", "memory", "20.0%"]


def test_each_kernel_has_a_line(costed: Plan) -> None:
    rows = rows_of(explain(costed, each=True), "kernels of a call")[1:]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert rows[2][-2:] == ["1/mm,", "1/add"]


def test_equal_kernels_of_other_cost_stay_apart(costed: Plan) -> None:
    steps = list(costed.steps)
    assert steps[-1].cost is not None
    steps[-1] = replace(steps[-1], cost=replace(steps[-1].cost, bytes=1))
    rows = rows_of(explain(replace(costed, steps=tuple(steps))), "kernels of a call")[1:]
    assert [row[:3] for row in rows] == [
        ["0", "2", "contraction"], ["1", "1", "row"], ["3", "1", "row"],
    ]  # fmt: skip


def test_reasons_are_in_words_and_add_up(costed: Plan) -> None:
    rows = rows_of(explain(costed), "what goes through memory")
    assert rows[0] == ["tensors", "bytes", "predicted", "why"]
    assert rows[1][:5] == ["2", "2", "kB", "1.4", "us"]
    assert " ".join(rows[1][5:]).startswith("both kernels are built around a matrix product")
    assert rows[2][:5] == ["2", "2", "kB", "600", "ns"]


def test_an_unknown_reason_stays_as_it_is(costed: Plan) -> None:
    step = costed.steps[-1]
    assert step.boundaries is not None
    changed = replace(step, boundaries=(replace(step.boundaries[0], reason="new-one"),))
    text = explain(replace(costed, steps=(*costed.steps[:-1], changed)))
    assert text.splitlines()[-2].endswith("new-one")


def test_times(costed: Plan) -> None:
    text = explain(costed, [3000, 1000, 5000, 1000])
    header, *rows = rows_of(text, "kernels of a call")
    assert header[7:9] == ["measured", "share"]
    assert rows[0][10:13] == ["4", "us", "80.0%"]
    assert "measured time 10 us" in flat(text)


def test_a_width_cuts_lines(costed: Plan) -> None:
    lines = explain(costed, width=60).split("kernels of a call")[1].splitlines()
    assert max(map(len, lines)) == 60
    assert any(line.endswith("…") for line in lines)


def test_many_nodes_are_counted() -> None:
    names = tuple(f"n{i}" for i in range(10))
    assert "n0, n1, n2, n3, n4, n5 and 4 more\n" in explain(make_plan([("a",), names]))


def test_control_characters_of_names_are_escaped() -> None:
    text = explain(make_plan([("a",), ("b\x1b[31m\n",)]))
    assert "b\\x1b[31m\\x0a" in text
    assert "\x1b" not in text


def test_a_shared_folder_is_said_once() -> None:
    text = explain(make_plan([("/model/a/x",), ("/model/a/y", "/model/b")]))
    assert text.count("/model/") == 1
    assert "every node's name begins with /model/\n" in text
    assert "  a/y, b\n" in text


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


def test_every_kernel_shows_its_schedules_once() -> None:
    plan = make_plan([("a",), ("b",), ("c",), ("d",)])
    assert "schedules" not in explain(plan)  # nothing is known of them
    told = ("mma tile [128, 64] warps [2, 2]", "reduction")
    kernels = {**plan.kernels, "k0": replace(plan.kernels["k0"], schedules=told)}
    lines = explain(replace(plan, kernels=kernels)).splitlines()
    start = lines.index("schedules of each kernel, in order")
    shown = ["L0 k0", "  1 mma tile [128, 64] warps [2, 2]", "  2 reduction", ""]
    assert lines[start + 1 : start + 5] == shown
