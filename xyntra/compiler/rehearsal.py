# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles a model of our own, so that whoever is forked afterwards finds the compiler in use.

Modules that passes load when they need them, tables that are computed once, and the entry points
of plugins: together they cost more than a small model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xyntra.compiler.worker.fork_server import ForkServer

__all__ = ["rehearse"]

_MODEL = """
<ir_version: 9, opset_import: ["" : 20]>
rehearsal (float[4, 8] x, float[8, 8] w, float[8] b) => (float[8, 4] y) {
  product = MatMul(x, w)
  sum = Add(product, b)
  activated = Gelu(sum)
  normalized = LayerNormalization(activated, b, b)
  scores = Softmax(normalized)
  y = Transpose(scores)
}
"""


def rehearse(architecture: str, server: ForkServer) -> None:
    """Compile the model.

    Args:
        architecture: of the GPU to compile it for; "" for this processor.
        server: forks the process that compiles its kernels.
    """
    import onnx.parser

    from xyntra.build_id import build_id
    from xyntra.compiler.compile_request import compile_request
    from xyntra.compiler.worker.request import Request

    build_id()
    request = Request(
        kind="onnx",
        model=onnx.parser.parse_model(_MODEL).SerializeToString(),
        parameters="",
        shapes={},
        dims={},
        constants={},
        level="artifact",
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
        timeout=10.0,
        max_tensor_bytes=1 << 20,
        cache_dir=None,
        cache_size=0,
    )
    compile_request(request, server=server)
