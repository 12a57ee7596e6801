# SPDX-License-Identifier: MIT OR Apache-2.0
"""Skips what needs naga, or a GPU that wgpu finds, where there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from xyntra.errors import XyntraError
from xyntra.targets.webgpu.adapter import open_device
from xyntra.targets.webgpu.naga.naga import naga

OPS = Path(__file__).resolve().parents[2] / "frontends" / "onnx" / "ops"
sys.path.insert(0, str(OPS))  # for the harness of operators' tests
os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")  # noqa: S108  (Mesa warns without one)


def _reason(get: object) -> str | None:
    try:
        get()  # type: ignore[operator]
    except XyntraError as error:
        return f"{error.message}: {error.cause or error.hint}"
    return None


@pytest.fixture(scope="session")
def _missing_naga() -> str | None:
    return _reason(naga)


@pytest.fixture(scope="session")
def _missing_gpu() -> str | None:
    return _reason(open_device)


@pytest.fixture
def has_naga(_missing_naga: str | None) -> None:
    """Skip where there is no naga."""
    if _missing_naga is not None:
        pytest.skip(_missing_naga)


@pytest.fixture
def has_gpu(has_naga: None, _missing_gpu: str | None) -> None:
    """Skip where there is no GPU, or nothing that computes as one does."""
    if _missing_gpu is not None:
        pytest.skip(_missing_gpu)
