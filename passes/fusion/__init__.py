# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which operations share a kernel, and gives every kernel a function of its own.

`graph` describes the operations of a block, `partition` searches for the groups of least predicted
time, `regions` puts these into the IR, and `legality` checks them by rules of its own. `weights`,
`norms`, `contractions` and `reductions` rewrite what fusion alone would leave slow.
"""
