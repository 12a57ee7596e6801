# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that files, folders, settings and options that the documents name are there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from xyntra.config import Config
from xyntra.passes.math.table import MAX_ULP
from xyntra.tools import opt
from xyntra.tools.cli import make_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "lit-tests" / "README.md"])
FOLDERS = (
    ".ci",
    "bench",
    "dialects",
    "docs",
    "examples",
    "lit-tests",
    "passes",
    "test",
    "tools",
    "verify",
)
EXAMPLES = {
    *("passes/views/fold_views.py", "lit-tests/passes/views/fold-views.mlir", "feed_forward.py"),
    *("path/to/settings.toml", "x/2", "site/", "plan.json", "web/", "trace.json", "FILE.json"),
}
_CODE = re.compile(r"```.*?```|<!-- begin: .*?<!-- end: ", re.DOTALL)
"""Code, and what programs write: messages of other projects, which name their own files."""
_PATH = re.compile(r"[\w./-]*\w\.(?:py|md|json|toml)\b|\b(?:[\w-]+/)+[\w.-]*")


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


def project_files() -> set[str]:
    roots = [*(ROOT / name for name in FOLDERS), ROOT / "xyntra"]
    found = [path for root in roots for path in root.rglob("*") if "__pycache__" not in path.parts]
    return {path.relative_to(ROOT).as_posix() for path in [*found, *ROOT.glob("*")]}


def named_paths(page: Path) -> set[str]:
    """Paths between backticks; what a reader has to fill in has brackets or three dots."""
    spans = re.findall(r"`([^`\n]+)`", _CODE.sub("", page.read_text(encoding="utf-8")))
    plain = [span for span in spans if not re.search(r"[<>…~*]|NAME|\.venv|fusion\.toml", span)]
    return {found for span in plain if " / " not in span for found in _PATH.findall(span)}


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_anchors_are_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    lost = [
        f"{file}#{anchor}"
        for file, anchor in links
        if "://" not in file and anchor not in headings(page.parent / file if file else page)
    ]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_paths_are_there(page: Path) -> None:
    known = project_files()
    endings = {"/".join(path.split("/")[start:]) for path in known for start in range(9)}
    missing = {path for path in named_paths(page) if path.rstrip("/") not in endings}
    assert missing - EXAMPLES == set()


def test_architecture_names_every_folder() -> None:
    tree = text_of("architecture.md").split("## The folders")[1]
    packages = [ROOT / "xyntra", ROOT / "passes", ROOT / "dialects", ROOT / "tools"]
    folders = [path.parent for root in packages for path in root.rglob("__init__.py")]
    assert {path.name for path in folders if f"{path.name}/" not in tree} == set()


def test_numerics_states_the_bounds_of_functions() -> None:
    """The bounds of functions in f32 on the CPU are those that the tests hold them to."""
    stated: dict[str, float] = {}
    for line in text_of("numerics.md").splitlines():
        if line.endswith("| CPU | f32 | 2.5 and 4 ulp | `test/passes/math` |"):
            stated |= {"acosh": 2.5, "erfc": 4.0}
        elif found := re.match(r"\| ([\w, ]+) \| CPU \| f32 \| ([\d.]+) ulp \|", line):
            stated |= {name: float(found[2]) for name in found[1].split(", ")}
    held = {name.removeprefix("math."): bound for name, bound in MAX_ULP.items()}
    held = {
        {"powf": "pow"}.get(name, name): held[name] for name in held.keys() - {"fpowi", "sincos"}
    }
    assert stated == held


def test_configuration_lists_every_setting() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", text_of("configuration.md"), re.MULTILINE)
    assert sorted(listed) == sorted(field.name for field in dataclasses.fields(Config))


def test_readme_shows_what_the_first_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command, shown = re.findall(
        r"```console\n\$ (xyntra-opt .*)\n```\n```mlir\n(.*?)```", readme, re.S
    )[0]
    *flags, file = command.split()[1:]
    assert flags == ["--fuse-elementwise"]
    assert opt.run([*flags, str(ROOT / file)]) == 0
    printed = capsys.readouterr().out
    pattern = ".*".join(map(re.escape, shown.strip("\n").split("…")))
    assert re.search(pattern, printed, re.DOTALL)


@pytest.mark.parametrize("command", ["compile", "run", "explain", "devices"])
def test_options_are_documented(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args([command, "--help"])
    offered = set(re.findall(r"--[a-z]+", capsys.readouterr().out)) - {"--help", "--output"}
    assert offered - set(re.findall(r"--[a-z]+", text_of("cli.md"))) == set()
