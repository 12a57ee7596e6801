# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the command `python -m bench.webgpu`."""

from __future__ import annotations

import sys

from bench.webgpu.command import main

if __name__ == "__main__":
    sys.exit(main())
