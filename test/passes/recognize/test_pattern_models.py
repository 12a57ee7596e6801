# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that spelled-out graphs are recognised, and that near misses are not."""

from __future__ import annotations

import pytest
from pattern_models import Written, recognised, written_models

MODELS = written_models()
PARAMETERS = [pytest.param(model, id=model.title.replace(" ", "-")) for model in MODELS]


@pytest.mark.parametrize("written", PARAMETERS)
def test_what_is_recognised(written: Written) -> None:
    text = recognised(written.model())
    named = [line for line in text.splitlines() if '"xyntra.' in line]
    if not written.named_op:
        assert not named
        return
    assert len(named) == 1
    assert f'"{written.named_op}"' in named[0]
    assert written.becomes.partition(" ")[2] in named[0]


def test_every_pattern_has_spellings_and_near_misses() -> None:
    titles = [(model.title.split()[0], bool(model.named_op)) for model in MODELS]
    for name in ("gelu", "silu", "softmax", "layer_norm", "rms_norm"):
        assert titles.count((name, True)) >= 5
        assert titles.count((name, False)) >= 3
