# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes rows as ONNX files."""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import torch

from bench.harness.files import atomic_path
from bench.sweep.networks import Network
from bench.sweep.row import Row

__all__ = ["export"]


def export(row: Row | Network, path: Path) -> None:
    """Write the module of a row with its weights; inputs are x0, x1 and so on."""
    module, inputs, _ = row.build()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    quiet = io.StringIO()
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with redirect_stdout(quiet), redirect_stderr(quiet):
            torch.onnx.export(
                module,
                tuple(inputs),
                temporary,
                dynamo=True,
                input_names=[f"x{index}" for index in range(len(inputs))],
                external_data=False,
                verbose=False,
            )
