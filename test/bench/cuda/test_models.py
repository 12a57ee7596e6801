# SPDX-License-Identifier: MIT OR Apache-2.0
"""The models of `bench.cuda`: names, weights, and how PyTorch becomes a model without weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import xyntra
from bench.cuda.models import MODELS, TOLERANCE, Model, model_inputs, onnx_network

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
networks = pytest.importorskip("bench.cuda.networks")


def test_every_network_is_measured_at_every_dtype_and_batch() -> None:
    assert len(MODELS) == 5 * 2 * 3
    assert {each.network for each in MODELS.values()} == set(networks.NETWORKS)
    assert len({each.file for each in MODELS.values()}) == len(MODELS)


def test_weights_depend_on_their_names_alone() -> None:
    first = networks.draw_weights({"a.weight": (3, 4), "norm.weight": (5,)})
    second = networks.draw_weights({"norm.weight": (5,), "b.weight": (3, 4), "a.weight": (3, 4)})
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])
    assert not np.array_equal(second["a.weight"], second["b.weight"])
    assert (abs(first["norm.weight"] - 1) <= 0.1).all()


@pytest.mark.parametrize("small", ["bert", "gpt2"])
def test_a_model_without_weights_gives_what_the_network_gives(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    make = {"bert": networks.Bert, "gpt2": networks.Gpt2}[small]
    name = {"bert": "bert-base", "gpt2": "gpt2"}[small]
    monkeypatch.setitem(networks.NETWORKS, name, partial(make, width=32, heads=2, layers=1))
    model = Model(name, "f32", 1)
    module = networks.network(name)
    executable = xyntra.compile(onnx_network(module, model), config=settings)
    executable.save(tmp_path / model.file, weights=False)
    weights = {key: value.numpy() for key, value in module.state_dict().items()}
    loaded = xyntra.load(tmp_path / model.file, weights=weights)
    inputs = model_inputs(model, "cpu")
    with torch.inference_mode():
        expected = module.double()(*inputs)
    found = loaded(*[each.numpy() for each in inputs])
    pairs = zip(found, expected, strict=True) if small == "bert" else [(found, expected)]
    for got, want in pairs:
        exact = want.numpy()
        error = np.sqrt(((got - exact) ** 2).mean() / (exact**2).mean())
        assert error <= TOLERANCE["f32"]
