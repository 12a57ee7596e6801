# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the kernels of docs/kernels.md, and compares them with numpy."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

RANDOM = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.fixture
def page(
    root: Path, tmp_path: Path, in_process: None, capsys: pytest.CaptureFixture[str]
) -> ModuleType:
    """Return a module of all Python on the page, with the arrays that it takes for given."""
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "kernels.md").read_text(), re.S)
    assert len(blocks) == 3
    path = tmp_path / "page.py"
    path.write_text("\n".join(["from test_page_arrays import x, scale, bias", *blocks]))
    arrays = tmp_path / "test_page_arrays.py"
    arrays.write_text(
        "import numpy as np\nx = np.eye(4, 16, dtype=np.float32)\nscale = bias = x[0]\n"
    )
    found = None
    for name in ("test_page_arrays", "page"):
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))
            spec.loader.exec_module(found)
    assert found is not None
    assert "became 1 kernel" in capsys.readouterr().out
    return found


def test_the_kernels_of_the_page_are_right(page: ModuleType) -> None:
    x = normal(3, 40)
    mean, variance = page.mean_and_variance(x)
    np.testing.assert_allclose(mean, x.mean(-1), atol=1e-6)
    np.testing.assert_allclose(variance, x.var(-1), atol=1e-6)
    q, k, v, slopes = normal(1, 2, 9, 4), normal(1, 2, 9, 4), normal(1, 2, 9, 4), normal(2)
    apart = np.arange(9) - np.arange(9)[:, None]
    scores = q @ k.transpose(0, 1, 3, 2) / 2 + slopes[:, None, None] * apart
    weights = np.exp(np.where(apart <= 0, scores, -np.inf))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(page.alibi(q, k, v, slopes), expected, atol=1e-5)


def test_the_codes_of_the_page_are_those_of_the_code(root: Path) -> None:
    text = (root / "docs" / "kernels.md").read_text()
    shown = set(re.findall(r"`(kernel-[a-z]+)`", text))
    folders = (root / "xyntra" / "frontends" / "kernel", root / "xyntra" / "kernels")
    sources = "".join(p.read_text() for folder in folders for p in folder.rglob("*.py"))
    raised = set(re.findall(r'"(kernel-[a-z]+)"', sources))
    assert raised - shown == {"kernel-only"}
    assert not shown - raised
