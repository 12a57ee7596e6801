# SPDX-License-Identifier: MIT OR Apache-2.0
"""The input of the start-up measurement is what it says."""

from __future__ import annotations

from torch_mlir import ir

from bench.startup import TEN_LINES


def test_the_file_of_ten_lines_is_valid() -> None:
    assert len(TEN_LINES.splitlines()) == 10
    with ir.Context():
        assert ir.Module.parse(TEN_LINES).operation.verify()
