# SPDX-License-Identifier: MIT OR Apache-2.0
"""The passes that compiling can do without."""

__all__ = ["OPTIONAL_PASSES"]

OPTIONAL_PASSES = frozenset(
    {
        "canonicalize",
        "channels-last",
        "cse",
        "fold-batch-norm",
        "fold-norms",
        "fold-slices",
        "fold-transposes",
        "fuse-operations",
        "inline-broadcasts",
        "inline-into-reductions",
        "integer-contractions",
        "merge-contractions",
        "move-reshapes",
        "narrow-row-ops",
        "order-weights",
        "pack-channels",
        "recognize-attention",
        "recognize-patterns",
        "reuse-buffers",
        "rows-in-place",
        "simplify-expressions",
        "split-gates",
        "split-long-norms",
        "split-variances",
        "widen-contractions",
    }
)
"""Passes that make a model faster, and without which it computes the same."""
