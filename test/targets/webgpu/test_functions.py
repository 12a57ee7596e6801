# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions that find what a rounding has lost are accurate where `fma` rounds twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import xyntra
from verify.web.functions import accuracy, module_of, operands_of


@pytest.mark.usefixtures("has_gpu", "in_process")
@pytest.mark.parametrize("name", ["powf", "sin", "cbrt"])
def test_errors_are_within_their_bounds(name: str, tmp_path: Path) -> None:
    operands = operands_of(name)
    path = tmp_path / "function.mlir"
    path.write_text(module_of(name, len(operands), operands[0].size), encoding="utf-8")
    found = accuracy(name, operands, xyntra.compile(path, target="webgpu")(*operands))
    assert found.worst <= found.bound, found
    assert not found.wrong
