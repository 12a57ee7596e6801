# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write measurements of fusion into docs/fusion-results.md: `python -m bench.documents.fusion`.

Every number in the document comes from the JSON files in bench/results that `fusion_table`,
`fusion_scale` and `fuzz_fusion` have written on one machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.documents.markdown import Region
from bench.harness.files import atomic_path
from bench.harness.measure import ROOT

__all__ = ["DOCUMENT", "main", "render", "update_document"]

DOCUMENT = ROOT / "docs" / "fusion-results.md"
_PARTS = {
    "fusion_table": "bench.fusion.table",
    "fusion_scale": "bench.fusion.scale",
    "fuzz_fusion": "verify.fusion",
}
"""What measures each part, by the name that its results begin with."""


def main() -> int:
    """Write the document from the results of this folder."""
    argparse.ArgumentParser(
        prog="python -m bench.documents.fusion", description=__doc__
    ).parse_args()
    update_document(DOCUMENT, ROOT / "bench" / "results")
    return 0


def update_document(document: Path, results: Path) -> None:
    """Replace what is between the markers of each part whose result is there.

    Raises:
        ValueError: the markers of a part are not in the document once each, in order.
    """
    text = document.read_text(encoding="utf-8")
    for part, module in _PARTS.items():
        found = sorted(results.glob(f"{part}-*.json"), key=lambda path: path.stat().st_mtime)
        if found:
            result = json.loads(found[-1].read_text(encoding="utf-8"))
            text = Region(f"python -m {module}").replace(text, render(part, result))
    with atomic_path(document) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(part: str, result: dict[str, Any]) -> str:
    """The Markdown of one part."""
    tables = {"fusion_table": _models, "fusion_scale": _scale, "fuzz_fusion": _fuzz}
    return "\n".join([_machine(result), "", *tables[part](result)]) + "\n"


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = machine["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return (
        f"Measured {machine['date'][:10]} on {machine['cpu']}, {machine['cores_allowed']} cores, "
        f"{machine['python']}; {named}. Load average before: {machine['load_average']}."
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ("---", *["---:"] * (len(header) - 1)), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _models(result: dict[str, Any]) -> list[str]:
    header = (
        "model", "operations", "kernels unfused", "**kernels**", "at load", "upstream", "Inductor",
        "fusion, s", "of processor time",
    )  # fmt: skip
    return _table(header, map(_model, result["rows"]))


def _model(row: dict[str, Any]) -> tuple[str, ...]:
    inductor = row.get("inductor")
    return (
        row["title"],
        str(row["operations"]),
        str(row["unfused"]),
        f"**{row['launches']}**",
        str(row["launches_at_load"]),
        str(row["upstream"]),
        str(inductor["launches"]) if inductor else "",
        f"{row['ours_seconds']:.2f}",
        f"{row['ours_cpu_seconds']:.2f}",
    )


def _scale(result: dict[str, Any]) -> list[str]:
    names = list(dict.fromkeys(e["name"] for row in result["rows"] for e in row["passes"]))
    header = ["pass, s", *(_size(row) for row in result["rows"])]
    lines = [[name, *(_seconds(row, name) for row in result["rows"])] for name in names]
    totals = {
        "ours": "ours_seconds",
        "ours, processor time": "ours_cpu_seconds",
        "upstream": "upstream_seconds",
    }
    for title, key in totals.items():
        lines.append([f"**{title}**", *(f"{row[key]:.2f}" for row in result["rows"])])
    each = (f"{row['microseconds_per_operation']:.0f}" for row in result["rows"])
    lines.append(["ours, us an operation", *each])
    lines.append(["kernels", *(str(row["launches"]) for row in result["rows"])])
    return _table(header, lines)


def _size(row: dict[str, Any]) -> str:
    blocks = "" if row["templates"] is not None else ", no repeated blocks"
    return f"{row['operations']:,} operations{blocks}"


def _seconds(row: dict[str, Any], name: str) -> str:
    return f"{sum(e['seconds'] for e in row['passes'] if e['name'] == name):.3f}"


def _fuzz(result: dict[str, Any]) -> list[str]:
    counts, found = result["counts"], result["found"]
    wrong = ", ".join(f"{count} {kind}" for kind, count in found.items())
    operations = ", ".join(f"{name} {count}" for name, count in result["operations"].items())
    return [
        f"{result['graphs']:,} graphs (seed {result['seed']}): {wrong}. "
        f"{counts['unfused']:,} kernels became {counts['fused']:,}. "
        f"{counts['elements']:,} elements were compared; of {counts['unknown']:,} of them nothing "
        f"is known (a comparison of nearly equal numbers, for example). In "
        f"{counts['identical']:,} graphs fused and unfused results have the same bits.",
        "",
        f"Nodes by operation: {operations}.",
    ]


if __name__ == "__main__":
    sys.exit(main())
