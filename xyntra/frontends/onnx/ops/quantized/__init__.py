# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators on quantized integers, of ONNX and of com.microsoft."""
