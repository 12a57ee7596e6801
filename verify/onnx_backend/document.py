# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the page on ONNX's node tests: `python -m verify.onnx_backend.document`.

It reads what `python -m verify.onnx_backend` left below bench/results for both backends.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region, table
from verify.onnx_backend.cases import DISPUTED, OUTCOMES

__all__ = ["DOCUMENT", "REGION", "RESULTS", "render"]

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "node-tests.md"
REGION = Region("python -m verify.onnx_backend.document")
RESULTS = {
    name: ROOT / f"bench/results/node_tests-{name}.json" for name in ("xyntra", "onnxruntime")
}


def render(results: dict[str, dict[str, Any]]) -> str:
    """The machines, the counts of both backends, what is disputed, and the table by operator."""
    lines = [f"{_measured(name, each)}\n" for name, each in results.items()]
    counts = {name: _counts(each["tests"].values()) for name, each in results.items()}
    rows = [[name, *(str(counts[name][what]) for what in OUTCOMES)] for name in results]
    lines += table(("backend", *OUTCOMES), rows)
    lines += ["", "Disputed:", ""]
    lines += [f"* `{name}`: {case.reason}" for name, case in DISPUTED.items()]
    lines += ["", *table(("operator", "tests", *results), _by_operator(results))]
    return "\n".join(lines) + "\n"


def _measured(name: str, result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(
        f"{library} {machine['versions'][library]}" for library in ("xyntra", "onnx", "onnxruntime")
    )
    return (
        f"{name}: run {machine['date'][:10]} on {machine['cpu']}, {machine['cores_allowed']} "
        f"cores, {machine['python']}; {versions}."
    )


def _counts(tests: Any) -> Counter[str]:
    return Counter(each["what"] for each in tests)


def _by_operator(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """For each operator its tests, and how many of them are right on each backend."""
    right = {
        name: Counter(e["operator"] for e in each["tests"].values() if e["what"] == "right")
        for name, each in results.items()
    }
    first = next(iter(results.values()))["tests"]
    total = Counter(each["operator"] for each in first.values())
    return [
        [name, str(total[name]), *(str(right[each][name]) for each in results)]
        for name in sorted(total)
    ]


def main() -> None:
    """Write the table into the page."""
    program = "python -m verify.onnx_backend.document"
    argparse.ArgumentParser(prog=program, description=__doc__).parse_args()
    REGION.update(DOCUMENT, render({n: json.loads(p.read_text()) for n, p in RESULTS.items()}))


if __name__ == "__main__":
    main()
