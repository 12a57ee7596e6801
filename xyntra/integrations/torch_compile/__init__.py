# SPDX-License-Identifier: MIT OR Apache-2.0
"""The backend of `torch.compile(model, backend="xyntra")`, for inference and training.

PyTorch's AOTAutograd makes a forward and a backward graph of ATen operators (`aot`). Each is
cut into parts that Xyntra compiles and nodes that PyTorch runs (`support`, `split`, `graphs`); a
part is one executable that reads and writes PyTorch's tensors where they lie (`parts`).
"""

from xyntra.integrations.torch_compile.aot import backend

__all__ = ["backend"]
