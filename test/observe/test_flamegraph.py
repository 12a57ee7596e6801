# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time is added up by stacks, and drawn as wide as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from xyntra.errors import InputError
from xyntra.observe.timing.flamegraph import write_flamegraph
from xyntra.observe.timing.live_memory import live_bytes
from xyntra.observe.timing.stacks import stacks_of_call, stacks_of_spans
from xyntra.plan.plan import Plan


def spans(*given: tuple[str, int, int, int]) -> list[dict[str, object]]:
    return [
        {"name": name, "start": start, "end": end, "process": 7, "thread": thread}
        for name, start, end, thread in given
    ]


def test_time_of_a_span_is_without_what_is_in_it() -> None:
    found = spans(("all", 0, 100, 1), ("a", 10, 40, 1), ("b", 20, 30, 1), ("a", 50, 60, 1))
    other = spans(("all", 5, 25, 2))
    assert stacks_of_spans([*found, *other], {7: "worker"}) == {
        ("worker", "all"): 80,
        ("worker", "all", "a"): 30,
        ("worker", "all", "a", "b"): 10,
    }


def test_kernels_lie_in_the_part_that_their_nodes_share(costed: Plan) -> None:
    assert stacks_of_call(costed, [1000, 2500, 500, 10]) == {
        ("l", "0", "contraction: mm, add"): 1000,
        ("l", "0", "row: soft"): 2500,
        ("l", "1", "contraction: mm, add"): 500,
        ("l", "1", "row: soft"): 10,
    }


def test_an_svg_has_a_box_for_each_frame_as_wide_as_its_time(tmp_path: Path) -> None:
    path = tmp_path / "f.svg"
    write_flamegraph(str(path), {("<a>", "b"): 750, ("<a>",): 250}, "a & b")
    boxes = dict(re.findall(r'<title>(.*?): .*?</title><rect .*?width="(.*?)"', path.read_text()))
    assert boxes == {"all": "1200.0", "&lt;a&gt;": "1200.0", "b": "900.0"}


def test_speedscope_has_samples_of_frames(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    write_flamegraph(str(path), {("a", "b"): 750, ("a",): 250}, "m")
    found = json.loads(path.read_text())
    frames = [each["name"] for each in found["shared"]["frames"]]
    (profile,) = found["profiles"]
    stacks = [[frames[number] for number in sample] for sample in profile["samples"]]
    assert dict(zip(map(tuple, stacks), profile["weights"], strict=True)) == {
        ("a", "b"): 750,
        ("a",): 250,
    }
    assert profile["endValue"] == 1000


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("neither in .svg nor in .json")):
        write_flamegraph(str(tmp_path / "f.txt"), {("a",): 1}, "m")


def test_temporaries_are_live_from_the_first_write_to_the_last_read(costed: Plan) -> None:
    assert live_bytes(costed) == [1000, 2000, 2000, 1000]
