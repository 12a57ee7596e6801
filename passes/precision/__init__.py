# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers the precision of f32 models: which tensors and products take 16 bits, and why.

`decisions` reads the IR and decides, `rewriting` changes types, `report` records in the module what
was decided. Everything happens on linalg on tensors, after named ops have been recognised.
"""
