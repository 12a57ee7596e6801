# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs `bench.kernels.command`."""

from __future__ import annotations

import sys

from bench.kernels.command import main

sys.exit(main())
