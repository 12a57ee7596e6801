# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipes of CONTRIBUTING.md work as they stand there, done to a copy of the package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

JUNK = shutil.ignore_patterns("__pycache__")
MODULE = """
func.func @f(%x: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  %y = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, with copies of what is linked into it."""
    root = Path(__file__).resolve().parents[2]
    target = tmp_path_factory.mktemp("recipes") / "xyntra"
    shutil.copytree(root / "xyntra", target, ignore=JUNK)
    return target


def blocks(root: Path, heading: str) -> list[str]:
    """The blocks of Python below a heading of CONTRIBUTING.md."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [textwrap.dedent(code) for code in re.findall(r" *```python\n(.*?)```", section, re.S)]


def run(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy in the place of the package that is tested."""
    start = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", start + arguments[0], *arguments[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_operator_of_the_recipe_is_imported_and_right(package: Path, root: Path) -> None:
    importer, test = blocks(root, "Add an ONNX operator")
    listed = package / "frontends/onnx/operator_modules.py"
    text = listed.read_text(encoding="utf-8")
    section = '    "com.example": {"elementwise.activation": "Softcap"},\n'
    listed.write_text(text.replace('    "com.microsoft": {', f'{section}    "com.microsoft": {{'))
    family = package / "frontends/onnx/ops/elementwise/activation.py"
    family.write_text(f"{family.read_text(encoding='utf-8')}\n\n{importer}", encoding="utf-8")
    script = f"""
sys.path.insert(0, {str(root / "test/frontends/onnx/ops")!r})
import numpy as np
from arrays import normal, tolerance
from harness import node_model, run
for dtype in ("float32", "float16"):
    x = 4 * normal(3, 7).astype(dtype)
    x[0, :3] = [np.inf, -np.inf, np.nan]
{textwrap.indent(test, "    ")}
import xyntra
print(xyntra.__file__)
"""
    done = run(package, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(package / "__init__.py")


def test_the_pass_of_the_recipe_runs_and_refuses(package: Path, root: Path, tmp_path: Path) -> None:
    (code,) = blocks(root, "Add a pass")
    (package / "passes/views/fold_views.py").write_text(code, encoding="utf-8")
    source = tmp_path / "in.mlir"
    source.write_text(MODULE, encoding="utf-8")
    tool = "from xyntra.tools.opt import main; sys.exit(main())"
    done = run(package, tool, "--fold-views", str(source))
    assert done.returncode == 0, done.stderr
    assert "tensor.collapse_shape" in done.stdout
    refused = run(package, tool, "--fold-views=max-rank=2", str(source))
    assert refused.returncode != 0
    assert "error: has too many dimensions" in refused.stderr
