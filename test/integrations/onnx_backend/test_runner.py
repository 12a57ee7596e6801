# SPDX-License-Identifier: MIT OR Apache-2.0
"""A part of ONNX's node tests, by ONNX's own runner; `python -m verify.onnx_backend` has all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = """
add_bcast attention_4d batchnorm_example cast_FLOAT_to_FLOAT8E4M3FN compress_0 cumsum_2d_axis_0
gemm_all_attributes if loop11 nonmaxsuppression_two_classes nonzero_example onehot_with_axis
range_float_type_positive_delta reshape_negative_dim slice_neg softmax_axis_1
sequence_insert_at_back sequence_map_add_2_sequences split_to_sequence_2 if_opt loop13_seq
tile top_k unique_sorted_with_axis
""".split()


def test_the_runner_finds_nothing_wrong() -> None:
    program = Path(__file__).with_name("node_tests.py")
    found = subprocess.run(
        [sys.executable, str(program), *CASES], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert f"Ran {len(CASES)} tests" in found.stderr
