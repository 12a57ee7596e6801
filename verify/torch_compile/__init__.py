# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trains models with torch.compile(backend="xyntra") beside eager PyTorch and Inductor.

Each model runs in a process of its own (`command`): what one does to a GPU, or to its process, the
others do not see. `models` has the networks, `comparison` compares them, `uses` tries what a
program may do around a compiled function on a GPU.
"""
