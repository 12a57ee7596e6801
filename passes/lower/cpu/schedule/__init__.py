# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which emitter makes the code of each nest, written into the IR, and how emitters are told."""
