# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page holds everything, and nothing that a model says can leave its strings."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from hostile_model import EVIL, evil_model
from large_model import plan as large_plan
from large_model import source_graph as large_graph

from xyntra.observe.page.document import embedded_json, page
from xyntra.plan.plan import Plan
from xyntra.plan.source_graph import SourceGraph, SourceNode


def content_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.S)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_nothing_of_a_model_is_read_as_html(costed: Plan) -> None:
    plan, graph = evil_model(costed)
    text = page(plan, graph, None, EVIL)
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 2
    content = content_of(text)
    assert content["before"]["nodes"][1]["name"] == EVIL
    assert content["title"] == EVIL
    assert content["texts"]["row_1"] == EVIL
    assert content["reasons"][EVIL] == EVIL


def test_the_page_may_run_its_script_and_load_nothing(costed: Plan) -> None:
    text = page(costed, SourceGraph())
    script = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    # The policy comes before anything that it governs.
    assert text.index("Content-Security-Policy") < text.index("<style")
    assert not re.search(r"(https?:)?//[\w.]+\.\w", re.sub(r"//[^\n]*", "", text))
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b", text)


@pytest.mark.parametrize("character", [*"<>&", "\u2028", "é", "\ud800"])
def test_embedded_json_is_plain_ascii(character: str) -> None:
    text = embedded_json({character: [character]})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {character: [character]}


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded_json(float("nan"))


def test_the_content_is_complete(costed: Plan) -> None:
    names = ["/l/t", "/l/0/mm", "/l/0/add", "/l/0/view", "/l/0/soft", "/l/1/mm"]
    nodes = [SourceNode((name,), "Op", (), (), (i - 1,)) for i, name in enumerate(names)]
    content = content_of(page(costed, SourceGraph(tuple(nodes), (5,)), [1, 2, 3, 4], "m"))
    assert [kernel["label"] for kernel in content["kernels"]] == ["L0", "0", "1", "2", "3"]
    assert [kernel["measured"] for kernel in content["kernels"]] == [None, 1, 2, 3, 4]
    assert content["totals"]["unfused"] == {"kernels": 12, "bytes": 24000, "nanoseconds": 30000.0}
    before = content["before"]
    held = [node.get("kernels") for node in before["nodes"]]
    assert held == [None, [0], [1], [1], [], [2], [3], None]
    assert before["reads"] == [[], [0], [1], [2], [3], [4], [5], [6]]
    after = content["after"]
    assert [node.get("kernel") for node in after["nodes"]] == [None, 1, 2, 3, 4, None]
    assert after["reads"] == [[], [0], [1], [2], [3], [4]]
    assert [(b["producer"], b["consumer"]) for b in content["boundaries"]] == [
        (0, 1), (1, 2), (2, 3), (3, 4),
    ]  # fmt: skip
    assert content["recorded"] is True


def test_a_large_page_stays_small() -> None:
    text = page(large_plan(40), large_graph(40))
    content = content_of(text)
    assert sum(node["role"] == "node" for node in content["before"]["nodes"]) == 1000
    assert len(text) < 1_000_000
