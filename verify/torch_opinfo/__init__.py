# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs PyTorch's own samples of its commonest operators through torch.compile(backend="xyntra")."""
