# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX files: read within bounds, with weights left where they are."""
