# SPDX-License-Identifier: MIT OR Apache-2.0
"""An exported module is one static file that computes what the module does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from bench.models.export import export, randomize, require_torch
from bench.models.spec import InputSpec

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytest.importorskip("transformers")


def test_no_vector_stays_trivial_and_no_matrix_changes() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), torch.nn.BatchNorm2d(8))
    before = module[0].weight.clone()
    randomize(module, seed=0)
    norm = module[1]
    for vector in (module[0].bias, norm.weight, norm.bias, norm.running_mean, norm.running_var):
        assert len(set(vector.tolist())) == 8
    assert (norm.running_var >= 1).all()
    assert torch.equal(module[0].weight, before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_export_is_static_and_complete(tmp_path: Path) -> None:
    class Pair(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(64, 32)

        def forward(self, *, left: object, right: object) -> dict[str, object]:
            return {"sum": self.linear(left) + right}

    require_torch()
    torch.manual_seed(0)
    module = Pair()
    inputs = [
        InputSpec(name, "float32", shape, lambda rng, shape: rng.normal(size=shape))
        for name, shape in (("left", (4, 64)), ("right", (4, 32)))
    ]
    path = tmp_path / "pair.onnx"
    export(module, inputs, ["sum"], lambda out: out["sum"], path)
    assert [file.name for file in tmp_path.iterdir()] == ["pair.onnx"]
    graph = onnx.load(path, load_external_data=False).graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.input}
    assert shapes == {"left": [4, 64], "right": [4, 32]}
    arrays = {spec.name: spec.sample(np.random.default_rng(1)) for spec in inputs}
    (found,) = onnxruntime.InferenceSession(str(path)).run(["sum"], arrays)
    with torch.no_grad():
        expected = module(**{name: torch.from_numpy(a) for name, a in arrays.items()})["sum"]
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)
