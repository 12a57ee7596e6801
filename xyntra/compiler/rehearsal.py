# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes a model of our own down the levels, so that what comes after finds the compiler in use.

Modules that passes load when they need them, tables that are computed once, and the entry points
of plugins: together they cost more than a small model.
"""

from __future__ import annotations

__all__ = ["rehearse"]

_MODEL = """
<ir_version: 9, opset_import: ["" : 20]>
rehearsal (float[4, 8] x, float[8, 8] w, float[8] b) => (float[4, 8] y) {
  product = MatMul(x, w)
  sum = Add(product, b)
  positive = Relu(sum)
  y = Softmax(positive)
}
"""


def rehearse(architecture: str = "") -> None:
    """Compile the model as far as kernels.

    Args:
        architecture: of the GPU to do so for; "" for this processor.
    """
    import onnx.parser

    from xyntra.build_id import build_id
    from xyntra.compiler.levels import emit_text
    from xyntra.compiler.worker.request import Request

    build_id()
    request = Request(
        kind="onnx",
        model=onnx.parser.parse_model(_MODEL).SerializeToString(),
        parameters="",
        shapes={},
        dims={},
        constants={},
        level="kernels",
        architecture=architecture,
        fuse=True,
        egraph=False,  # its engine has threads, and whoever rehearses is to be forked
        fast_math=False,
        fold_norms=True,
        strict=False,
        opt_level=2,
        precision="f32",
        narrow_io=False,
        jobs=1,
        timeout=1.0,
        max_tensor_bytes=1 << 20,
        cache_dir=None,
        cache_size=0,
    )
    emit_text(request)
