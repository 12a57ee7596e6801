# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs ONNX's own backend tests on Xyntra and on onnxruntime."""
