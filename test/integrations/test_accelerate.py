# SPDX-License-Identifier: MIT OR Apache-2.0
"""Xyntra in accelerate's list of backends."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
utils = pytest.importorskip("accelerate.utils")
add_backend = pytest.importorskip("xyntra.integrations.accelerate").add_backend


def test_the_backend_is_taken_by_its_name() -> None:
    for _ in range(2):
        add_backend()
    plugin = utils.TorchDynamoPlugin(backend="xyntra")
    assert plugin.backend.value.lower() == "xyntra"
    assert utils.DynamoBackend.list().count("XYNTRA") == 1
