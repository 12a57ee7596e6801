# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports go down the list of layers only, wherever in a file they stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from module_imports import imports, modules, syntax_tree

# From top to bottom; a module may import from its own layer and from those below.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("xyntra.tools",),
    ("xyntra.integrations",),
    ("xyntra.nn", "xyntra.optim"),
    ("xyntra.array",),
    (
        "xyntra",
        "xyntra.__init__",
        "xyntra.__main__",
        "xyntra.api",
        "xyntra.compiler",
        "xyntra.executable",
        "xyntra.kernels",
        "xyntra.worker",
    ),
    ("xyntra.observe", "xyntra.tune"),
    ("xyntra.frontends", "xyntra.lang", "xyntra.plan", "xyntra.targets"),
    ("xyntra.passes",),
    ("xyntra.dialects",),
    (
        "xyntra.build_id",
        "xyntra.cache",
        "xyntra.config",
        "xyntra.config_sources",
        "xyntra.config_values",
        "xyntra.errors",
        "xyntra.spans",
        "xyntra.suggestions",
        "xyntra.version",
    ),
)
APART = {"xyntra.passes.lower.gpu": ("xyntra.passes.lower.cuda",)}
"""What a package may not import although it lies in the same layer."""


def layer_of(module: str) -> int | None:
    """Return the index into LAYERS of the longest entry that is `module` or a package of it."""
    best: tuple[int, int] | None = None
    for index, entries in enumerate(LAYERS):
        for entry in entries:
            inside = module.startswith(f"{entry}.") and entry != "xyntra"
            if (module == entry or inside) and (best is None or len(entry) > best[0]):
                best = (len(entry), index)
    return None if best is None else best[1]


def _apart_of(module: str) -> Iterator[str]:
    """Yield the packages that a module may not import although they lie in its layer."""
    for package, others in APART.items():
        if f"{module}.".startswith(f"{package}."):
            yield from others


def violations(root: Path) -> Iterator[str]:
    """Yield one message for each import that goes up, or module that has no layer."""
    found = list(modules(root))
    known = {name.removesuffix(".__init__") for _, name in found}
    for path, name in found:
        own = layer_of(name)
        if own is None:
            yield f"{path}:1: {name} is in no layer"
            continue
        for module, line in imports(syntax_tree(root / path), name, known):
            if module.split(".")[0] != "xyntra":
                continue
            other = layer_of(module)
            for apart in _apart_of(name):
                if f"{module}.".startswith(f"{apart}."):
                    yield f"{path}:{line}: {module} ({apart}) is imported from what is apart"
            if other is None:
                yield f"{path}:{line}: {module}, imported here, is in no layer"
            elif other < own:
                above, below = "/".join(LAYERS[other]), "/".join(LAYERS[own])
                yield f"{path}:{line}: {module} ({above}) is imported from below ({below})"


def test_imports_go_down(root: Path) -> None:
    found = list(violations(root))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_every_module_is_looked_at(root: Path) -> None:
    names = {name for _, name in modules(root)}
    assert {"xyntra.errors", "xyntra.__init__", "xyntra.dialects.__init__"} <= names
    assert {name.split(".")[1] for name in names} >= {"dialects", "passes", "tools"}


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "line", "module"),
    [
        ("dialects/a.py", "import xyntra.passes.b\n", 1, "xyntra.passes.b"),
        ("passes/b.py", "\nfrom ..targets import cpu\n", 2, "xyntra.targets.cpu"),
        ("passes/b.py", "def f():\n    from xyntra import api\n", 2, "xyntra.api"),
        ("passes/sub/__init__.py", "from ...api import compile\n", 1, "xyntra.api"),
        ("xyntra/errors.py", "from . import config, plan\n", 1, "xyntra.plan"),
        ("xyntra/errors.py", "if TYPE_CHECKING:\n    from .plan import P\n", 2, "xyntra.plan"),
        ("xyntra/plan/__init__.py", "from ..tune import x\n", 1, "xyntra.tune"),
        ("xyntra/tune/a.py", "import os, xyntra\n", 1, "xyntra"),
        ("xyntra/api.py", "import xyntra.tools.cli\n", 1, "xyntra.tools.cli"),
        ("passes/lower/gpu/a.py", "from ..cuda import b\n", 1, "xyntra.passes.lower.cuda"),
        (
            "passes/lower/gpu/c/a.py",
            "\nimport xyntra.passes.lower.cuda.d\n",
            2,
            "xyntra.passes.lower.cuda.d",
        ),
    ],
)
def test_imports_going_up_are_found(
    path: str, text: str, line: int, module: str, tmp_path: Path
) -> None:
    for name in ("api", "config", "plan/__init__", "tune/__init__", "targets/cpu/__init__"):
        write(tmp_path, f"xyntra/{name}.py", "")
    write(tmp_path, path, text)
    (message,) = violations(tmp_path)
    assert message.startswith(f"{path}:{line}: {module} (")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tools/cli.py", "import xyntra\nfrom xyntra.api import compile\nfrom ..errors import E\n"),
        ("xyntra/api.py", "from . import plan\nfrom .targets.cpu import x\nimport os.path\n"),
        ("xyntra/worker.py", "from .api import x\nfrom .passes import y\n"),
        ("xyntra/plan/a.py", "from ..targets import cpu\nfrom .b import c\n"),
        ("xyntra/targets/cpu/__init__.py", "from ...config import Config\nfrom .a import b\n"),
        ("dialects/ops/a.py", "from ..base import B\nfrom xyntra.errors import E\n"),
    ],
)
def test_imports_going_down_are_accepted(path: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, "xyntra/plan/__init__.py", "")
    write(tmp_path, path, text)
    assert list(violations(tmp_path)) == []


def test_a_module_outside_the_layers_is_found(tmp_path: Path) -> None:
    write(tmp_path, "xyntra/helpers.py", "")
    assert list(violations(tmp_path)) == ["xyntra/helpers.py:1: xyntra.helpers is in no layer"]
