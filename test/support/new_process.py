# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a few lines of Python in a process that has imported nothing yet."""

from __future__ import annotations

import subprocess
import sys


def printed_by(script: str) -> str:
    """Return what a script prints; it must end well."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
