# SPDX-License-Identifier: MIT OR Apache-2.0
"""Between passes that form and change stages, everything that they decide is in the text."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.analysis.kernel_function import direct_operations_named, kernel_function
from xyntra.passes.lower.gpu.device import DEFAULT, device_of
from xyntra.passes.lower.gpu.to_stages import stage_passes, to_buffers
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipelines import expand, fusion_pipeline, kernel_pipeline

_ROOT = Path(__file__).resolve().parents[4]
_LIT_TESTS = sorted((_ROOT / "lit-tests/passes/lower").glob("*/stages/*.mlir"))
_ERROR = "expected-error"
_MODELS = {
    "a norm between products": """
        (float16[128,768] x, float16[768,768] w, float16[768] b, float16[768] scale,
         float16[768] shift, float16[768,3072] v) => (float16[128,3072] y) {
          product = MatMul(x, w)
          biased = Add(product, b)
          sum = Add(biased, x)
          normed = LayerNormalization<axis=-1>(sum, scale, shift)
          y = MatMul(normed, v)
        }""",
    "slices of a product": """
        (float16[512,768] x, float16[768,2304] w, float16[2304] b)
        => (float16[12,512,64] q, float16[12,512,64] k, float16[12,512,64] v) {
          product = MatMul(x, w)
          biased = Add(product, b)
          first, second, third = Split<axis=1, num_outputs=3>(biased)
          heads = Constant<value=int64[3] {512, 12, 64}>()
          q0 = Reshape(first, heads)
          q = Transpose<perm=[1, 0, 2]>(q0)
          k0 = Reshape(second, heads)
          k = Transpose<perm=[1, 0, 2]>(k0)
          v0 = Reshape(third, heads)
          v = Transpose<perm=[1, 0, 2]>(v0)
        }""",
    "a padded convolution": """
        (float16[1,64,28,28] x, float16[64,64,3,3] w, float16[64] b) => (float16[1,64,28,28] y) {
          h = Conv<pads=[1, 1, 1, 1]>(x, w, b)
          y = Relu(h)
        }""",
    "attention with a mask": """
        (float16[2,4,128,64] q, float16[2,4,64,128] k, float16[2,4,128,64] v, int64[2,1,1,128] m)
        => (float16[2,4,128,64] y) {
          scores = MatMul(q, k)
          wide = Constant<value=float {0.125}>()
          scale = CastLike(wide, q)
          scaled = Mul(scores, scale)
          kept = Cast<to=1>(m)
          one = Constant<value=float {1.0}>()
          dropped = Sub(one, kept)
          low = Constant<value=float {-60000.0}>()
          bias = Mul(dropped, low)
          narrow = CastLike(bias, q)
          masked = Add(scaled, narrow)
          shares = Softmax<axis=-1>(masked)
          y = MatMul(shares, v)
        }""",
    "a long product": """
        (float16[64,65536] x, float16[65536,64] w) => (float16[64,64] y) { y = MatMul(x, w) }""",
    "a product without alignment": """
        (float16[777,1001] x, float16[1001,513] w) => (float16[777,513] y) { y = MatMul(x, w) }""",
    "a long reduction": """
        (float[4,1048576] x) => (float[4] y) {
          axis = Constant<value=int64[1] {1}>()
          y = ReduceSum<keepdims=0>(x, axis)
        }""",
    "running sums": """
        (float[4096,64] x) => (float[4096,64] y) {
          axis = Constant<value=int64 {0}>()
          y = CumSum(x, axis)
        }""",
    "the best elements": """
        (float[4,65536] x) => (float[4,8] y, int64[4,8] i) {
          count = Constant<value=int64[1] {8}>()
          y, i = TopK(x, count)
        }""",
    "scattered sums": """
        (float[1000,16] x, int64[300,16] i, float[300,16] u) => (float[1000,16] y) {
          y = ScatterElements<axis=0, reduction="add">(x, i, u)
        }""",
}  # fmt: skip


def _kernels(graph: str) -> list[str]:
    """Return the kernels of a model on buffers, as the passes get them."""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> model {graph}')
    skeleton = scan(model.SerializeToString()).skeleton
    with make_context() as context, ir.Location.unknown():
        module = import_model(skeleton, {}, context=context, max_tensor_bytes=1 << 30)
        fuse = fusion_pipeline(egraph=True, fast_math=False, target="cuda", precision="f32")
        elements = ["prepare", *fuse, *kernel_pipeline("cuda"), *expand("gpu-kernel-loops")]
        run_pipeline(module, elements, verify_each=False)
        operations = [view.operation for view in module.body.operations]
        kernels = [op for op in operations if "xyntra.kernel" in op.attributes]
        texts = [op.get_asm(use_local_scope=True) for op in kernels]
        for dialect in ("gpu", "nvvm"):
            context.get_dialect_descriptor(dialect)  # loads it
        return [
            str(to_buffers(ir.Module.parse(text).operation, device_of(DEFAULT))) for text in texts
        ]


def _passes(device: str) -> dict[str, str]:
    """Return the passes in order, by name, as in a pipeline."""
    passes = stage_passes(device_of(device), plain=False)
    return {p.name: p.name + f"{{device={device}}}" * hasattr(p, "device") for p in passes}


def _steps(text: str, device: str) -> list[str]:
    """Return the text before the first pass and behind each of them, run in one go."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        found = [str(module)]
        for step in _passes(device).values():
            run_pipeline(module, step)
            found.append(str(module))
        function = kernel_function(module.operation)
        assert not direct_operations_named(function, "linalg.generic", "scf.for", "memref.copy")
    return found


def _check(kernel: str, device: str) -> None:
    """Compare what comes of the text of every step with what comes of one run."""
    steps, passes = _steps(kernel, device), list(_passes(device).items())
    for number, (following, _) in enumerate(passes):
        if number and steps[number] == steps[number - 1]:
            continue
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(steps[number])
            assert str(module) == steps[number]
            run_pipeline(module, ",".join(each for _, each in passes[number:]))
            assert str(module) == steps[-1], f"differs from before {following} on"


@pytest.mark.parametrize("device", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", _MODELS)
def test_passes_continue_from_the_text_of_any_step(name: str, device: str) -> None:
    for kernel in _kernels(_MODELS[name]):
        _check(kernel, device)


@pytest.mark.parametrize("path", _LIT_TESTS, ids=lambda path: path.stem)
def test_all_passes_run_where_one_is_tested(path: Path) -> None:
    texts = [each for each in path.read_text().split("// -----") if _ERROR not in each]
    assert texts
    for text in texts:
        _check(text, "sm_90a")
