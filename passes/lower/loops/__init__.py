# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every target's lowering reads and builds: kernel functions, nests, bodies, memrefs."""
