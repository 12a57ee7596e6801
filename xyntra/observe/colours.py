# SPDX-License-Identifier: MIT OR Apache-2.0
"""A colour for every kind of kernel."""

from __future__ import annotations

KIND_COLOURS: dict[str, tuple[str, str, str]] = {
    "elementwise": ("#cfe8cf", "#2e8b57", "#1e3d2b"),
    "row": ("#fde9b8", "#c98a00", "#45371a"),
    "contraction": ("#c9dcf5", "#2f6fc4", "#1b3354"),
    "conv": ("#c3e9ea", "#128a91", "#153e42"),
    "attention": ("#e3cdf0", "#8e44ad", "#3d2549"),
    "data": ("#e6e6e6", "#808080", "#36383c"),
    "generic": ("#f5cfcf", "#c0392b", "#4a2323"),
}
"""By kind: the fill on a light ground, the line, and the fill on a dark ground."""
