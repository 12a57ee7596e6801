# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX models: `container.scan` reads a file without its weights, `importer` builds linalg from it."""
