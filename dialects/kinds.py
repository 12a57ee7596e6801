# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kinds of kernel: what decides which schedule rules and which generator apply."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["KINDS", "Kind"]

Kind = Literal["elementwise", "row", "contraction", "conv", "attention", "data", "generic"]
KINDS: tuple[Kind, ...] = get_args(Kind)
