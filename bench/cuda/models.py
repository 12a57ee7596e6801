# SPDX-License-Identifier: MIT OR Apache-2.0
"""The models that `bench.cuda` measures: which networks at which batch and dtype, and inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["COMPILING", "MODELS", "TOLERANCE", "Model", "model_inputs", "onnx_network"]

COMPILING = "compile-seconds.json"
"""In the folder of artifacts: how long each model took, by name."""

TOLERANCE = {"f32": 2e-5, "f16": 1e-2}
"""Root mean square of what a result may differ from that in f64, relative to that of the result."""
_TYPES = {"f32": "float32", "f16": "float16"}
_LENGTH = 128
_OPSET = 23


@dataclass(frozen=True)
class Model:
    """One row of the tables: a network of `bench.cuda.networks`, a dtype and a batch."""

    network: str
    dtype: str
    batch: int
    group = "models"

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"{self.network} b{self.batch} {self.dtype}"

    @property
    def file(self) -> str:
        """Name of the artifact, which has no weights."""
        return self.name.replace(" ", "_") + ".xyn"

    @property
    def kind(self) -> torch.dtype:
        """PyTorch's dtype."""
        import torch

        return getattr(torch, _TYPES[self.dtype])  # type: ignore[no-any-return]


def _models() -> Iterator[Model]:
    for network in ("bert-base", "gpt2", "vit-tiny", "resnet50", "minilm"):
        for dtype in ("f16", "f32"):
            for batch in (1, 8, 32):
                yield Model(network, dtype, batch)


MODELS: dict[str, Model] = {each.name: each for each in _models()}


def model_inputs(model: Model, device: str) -> list[torch.Tensor]:
    """Return random inputs; pictures are of the model's dtype, ids are i64."""
    import torch

    generator = torch.Generator().manual_seed(model.batch)
    if model.network in ("vit-tiny", "resnet50"):
        picture = torch.rand((model.batch, 3, 224, 224), generator=generator) * 4 - 2
        return [picture.to(model.kind).to(device)]
    shape = (model.batch, _LENGTH)

    def integers(low: int, high: int, shape: tuple[int, ...]) -> Any:
        return torch.randint(low, high, shape, generator=generator)

    words = 50257 if model.network == "gpt2" else 30522
    ids = integers(0, words, shape)
    if model.network == "gpt2":
        return [ids.to(device)]
    lengths = integers(_LENGTH // 2, _LENGTH + 1, (model.batch, 1))
    mask = (torch.arange(_LENGTH) < lengths).long()
    return [each.to(device) for each in (ids, mask, integers(0, 2, shape))]


def onnx_network(module: torch.nn.Module, model: Model, opset: int = _OPSET) -> Any:
    """Return a network as an ONNX model whose weights have the names of the module's."""
    import logging
    import warnings

    import torch

    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # of torchvision's absence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = tuple(model_inputs(model, "cpu"))
        # The exporter's optimizer would store matrices transposed, under names of its own.
        how = {"dynamo": True, "opset_version": opset, "optimize": False, "verbose": False}
        return torch.onnx.export(module.to(model.kind), inputs, **how).model_proto
