# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes exported programs real: their complex tensors become pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch.export.graph_signature import InputKind, OutputSpec, TensorArgument

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.complex_pairs.rewriting import has_complex, with_pairs
from xyntra.frontends.torch.reducing.programs import ReducedProgram

__all__ = ["real_program"]


def real_program(
    program: ReducedProgram, table: Mapping[Any, Callable[..., Any]]
) -> ReducedProgram:
    """Return a program without complex tensors but among its weights.

    Args:
        program: in terms of core ATen.
        table: decompositions of operators.

    Raises:
        UnsupportedError: an input or an output is complex, or an operator has no rule.
    """
    if not has_complex(program.graph):
        return program
    nodes = {node.name: node for node in program.graph.nodes}
    for spec in program.input_specs:
        name = getattr(spec.arg, "name", "")
        is_tensor = spec.kind == InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
        if is_tensor and nodes[name].meta["val"].is_complex():
            raise UnsupportedError(
                "torch-input",
                "an input is complex",
                place=f"input '{name}'",
                hint="give real and imaginary parts, and put them together by"
                " torch.view_as_complex; torch.compile takes complex tensors",
            )
    graph, names = with_pairs(program.graph, table)
    return replace(
        program, graph=graph, output_specs=[_renamed(each, names) for each in program.output_specs]
    )


def _renamed(spec: OutputSpec, names: Mapping[str, str]) -> OutputSpec:
    if not isinstance(spec.arg, TensorArgument):
        return spec
    return OutputSpec(spec.kind, TensorArgument(names[spec.arg.name]), spec.target)
