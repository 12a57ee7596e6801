# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nothing but the targets themselves knows one of them: the others ask the tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from module_imports import imports, modules, syntax_tree

from xyntra.passes.targets.table import TARGETS as DESCRIPTIONS
from xyntra.targets.table import TARGETS, backend_for, backend_named, backend_of, backends

NAMES = frozenset(DESCRIPTIONS)
APART = ("xyntra.targets.", "xyntra.passes.targets.")
OTHER_DEVICES = (
    "xyntra.frontends.torch.describe",
    "xyntra.integrations.torch_compile.",
    "xyntra.integrations.onnx_backend.",
)
"""They speak of devices as PyTorch and ONNX do, which have names of their own for them."""


def questions(tree: ast.Module, name: str, known: set[str]) -> Iterator[str]:
    """Yield what a module asks of one target: by comparing a name, or importing its code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and part.value in NAMES:
                    yield f"line {node.lineno}: compares with '{part.value}'"
    for module, line in imports(tree, name, known):
        if any(module.startswith(f"xyntra.targets.{each}") for each in NAMES):
            yield f"line {line}: imports {module}"


def test_nothing_else_asks_which_target_it_is(root: Path) -> None:
    found = list(modules(root))
    known = {name.removesuffix(".__init__") for _, name in found}
    asked = [
        f"{path}: {question}"
        for path, name in found
        if not name.startswith(APART + OTHER_DEVICES)
        for question in questions(syntax_tree(root / path), name, known)
    ]
    assert not asked, "\n".join(asked)


@pytest.mark.parametrize(
    "text",
    [
        'if target == "cuda":\n    pass\n',
        'x = 1 if target not in ("cpu", "auto") else 2\n',
        "def f():\n    from xyntra.targets.cuda.program import CudaProgram\n",
        "import xyntra.targets.cpu.device\n",
    ],
)
def test_questions_are_found(text: str) -> None:
    known = {"xyntra.targets.cuda.program", "xyntra.targets.cpu.device"}
    assert list(questions(ast.parse(text), "xyntra.compiler.levels", known))


def test_every_target_is_described_to_passes_and_found_again() -> None:
    assert TARGETS.keys() <= DESCRIPTIONS.keys()
    for name, description in DESCRIPTIONS.items():
        assert description.name == name
    for backend in backends():
        assert backend.target is DESCRIPTIONS[backend.name]
        assert backend_named(backend.name) is backend
        prefix = TARGETS[backend.name].architectures
        assert backend_for(prefix and f"{prefix}90a") is backend
        assert backend_of(backend.machine_key(prefix)) is backend
