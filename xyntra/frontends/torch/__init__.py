# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an exported PyTorch program to linalg.

`exporting` and `describe` run in the caller's process and are the only modules that import torch:
they write a program as JSON (`program`), which the compiler's worker reads without torch.
"""
