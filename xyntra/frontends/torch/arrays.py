# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's tensors as numpy arrays and back, without copies where the memory allows it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from xyntra.dialects.dtypes import ELEMENT_TYPES

__all__ = ["array_of", "dtype_name", "tensor_of"]


def dtype_name(dtype: torch.dtype) -> str | None:
    """Return numpy's name of an element type; None for one that is not supported."""
    name = str(dtype).removeprefix("torch.")
    return name if name in ELEMENT_TYPES else None


def array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor as an array; contiguous ones on the CPU share their memory."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:
        bits: np.ndarray[Any, Any] = plain.view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    array: np.ndarray[Any, Any] = plain.numpy()
    return array


def tensor_of(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Return an array as a tensor that shares its memory."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
