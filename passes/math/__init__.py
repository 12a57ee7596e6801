# SPDX-License-Identifier: MIT OR Apache-2.0
"""Elementary functions as arithmetic that every target can run and LLVM can vectorise.

`expand_math` rewrites the `math` operations; `table` lists them with their stated errors.
"""
