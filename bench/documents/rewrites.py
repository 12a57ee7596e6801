# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the tables in the page of rewrite rules: `python -m bench.documents.rewrites`."""

from __future__ import annotations

import argparse
from pathlib import Path

from xyntra.passes.recognize.egraph.rules.all_rules import ALL_RULES
from xyntra.passes.recognize.egraph.rules.rule import Rule, Tier

__all__ = ["render"]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "rewrites.md"
_TIERS = {Tier.EXACT: "exact", Tier.REORDER: "reorder", Tier.FAST: "fast"}


def render() -> str:
    """The page's text: what stands before the first table is kept."""
    head, _, _ = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {next(iter(ALL_RULES))}\n")
    parts = [head]
    for heading, rules in ALL_RULES.items():
        parts.append(f"\n## {heading}\n\n| rule | `math` | left | right | where |\n")
        parts.append("| --- | --- | --- | --- | --- |\n")
        parts += map(_row, rules)
    return "".join(parts)


def _row(rule: Rule) -> str:
    conditions = ", ".join(f"`{condition}`" for condition in rule.when)
    where = "; ".join(filter(None, (conditions, rule.note)))
    tier = _TIERS[rule.tier]
    return f"| {rule.name} | {tier} | `{rule.left}` | `{rule.right}` | {where} |\n"


if __name__ == "__main__":
    program = "python -m bench.documents.rewrites"
    argparse.ArgumentParser(prog=program, description=__doc__).parse_args()
    DOCUMENT.write_text(render(), encoding="utf-8")
