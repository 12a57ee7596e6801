# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operator sets that a model or a function imports."""

from __future__ import annotations

import onnx

from xyntra.errors import UnsupportedError

__all__ = ["MICROSOFT", "MIN_OPSET", "domain_of", "opsets_of"]

MIN_OPSET = 7
MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's contributed operators."""

_DOMAINS = {"ai.onnx": ""}


def domain_of(name: str) -> str:
    """The operator set that `name` stands for."""
    return _DOMAINS.get(name, name)


def opsets_of(holder: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """The version of each operator set; UnsupportedError where ONNX's own is too old or new."""
    opsets = {domain_of(o.domain): int(o.version) for o in holder.opset_import}
    version = opsets.get("")
    newest = onnx.defs.onnx_opset_version()
    if version is not None and not MIN_OPSET <= version <= newest:
        raise UnsupportedError(
            "opset-unsupported",
            f"operator set {version} is not supported",
            cause=f"Xyntra reads operator sets {MIN_OPSET} to {newest}",
            hint="convert the model with onnx.version_converter",
        )
    return opsets
