# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra --report`."""

from __future__ import annotations

import numpy as np
import pytest

import xyntra
from xyntra.tools import cli


def test_a_report_says_what_there_is_and_no_paths(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XYNTRA_CACHE_DIR", "/home/somebody/cache")
    monkeypatch.setenv("XYNTRA_THREADS", "2")
    with pytest.raises(SystemExit) as done:
        cli.run(["--report"])
    assert done.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"xyntra {xyntra.__version__}"
    assert f"numpy {np.__version__}" in lines
    assert f"cpu: {xyntra.devices()[0].summary}" in lines
    assert {"XYNTRA_CACHE_DIR=(a path)", "XYNTRA_THREADS=2"} <= set(lines)
