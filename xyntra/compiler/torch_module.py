# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles PyTorch modules to executables that take and return what the module does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.utils import _pytree as pytree

from xyntra.compiler.driver import compile_source
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import ModelSource
from xyntra.config import Config
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.frontends.torch.arrays import array_of, tensor_of
from xyntra.frontends.torch.describe import describe
from xyntra.frontends.torch.exporting import decomposed, export_module, load_program

__all__ = ["TorchExecutable", "compile_torch"]


def compile_torch(
    model: Any,
    inputs: Mapping[str, Any] | Sequence[Any] | None,
    config: Config,
    refused: Mapping[str, Any],
) -> TorchExecutable:
    """Compile a module, an exported program, or a file that holds one.

    Args:
        model: the `torch.nn.Module`, `torch.export.ExportedProgram` or path.
        inputs: example inputs of a module.
        config: how it is compiled.
        refused: arguments of `compile` that are for other models, by name; all None.

    Raises:
        InputError: `inputs` is missing, or given to a program that is exported already.
        XyntraError: as `xyntra.compile`.
    """
    for name, value in refused.items():
        if value is not None:
            raise InputError(
                "torch-input",
                f"{name}= is for ONNX models",
                hint="export the module for the sizes and values that it is to be compiled for",
            )
    if isinstance(model, torch.nn.Module):
        exported = export_module(model, inputs)
    else:
        is_path = isinstance(model, (str, os.PathLike))
        exported = load_program(model) if is_path else model
        if inputs is not None:
            raise InputError(
                "torch-input",
                "an exported program has its inputs already",
                hint="leave out inputs=",
            )
    program, weights, layout = describe(decomposed(exported))
    source = ModelSource("torch", program.to_bytes(), None, {}, None, arrays=weights)
    executable = compile_source(source, Sizes(), config)
    return TorchExecutable(executable, exported, layout)


class TorchExecutable(Executable):
    """An executable that is called as the module is, with tensors or numpy arrays.

    Outputs have the structure of the module's. They are numpy arrays where no
    input is a tensor but one is an array, else tensors. `run`, `submit`, pickles and saved files
    know the tensors alone, in order.

    Args:
        executable: the compiled program.
        exported: the program, for the structure of its inputs and outputs.
        layout: its outputs, as `describe` gives them.
    """

    def __init__(
        self, executable: Executable, exported: torch.export.ExportedProgram, layout: Sequence[Any]
    ) -> None:
        # The flat executable is what this one is, and more: it takes over all of its state.
        self.__dict__.update(executable.__dict__)
        self._in_spec = exported.call_spec.in_spec
        self._out_spec = exported.call_spec.out_spec
        self._layout = tuple(layout)
        self._held = [
            isinstance(spec.arg, ConstantArgument)
            for spec in exported.graph_signature.input_specs
            if spec.kind == InputKind.USER_INPUT
        ]

    def __call__(self, /, *arrays: Any, out: Sequence[Any] | None = None, **named: Any) -> Any:
        """Run the module.

        Args:
            arrays: the module's arguments; tensors and numpy arrays may stand for each other.
            out: not supported: outputs have a structure.
            named: its arguments by name.

        Returns:
            What the module returns.

        Raises:
            InputError: the arguments are not of the structure, or a tensor not of the dtype or
                shape, that the module was compiled for; or `out` is given.
        """
        if out is not None:
            raise InputError("torch-input", "out= is not supported for PyTorch modules")
        leaves, spec = pytree.tree_flatten((arrays, named))
        if spec != self._in_spec:
            raise InputError(
                "torch-input",
                "the arguments are not of the structure that the module was compiled for",
                cause=f"given: {spec}\nexpected: {self._in_spec}",
            )
        given = [leaf for leaf, held in zip(leaves, self._held, strict=True) if not held]
        results = super().__call__(*(_passed(leaf) for leaf in given))
        results = results if isinstance(results, tuple) else (results,)
        kinds = {isinstance(leaf, torch.Tensor) for leaf in given}
        if kinds != {False}:
            results = tuple(_tensor(each) for each in results)
        found = [results[each] if isinstance(each, int) else each[1] for each in self._layout]
        return pytree.tree_unflatten(found, self._out_spec)


def _passed(value: Any) -> Any:
    """A tensor on the CPU as an array; others are passed on as they are."""
    return array_of(value) if isinstance(value, torch.Tensor) and not value.is_cuda else value


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, np.ndarray):
        return tensor_of(value)
    return torch.from_dlpack(value)
