# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random models for GPUs: drawn alike everywhere, refused out loud, and compared with care."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from bench.harness.measure import ROOT
from verify.fusion.values import Known
from verify.random_models.archive import ARCHIVE, unpacked
from verify.random_models.case import contents, from_json
from verify.random_models.check import compared
from verify.random_models.command import KINDS, draw, main
from verify.random_models.compile import compile_case, to_onnx
from verify.random_models.reference import expected
from xyntra.dialects import make_context
from xyntra.executable import Executable
from xyntra.targets.cpu.program import CpuProgram

_WITHOUT_A_COMPILER = """
import sys
sys.modules.update(dict.fromkeys(("torch_mlir", "onnx", "llvmlite", "egglog")))
import verify.random_models.run
from verify.random_models.command import draw
from verify.random_models.reference import expected
for kind in sys.argv[1:]:
    expected(draw(kind, 1))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_drawn_alike_and_survives_json(kind: str) -> None:
    cases = [draw(kind, seed) for seed in range(20)]
    assert cases == [draw(kind, seed) for seed in range(20)]
    assert len({case.label for case in cases}) > 10
    for case in cases:
        assert from_json(json.loads(json.dumps(asdict(case)))) == case
        assert {name for step in case.steps for name in step.outputs} >= set(case.outputs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_expectation_is_that_of_the_compiler_for_processors(kind: str) -> None:
    context = make_context()
    for seed in (2, 3):
        case = draw(kind, seed)
        artifact, weights = compile_case(case, "", context), case.arrays("weight")
        executable = Executable(artifact, CpuProgram(artifact, weights), weights)
        inputs = case.arrays("input")
        found = executable(*(inputs[port.name] for port in executable.inputs))
        results = found if isinstance(found, tuple) else (found,)
        finding = compared(results, expected(case))
        assert not finding.problem, case.label
        assert finding.elements > finding.unknown


def test_what_is_wrong_is_found() -> None:
    known = Known("float32", np.array([1.0, np.nan, 2.0]), np.array([0.1, 0.0, np.inf]))
    right = np.array([1.2, np.nan, 9.0], np.float32)
    finding = compared([right], [known])
    assert (finding.problem, finding.unknown) == ("", 1)
    assert finding.worst == pytest.approx(2.0, rel=1e-5)
    assert "1 of 3 elements; at [0]" in compared([right + np.float32(1)], [known]).problem
    assert "at [1]" in compared([np.nan_to_num(right)], [known]).problem
    assert "float64" in compared([right.astype(np.float64)], [known]).problem


def test_a_share_of_the_cases_has_values_that_are_not_numbers() -> None:
    cases = [draw("row", seed) for seed in range(40)]
    inputs = [leaf for case in cases for leaf in case.leaves if leaf.role == "input"]
    odd = [leaf for leaf in inputs if not np.isfinite(contents(leaf).astype(np.float64)).all()]
    assert 0 < len(odd) < len(inputs) / 2


def test_machines_with_a_gpu_need_no_compiler() -> None:
    command = [sys.executable, "-c", _WITHOUT_A_COMPILER, *KINDS]
    subprocess.run(command, check=True, cwd=ROOT)


def test_prepare_writes_one_file_and_goes_on_where_it_was(tmp_path: Path) -> None:
    arguments = ["prepare", str(tmp_path), "--kinds", "generic", "--cases"]
    assert main([*arguments, "2"]) == 0
    old = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").iterdir()}
    refused = tmp_path / "parts" / "generic-0"
    refused.write_text(json.dumps({"refused": "words"}))
    assert main([*arguments, "2"]) == 0
    kept = tmp_path / "parts" / "generic-1"
    assert kept.stat().st_mtime_ns == old[kept]
    with unpacked(tmp_path / ARCHIVE) as prepared:
        assert prepared.refused == {"generic-0": "words"}
        assert list(prepared.cases.values()) == [draw("generic", 1)]
        assert prepared.about["architecture"] == "sm_90a"
        assert len(prepared.artifact("generic-1")) > 500


def test_a_model_names_its_constants() -> None:
    case = next(case for case in (draw("generic", seed) for seed in range(99))
                if case.steps[0].op == "Pad")  # fmt: skip
    model = to_onnx(replace(case, steps=case.steps[:1], outputs=case.steps[0].outputs))
    assert list(model.graph.node[0].input) == [case.steps[0].inputs[0], "constant_0_1"]
