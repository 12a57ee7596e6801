# SPDX-License-Identifier: MIT OR Apache-2.0
"""Export a PyTorch module to one ONNX file with static shapes.

Importing this module does not import PyTorch; calling into it does.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness.files import atomic_path
from bench.models.spec import InputSpec
from xyntra.errors import MissingExtraError

if TYPE_CHECKING:
    import torch

__all__ = ["export", "randomize", "require_torch"]


def require_torch() -> None:
    """Check that what an export needs is installed, and keep model hubs out of it.

    Raises:
        MissingExtraError: PyTorch, transformers or onnxscript is missing.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    for library in ("torch", "transformers", "onnxscript"):
        try:
            __import__(library)
        except ImportError as error:
            raise MissingExtraError.for_extra(
                "bench", library, purpose="exporting this model"
            ) from error
    from verify.architectures.libraries import declare_operators

    declare_operators()  # transformers imports torchvision where there is one
    # The exporter warns of torchvision's absence, which no model here uses.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)


def randomize(module: torch.nn.Module, seed: int) -> None:
    """Move every vector of a freshly initialised module away from its trivial value.

    Biases start at 0, norm scales at 1, running means at 0 and variances at 1: with those, a
    compiler that forgets a bias or swaps two of them would still be right.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    tensors = [*module.named_parameters(), *module.named_buffers()]
    with torch.no_grad():
        for name, tensor in tensors:
            if tensor.ndim != 1 or not tensor.is_floating_point():
                continue
            noise = torch.rand(tensor.shape, generator=generator)
            tensor.add_(noise if name.endswith("running_var") else 0.2 * (noise - 0.5))


def export(
    module: torch.nn.Module,
    inputs: Sequence[InputSpec],
    outputs: Sequence[str],
    select: Callable[[Any], Any],
    path: Path,
) -> None:
    """Write `module` to `path` as one ONNX file, atomically.

    Args:
        module: called with one keyword argument for each of `inputs`.
        inputs: names, dtypes and static shapes.
        outputs: names for the tensors that `select` returns.
        select: takes the module's result, returns one tensor or a tuple of tensors.
        path: the file to write; weights are inside it.
    """
    import numpy as np
    import torch

    rng = np.random.default_rng(0)
    wrapped = _wrap(module.eval(), [spec.name for spec in inputs], select)
    example = tuple(torch.from_numpy(spec.sample(rng)) for spec in inputs)
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            wrapped,
            example,
            temporary,
            dynamo=True,
            input_names=[spec.name for spec in inputs],
            output_names=list(outputs),
            external_data=False,
            verbose=False,
        )


def _wrap(
    module: torch.nn.Module, names: Sequence[str], select: Callable[[Any], Any]
) -> torch.nn.Module:
    import torch

    class Positional(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *arguments: torch.Tensor) -> Any:
            return select(self.inner(**dict(zip(names, arguments, strict=True))))

    return Positional().eval()
