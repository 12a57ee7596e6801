# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random graphs of linalg on tensors, fused and unfused, against numpy with error bounds."""
