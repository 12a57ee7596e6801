# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compile --precision int8 --emit onnx`: the quantized model as an ONNX file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xyntra.errors import InputError, UnsupportedError
from xyntra.tools.commands.model import progress, samples_of, settings_of, sizes_of, source_of
from xyntra.tools.commands.standard_input import label_of

__all__ = ["write_quantized"]

_LARGEST = 1 << 31
"""Bytes that one protobuf may have."""


def write_quantized(options: argparse.Namespace) -> None:
    """Write the model to the file that the options name, and say what could not be written so.

    Raises:
        InputError: no file is named, or it is that of the model.
        UnsupportedError: the model is no ONNX file, or too large for one.
    """
    from xyntra.compiler.driver import quantize_source

    source = source_of(options)
    if source.kind != "onnx" or source.path is None:
        raise UnsupportedError(
            "quantized-source",
            "a quantized ONNX model is written of an ONNX file",
            place=label_of(options),
        )
    if options.output in (None, "-"):
        raise InputError("output-missing", "an ONNX model is written to a file", hint="-o q.onnx")
    output = Path(options.output)
    if output.exists() and output.samefile(source.path):
        raise InputError(
            "output-is-model", "the file to be written is the model", hint="give -o another name"
        )
    settings = settings_of(options)
    with progress(f"quantizing {label_of(options)}", settings):
        # QuantizeLinear has no scale for each row that a call finds.
        sizes, samples = sizes_of(options), samples_of(options)
        found = quantize_source(source, sizes, settings, samples, by_rows=False)
    import onnx

    from xyntra.compiler.calibration.qdq_model import qdq_model
    from xyntra.plan.storage.files import replace_file

    model, missing = qdq_model(onnx.load(source.path), found)
    if model.ByteSize() >= _LARGEST:
        raise UnsupportedError("quantized-size", "the quantized model is larger than 2 GiB")
    replace_file(output, [model.SerializeToString()])
    for nodes in missing:
        print(f"not quantized in the file: {nodes}", file=sys.stderr)
