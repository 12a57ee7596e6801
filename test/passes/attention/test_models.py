# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every attention of the transformer models is found, and their outputs are onnxruntime's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import xyntra
from bench.models import DEFAULT_FOLDER, REGISTRY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "attentions"), [("minilm", 6), ("bert-base", 12), ("gpt2", 12), ("vit-tiny", 12)]
)
def test_model(name: str, attentions: int, tmp_path: Path) -> None:
    """One attention kernel a layer."""
    spec = REGISTRY[name]
    path = DEFAULT_FOLDER / spec.filename
    if not path.exists():
        pytest.skip(f"{path} is not there; python -m bench.models {name} makes it")
    feeds = spec.random_inputs(0)
    exe = xyntra.compile(path, inputs=spec.shapes, config={"cache_dir": str(tmp_path)})
    assert sum(kernel.kind == "attention" for kernel in exe.kernels) == attentions
    found = exe.run(feeds)
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    for output, wanted in zip(names, session.run(names, feeds), strict=True):
        np.testing.assert_allclose(found[output], wanted, rtol=1e-3, atol=1e-4)
