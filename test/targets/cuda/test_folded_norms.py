# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models whose norms are folded into products: one launch a product, and right in the emulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from normed_network import LAYER, RMS, Network, errors

import xyntra
from xyntra.plan.artifact import Artifact
from xyntra.targets.cuda.kernel_image import KernelImage


def compiled(network: Network, folder: Path) -> Artifact:
    path = folder / "model.onnx"
    onnx.save(network.model(), path)
    settings = {"fold_norms": True, "cache": False, "isolate": False}
    return xyntra.compile(path, target="cuda:sm_90a", config=settings).artifact


def launches(artifact: Artifact) -> list[int]:
    """How many launches each product takes."""
    images = {name: KernelImage.from_bytes(code) for name, code in artifact.objects.items()}
    steps = [step.kernel for step in artifact.plan.steps if step.kernel.startswith("contraction")]
    return [len(images[kernel].launches) for kernel in steps]


@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("norm", [LAYER, RMS])
@pytest.mark.parametrize("shape", [(20, 64, 40), (77, 256, 128)])
def test_folded_norms(tmp_path, shape, norm, post):
    network = Network(*shape)
    network.norm, network.post = norm, post
    artifact = compiled(network, tmp_path)
    assert launches(artifact) == [1, 1, 1]
    results = run_artifact(artifact, network.inputs(3.0), network.rounded())
    assert max(errors(network, [np.asarray(each) for each in results])) < 6e-4
