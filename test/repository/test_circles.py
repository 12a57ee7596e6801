# SPDX-License-Identifier: MIT OR Apache-2.0
"""No modules, and no folders beside each other, import each other in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from module_imports import imports, modules, syntax_tree

Graph = Mapping[str, Set[str]]


def module_graph(root: Path) -> Graph:
    """Return what every module imports, also inside of functions and for types alone."""
    found = {name.removesuffix(".__init__"): (path, name) for path, name in modules(root)}
    known = set(found)
    return {
        module: {
            each
            for each, _ in imports(syntax_tree(root / path), name, known)
            if each in known and each != module
        }
        for module, (path, name) in found.items()
    }


def folder_graph(graph: Graph, packages: Set[str]) -> Graph:
    """Return which folders import which, but for folders inside of each other."""
    folders: dict[str, set[str]] = {}
    for module, imported in graph.items():
        own = folder_of(module, packages)
        for other in (folder_of(each, packages) for each in imported):
            if not f"{other}.".startswith(f"{own}.") and not f"{own}.".startswith(f"{other}."):
                folders.setdefault(own, set()).add(other)
    return folders


def folder_of(module: str, packages: Set[str]) -> str:
    return module if module in packages else module.rpartition(".")[0]


def circle_in(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_modules_import_each_other_in_one_direction(root: Path) -> None:
    assert circle_in(module_graph(root)) == []


def test_folders_import_each_other_in_one_direction(root: Path) -> None:
    packages = {name.removesuffix(".__init__") for _, name in modules(root) if "__init__" in name}
    folders = folder_graph(module_graph(root), packages)
    assert {"xyntra.passes.lower.gpu.rows", "xyntra.frontends.onnx"} <= folders.keys()
    assert circle_in(folders) == []


def test_circles_are_found(tmp_path: Path) -> None:
    for path, text in {
        "passes/__init__.py": "",
        "passes/a/__init__.py": "",
        "passes/a/one.py": "def f():\n    from xyntra.passes.b import two\n",
        "passes/b/__init__.py": "",
        "passes/b/two.py": "from xyntra.passes.a.three import x\n",
        "passes/a/three.py": "import os\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    graph = module_graph(tmp_path)
    packages = {"xyntra.passes", "xyntra.passes.a", "xyntra.passes.b"}
    assert circle_in(graph) == []
    assert set(circle_in(folder_graph(graph, packages))) == {"xyntra.passes.a", "xyntra.passes.b"}
    text = "if TYPE_CHECKING:\n    from xyntra.passes.b.two import y\n"
    (tmp_path / "passes/a/three.py").write_text(text, encoding="utf-8")
    syntax_tree.cache_clear()
    assert len(set(circle_in(module_graph(tmp_path)))) == 2
