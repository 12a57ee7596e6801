# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles PyTorch modules to executables that take and return what the module does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from xyntra.compiler.driver import compile_source
from xyntra.compiler.inputs.source import ModelSource
from xyntra.compiler.pytorch.dimensions import FreeShapes, sizes_of_program
from xyntra.compiler.pytorch.files import read_torchscript
from xyntra.compiler.pytorch.programs import (
    CallLayout,
    TracedProgram,
    exported_program,
    script_program,
)
from xyntra.config import Config
from xyntra.errors import InputError
from xyntra.executable import Executable
from xyntra.frontends.torch.arrays import array_of, tensor_of
from xyntra.frontends.torch.dimension_names import dimension_names
from xyntra.frontends.torch.exporting import export_module, load_program
from xyntra.passes.collector import collector_paused

__all__ = ["TorchExecutable", "compile_torch"]


def compile_torch(
    model: Any,
    inputs: Mapping[str, Any] | Sequence[Any] | None,
    config: Config,
    refused: Mapping[str, Any],
    free: FreeShapes,
) -> TorchExecutable:
    """Compile a module, an exported program, or a file that holds one.

    Args:
        model: the `torch.nn.Module`, `torch.jit.ScriptModule` or `torch.export.ExportedProgram`, or
            the path of a file of TorchScript or of an exported program.
        inputs: example inputs of a module, or shapes of them.
        config: how it is compiled.
        refused: arguments of `compile` that are for other models, by name; all None.
        free: which dimensions are free.

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
    with collector_paused():  # tracing makes many objects, and hardly any garbage
        traced = _traced(model, inputs, config, free.shapes)
    source = ModelSource("torch", traced.program.to_bytes(), None, {}, None, arrays=traced.weights)
    sizes = sizes_of_program(traced.program, free.dims)
    return TorchExecutable(compile_source(source, sizes, config), traced.layout)


def _traced(
    model: Any, inputs: Mapping[str, Any] | Sequence[Any] | None, config: Config, shapes: Any
) -> TracedProgram:
    is_module = isinstance(model, torch.nn.Module)
    if shapes is not None and (not is_module or isinstance(model, torch.jit.ScriptModule)):
        raise InputError(
            "torch-input",
            "dynamic_shapes= is for modules",
            hint="torch.export.export(module, inputs, dynamic_shapes=...) makes programs with them",
        )
    if isinstance(model, torch.jit.ScriptModule):
        return script_program(model._c, inputs)
    if is_module:
        exported = export_module(model, inputs, shapes)
        names = {} if shapes is None else dimension_names(model, exported, shapes)
        return exported_program(exported, names)
    is_path = isinstance(model, (str, os.PathLike))
    if is_path and not os.fspath(model).endswith(".pt2"):
        return read_torchscript(model, inputs, config)
    if inputs is not None:
        raise InputError(
            "torch-input",
            "an exported program has its inputs already",
            hint="leave out inputs=",
        )
    return exported_program(load_program(model) if is_path else model)


class TorchExecutable(Executable):
    """An executable that is called as the module is, with tensors or numpy arrays.

    Outputs have the structure of the module's. They are numpy arrays where no
    input is a tensor but one is an array, else tensors. `run`, `submit`, pickles and saved files
    know the tensors alone, in order.

    Args:
        executable: the compiled program.
        layout: how the module is called, in terms of the program's inputs and outputs.
    """

    def __init__(self, executable: Executable, layout: CallLayout) -> None:
        # The flat executable is what this one is, and more: it takes over all of its state.
        self.__dict__.update(executable.__dict__)
        self._in_spec = pytree.tree_structure(layout.arguments)
        self._out_spec = pytree.tree_structure(layout.result)
        self._layout = layout.leaves
        self._held = layout.held
        self._names = layout.names

    def __call__(
        self,
        /,
        *arrays: Any,
        out: Sequence[Any] | Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
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
        for name in self._names[len(arrays) :]:
            if name not in named:
                break
            arrays = (*arrays, named.pop(name))
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
    on_host = isinstance(value, torch.Tensor) and not (value.is_cuda or value.is_meta)
    return array_of(value) if on_host else value


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, np.ndarray):
        return tensor_of(value)
    return torch.from_dlpack(value)
