# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX models: `container.scan` reads the file without its weights, `importer` builds linalg from the rest."""
