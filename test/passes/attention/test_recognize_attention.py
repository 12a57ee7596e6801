# SPDX-License-Identifier: MIT OR Apache-2.0
"""Spellings of attention become one operation and keep their numbers; near misses stay."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import context, evaluate_module, module_of
from near_misses import NEAR_MISSES
from spelling_arrays import arrays_for, dtype_of
from spellings import SPELLINGS, Spelling

from xyntra.dialects.mlir import ir
from xyntra.passes.manager import run_pipeline

TOLERANCE = {"float32": 3e-6, "float16": 2e-3}


def recognized(module: ir.Module) -> tuple[int, int, int]:
    """Run the pass; how many attentions, softmaxes and contractions there are after it."""
    with context():
        run_pipeline(module, "recognize-attention")
    text = str(module)
    softmaxes = text.count('"xyntra.softmax"')
    return text.count('"xyntra.attention"'), softmaxes, text.count('"reduction"')


def name_of(spelling: Spelling) -> str:
    return spelling.__name__


@pytest.mark.parametrize("spelling", SPELLINGS, ids=name_of)
def test_spelling_becomes_one_operation(spelling: Spelling) -> None:
    """Nothing is left of the softmax and the contractions, and the numbers are the same."""
    arrays = arrays_for(spelling, SPELLINGS[spelling])
    expected = evaluate_module(module_of(spelling, *arrays), *arrays)
    module = module_of(spelling, *arrays)
    assert recognized(module) == (1, 0, 0)
    limit = TOLERANCE[dtype_of(spelling)]
    for result, wanted in zip(evaluate_module(module, *arrays), expected, strict=True):
        np.testing.assert_allclose(result.astype("f8"), wanted.astype("f8"), rtol=limit, atol=limit)


@pytest.mark.parametrize("spelling", NEAR_MISSES, ids=name_of)
def test_near_miss_stays(spelling: Spelling) -> None:
    arrays = arrays_for(spelling, NEAR_MISSES[spelling])
    module = module_of(spelling, *arrays)
    before = str(module)
    recognized(module)
    assert str(module) == before
