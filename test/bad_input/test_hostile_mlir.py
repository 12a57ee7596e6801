# SPDX-License-Identifier: MIT OR Apache-2.0
"""A model in MLIR text neither leaves its tensors, nor shows foreign memory, nor ends the process.

Every model runs in a child, on arrays between pages that cannot be accessed.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest
from guarded_arrays import guarded, guarded_empty
from hostile_mlir import HOSTILE, Hostile
from refused_mlir import REFUSED, Refused

import xyntra
from xyntra.compiler.driver import emit_level
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.worker.request import Level
from xyntra.config import load_config
from xyntra.errors import XyntraError
from xyntra.executable import Executable
from xyntra.passes.pipelines import PIPELINES, Pipeline

Settings = dict[str, object]


def run_apart(exe: Executable, inputs: tuple[Any, ...]) -> Any:
    """Call `exe` in a child on guarded arrays; the child must end by itself."""
    context = multiprocessing.get_context("fork")
    answers, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(exe, inputs, theirs))
    child.start()
    theirs.close()
    try:
        found = answers.recv()
    except EOFError:
        found = None
    child.join()
    assert child.exitcode == 0
    return found


def _call(exe: Executable, inputs: tuple[Any, ...], answers: Any) -> None:
    outputs = [guarded_empty(port.shape, port.dtype) for port in exe.outputs]
    exe(*map(guarded, inputs), out=outputs)
    answers.send([output.copy() for output in outputs])


@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE)
def test_accesses_stay_inside(case: Hostile, settings: Settings) -> None:
    exe = xyntra.compile(case.text, config={**settings, "threads": 1})
    (found,) = run_apart(exe, case.inputs)
    np.testing.assert_array_equal(found, case.expected)


@pytest.mark.parametrize("level", ["linalg", "fused", "kernels"])
@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE)
def test_accesses_stay_inside_at_every_level(
    case: Hostile, level: Level, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for name in ("distrust", "safe-text"):  # to have it as harmful as before
            patch.setitem(PIPELINES, name, Pipeline("", ()))
        text = emit_level(open_source(case.text), Sizes(), load_config(settings), level)
    exe = xyntra.compile(text, config={**settings, "threads": 1})
    (found,) = run_apart(exe, case.inputs)
    np.testing.assert_array_equal(found, case.expected)


def outcome(text: str, settings: Settings) -> XyntraError | str:
    """The kernels of a module, or the error that it gives."""
    try:
        found = emit_level(open_source(text), Sizes(), load_config(settings), "kernels")
    except XyntraError as error:
        return error
    return found.decode()


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_no_model_needs_is_refused(case: Refused, settings: Settings) -> None:
    """Or taken out, where nothing depends on it."""
    found = outcome(case.text, settings)
    if isinstance(found, str):
        assert case.removed
        assert case.removed not in found
    else:
        assert type(found) is case.kind
        assert found.code in (case.code, *case.codes)
        assert found.code != case.code or case.says in str(found)
