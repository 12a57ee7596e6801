# SPDX-License-Identifier: MIT OR Apache-2.0
"""The counts and times of the table of fusion results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.documents.fusion import DOCUMENT, render, update_document
from bench.fusion.inductor_launches import count_launches
from bench.fusion.scale import measure
from bench.fusion.synthetic import synthetic_module
from bench.fusion.table import count_compute
from xyntra.compiler.levels import count_operations
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir

_GENERATED = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*'], r'''
    aten.add(not a call)
''')

class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        assert_size_stride(arg0_1, (4, 4), (4, 1))
        buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
        # Original ATen: [aten.addmm]
        extern_kernels.addmm(arg1_1, arg0_1, arg0_1, alpha=1, beta=1, out=buf0)
        buf1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(buf0, buf0)
        buf2 = reinterpret_tensor(buf0, (2, 8), (8, 1), 0)
        cpp_fused_add_0(buf0, buf2)

        cpp_fused_add_0(buf0, buf2)
        return (buf0, )

runner = Runner()
extern_kernels.addmm(after)
"""

_LINALG = """
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %g = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
      outs(%e : tensor<4xf32>) {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  } -> tensor<4xf32>
  %y = linalg.add ins(%x, %f : tensor<4xf32>, tensor<4xf32>)
      outs(%g : tensor<4xf32>) -> tensor<4xf32>
  %v = tensor.expand_shape %y [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %w = tensor.collapse_shape %v [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %t = tensor.empty() : tensor<8xf32>
  %p = tensor.insert_slice %w into %t[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %p : tensor<8xf32>
}
"""


def test_inductors_launches_are_counted_in_call_only() -> None:
    assert count_launches(_GENERATED) == {
        "extern_kernels.addmm": 1,
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default": 1,
        "cpp_fused_add_0": 2,
    }
    assert not count_launches("import torch\n")


def test_fills_and_views_compute_nothing() -> None:
    with make_context(), ir.Location.unknown():
        assert count_compute(ir.Module.parse(_LINALG)) == 2


def test_synthetic_graphs_have_the_size_asked_for() -> None:
    texts = []
    for _ in range(2):
        with make_context() as context, ir.Location.unknown():
            module = synthetic_module(400, 3, context)
            assert module.operation.verify()
            assert 400 <= count_operations(module.operation) <= 460
            texts.append(str(module))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("templates", [5, None])
def test_every_pass_is_timed(templates: int | None) -> None:
    row = measure(200, templates, 0)
    assert 0 < row["launches"] < row["operations"]
    names = [entry["name"] for entry in row["passes"]]
    assert "canonicalize" in names
    assert "outline-kernels" in names
    total = sum(entry["seconds"] for entry in row["passes"])
    assert row["ours_seconds"] + row["upstream_seconds"] == pytest.approx(total)


def test_documents_have_a_place_for_every_part(tmp_path: Path) -> None:
    document = tmp_path / "fusion.md"
    document.write_text(DOCUMENT.read_text(encoding="utf-8"), encoding="utf-8")
    result = {
        "machine": {
            "cpu": "a processor", "cores_allowed": 2, "python": "CPython 3.12",
            "date": "2026-01-02", "load_average": 0.1, "versions": {"numpy": "2", "torch": None},
        },
        "seed": 4, "graphs": 1234, "found": {"mismatch": 7}, "operations": {"add": 3},
        "counts": {"unfused": 9, "fused": 2, "elements": 5, "unknown": 1, "identical": 1200},
    }  # fmt: skip
    (tmp_path / "fuzz_fusion-x.json").write_text(json.dumps(result), encoding="utf-8")
    update_document(document, tmp_path)
    text = document.read_text(encoding="utf-8")
    assert render("fuzz_fusion", result) in text
    assert "1,234 graphs (seed 4): 7 mismatch." in text
    update_document(document, tmp_path)
    assert document.read_text(encoding="utf-8") == text
    document.write_text("no markers", encoding="utf-8")
    with pytest.raises(ValueError, match="needs"):
        update_document(document, tmp_path)
