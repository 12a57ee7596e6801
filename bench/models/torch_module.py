# SPDX-License-Identifier: MIT OR Apache-2.0
"""The PyTorch module that a benchmark model is exported from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench.models import REGISTRY
from bench.models.spec import InputSpec

if TYPE_CHECKING:
    import torch

__all__ = ["torch_model"]


def torch_model(name: str) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    """The module that the export of the model `name` starts from, and random inputs for it.

    It takes its inputs by position and returns what the ONNX file's outputs are.

    Raises:
        MissingExtraError: PyTorch or transformers is not installed.
        ModelError: trained weights could not be downloaded.
    """
    import torch

    spec = REGISTRY[name]
    found: list[torch.nn.Module] = []

    def remember(
        module: torch.nn.Module,
        inputs: Sequence[InputSpec],
        outputs: Sequence[str],
        select: Callable[[Any], Any],
        path: Path,
    ) -> None:
        found.append(_Selected(module, [value.name for value in inputs], select))

    with patch.object(sys.modules[spec.build.__module__], "export", remember):
        spec.build(Path("unused"))
    arrays = spec.random_inputs(seed=0)
    return found[0], [torch.from_numpy(array) for array in arrays.values()]


def _Selected(  # noqa: N802  (makes a module)
    module: torch.nn.Module, names: list[str], select: Callable[[Any], Any]
) -> torch.nn.Module:
    import torch

    class Selected(torch.nn.Module):
        """Positional inputs, and the outputs that the export names."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *tensors: torch.Tensor) -> Any:
            return select(self.inner(**dict(zip(names, tensors, strict=True))))

    return Selected()
