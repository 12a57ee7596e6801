# SPDX-License-Identifier: MIT OR Apache-2.0
"""Empty: operations of this dialect are read through the generic `OpView`.

Their generated classes take longer to import than most kernels take to lower; who builds with them
imports `torch_mlir.dialects.llvm` itself.
"""
