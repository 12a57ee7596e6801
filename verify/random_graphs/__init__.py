# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random ONNX graphs against float64: `python -m verify.random_graphs`."""
