# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random ONNX graphs with free dimensions, compiled once and run at several sizes each."""
