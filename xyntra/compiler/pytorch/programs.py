# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces PyTorch's models to programs, and says how the models are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.fx.traceback import preserve_node_meta
from torch.utils import _pytree as pytree

from xyntra.errors import XyntraError
from xyntra.frontends.torch.describe import describe
from xyntra.frontends.torch.exported_sizes import DimensionNames
from xyntra.frontends.torch.exporting import decomposed, export_module
from xyntra.frontends.torch.program import AtenProgram, AtenRequirement
from xyntra.frontends.torch.script.module import ScriptedModule, name_parts

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CallLayout", "TracedProgram", "exported_program", "script_program"]


@dataclass(frozen=True)
class CallLayout:
    """How a model is called, and what it returns, in terms of a program's inputs and outputs.

    Attributes:
        arguments: the model's positional and named arguments, with a number for each leaf.
        held: for each leaf, whether the program holds it as a constant.
        result: what the model returns, with a number for each leaf.
        leaves: for each leaf of it, the output of the program, or `("constant", value)`.
        names: of positional arguments that may be given by name, too, in order.
    """

    arguments: Any
    held: tuple[bool, ...]
    result: Any
    leaves: tuple[Any, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class TracedProgram:
    """A program with its weights and the way it is called."""

    program: AtenProgram
    weights: Mapping[str, np.ndarray[Any, Any]]
    layout: CallLayout


def exported_program(
    exported: torch.export.ExportedProgram, names: DimensionNames | None = None
) -> TracedProgram:
    """Return what `torch.export` has traced as a program.

    Args:
        exported: what it returned.
        names: of dimensions that are free.

    Raises:
        UnsupportedError: it has something that is not supported.
    """
    found = describe(decomposed(exported), names)
    result = _numbered(exported.call_spec.out_spec)
    layout = CallLayout(_arguments(exported), _held(exported), result, tuple(found.leaves))
    return TracedProgram(_with_output_names(found.program, layout), found.weights, layout)


def script_program(script: Any, inputs: Mapping[str, Any] | Sequence[Any] | None) -> TracedProgram:
    """Return a ScriptModule as a program.

    Args:
        script: the module as C++ has it: `script_module._c`.
        inputs: tensors, numpy arrays or shapes (of float32), in order or by name; None for those
            that it was traced with.

    Raises:
        InputError: there are no inputs, or the module has others.
        ModelError: the module fails for these inputs.
        UnsupportedError: it has something that is not supported.
    """
    module = ScriptedModule(script)
    with preserve_node_meta():  # with the annotations of the interpreter
        exported = export_module(module, module.examples(inputs))
        reduced = decomposed(exported)
    lines = name_parts(reduced)
    try:
        described = describe(reduced)
    except XyntraError as error:
        raise _with_line(error, lines) from error
    result, flags = _numbered(exported.call_spec.out_spec)
    program, leaves = described.program, described.leaves
    count = len(program.outputs) - len(flags)
    requirements = [
        AtenRequirement(name, texts)
        for name, texts in zip(program.outputs[count:], module.found.requirements, strict=True)
    ]
    program = replace(program, outputs=program.outputs[:count], requirements=tuple(requirements))
    kept = tuple(leaves[: len(leaves) - len(flags)])
    layout = CallLayout(_arguments(exported), _held(exported), result, kept, module.names)
    return TracedProgram(_with_output_names(program, layout), described.weights, layout)


def _with_output_names(program: AtenProgram, layout: CallLayout) -> AtenProgram:
    """Name outputs by the keys that a model returns them under; those without keys are numbered."""
    names = [f"output{number}" for number in range(len(program.outputs))]
    taken = {each.name for each in program.inputs}
    paths, _ = pytree.tree_flatten_with_path(layout.result)
    for (path, _), leaf in zip(paths, layout.leaves, strict=True):
        name = ".".join(str(part) for part in map(_key, path))
        if isinstance(leaf, int) and any(type(_key(part)) is str for part in path):
            if name in taken:
                return program
            taken.add(name)
            names[leaf] = name
    return replace(program, output_names=tuple(names))


def _key(part: Any) -> Any:
    """Return the name, the key or the position that a part of a path stands for."""
    return next(getattr(part, at) for at in ("key", "name", "idx") if hasattr(part, at))


def _with_line(error: XyntraError, lines: Mapping[str, str]) -> XyntraError:
    """Add the source line of the node that an error names."""
    name = (error.place or "").removeprefix("node '").removesuffix("'").rpartition("/")[2]
    if name in lines:
        error.place = f"{error.place}, {lines[name]}"
    return error


def _numbered(spec: pytree.TreeSpec) -> Any:
    return pytree.tree_unflatten(list(range(spec.num_leaves)), spec)


def _arguments(exported: torch.export.ExportedProgram) -> Any:
    return _numbered(exported.call_spec.in_spec)


def _held(exported: torch.export.ExportedProgram) -> tuple[bool, ...]:
    return tuple(
        isinstance(spec.arg, ConstantArgument)
        for spec in exported.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    )
