# SPDX-License-Identifier: MIT OR Apache-2.0
"""One meaning a word: names of classes, and words that the glossary replaces by the field's."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from module_imports import syntax_tree

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dialects", "passes", "tools", "xyntra")
GLOSSARY = ROOT / "docs" / "glossary.md"
REPLACED = re.compile(
    r"\bparked[ _-]rows?\b|\bspread[ _-]updates\b|\bneighbouring elements\b"
    r"|\bhow many neighbours\b|\bneighbours in (global |shared )?memory\b"
    r"|\bwaits? in shared memory\b"
    r"|\bsums_(tile|bytes)\b|\b(thread|lane|warp)s?'s? (own )?sums\b"
    r"|\bissues? (a|one) product\b|\bchange places by an exclusive or\b",
    re.IGNORECASE,
)
"""Of the glossary's last table, in prose and in names."""


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in syntax_tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_replaced_words_do_not_come_back() -> None:
    pages = [page for page in sorted(ROOT.glob("docs/**/*.md")) if page != GLOSSARY]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*sources(), *pages]
        for match in REPLACED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_check_sees_what_the_glossary_replaces() -> None:
    table = GLOSSARY.read_text(encoding="utf-8").split("## Words that we do not use")[1]
    words = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    assert words[2:]
    assert all(REPLACED.search(each) for each in words[2:])
