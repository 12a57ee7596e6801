# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX models that write a pattern out, or nearly so; pattern_models.txt holds them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.frontends.onnx.importer import import_model
from xyntra.passes.manager import run_pipeline


@dataclass(frozen=True)
class Written:
    """A model of a few nodes.

    Attributes:
        title: what it is.
        inputs: in ONNX's text: `float[4,8] x`.
        constants: initializers by name, each one number.
        becomes: the named op that is recognised, then a text of its attributes; or "nothing".
        body: the nodes; `y` is the output.
    """

    title: str
    inputs: str
    constants: dict[str, float]
    becomes: str
    body: str

    @property
    def named_op(self) -> str:
        """The op that is recognised, as in `xyntra.gelu`; "" where none is."""
        return "" if self.becomes == "nothing" else f"xyntra.{self.becomes.split()[0]}"

    def model(self, dtype: str = "float") -> onnx.ModelProto:
        """The model with `dtype` in the place of float."""
        inputs = re.sub(r"\bfloat\b", dtype, self.inputs)
        text = f"""
        <ir_version: 10, opset_import: ["": 18]>
        g ({inputs}) => (float y) {{ {self.body} }}
        """
        model: onnx.ModelProto = parser.parse_model(text)
        element = helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
        model.graph.initializer.extend(
            numpy_helper.from_array(np.array(value, element), name)
            for name, value in self.constants.items()
        )
        # The type of the output is for the importer to find out.
        model.graph.output[0].ClearField("type")
        return model


def written_models() -> list[Written]:
    """All models of pattern_models.txt."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if not block.startswith("#")]
    return [_written(lines) for lines in blocks]


def _written(lines: list[str]) -> Written:
    title, *rest = lines
    fields = {"constants": ""}
    while re.match(r"\w+: ", rest[0]):
        name, _, value = rest.pop(0).partition(": ")
        fields[name] = value
    pairs = (pair.split(" = ") for pair in fields["constants"].split(", ") if pair)
    constants = {name: float(value) for name, value in pairs}
    return Written(title, fields["inputs"], constants, fields["becomes"], " ".join(rest))


def recognised(model: onnx.ModelProto, options: str = "") -> str:
    """The text of level 1 after `recognize-patterns`."""
    with make_context() as context, ir.Location.unknown():
        module = import_model(
            model.SerializeToString(), {}, context=context, max_tensor_bytes=1 << 30
        )
        run_pipeline(module, ("cse", "canonicalize", f"recognize-patterns{options}"))
        return str(module.operation.get_asm(enable_debug_info=True))
