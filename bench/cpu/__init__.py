# SPDX-License-Identifier: MIT OR Apache-2.0
"""The CPU target beside onnxruntime and PyTorch: models, operations, busy neighbours, memory."""
