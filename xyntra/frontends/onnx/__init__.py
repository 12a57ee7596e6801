# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX models: `container.scan` reads files without weights, `importer` builds linalg from them."""
