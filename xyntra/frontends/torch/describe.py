# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a decomposed PyTorch program as plain data, its weights apart."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.arrays import array_of
from xyntra.frontends.torch.calls import call_of, tensor_type
from xyntra.frontends.torch.exported_sizes import DimensionNames, ExportedSizes
from xyntra.frontends.torch.program import (
    INLINE_BYTES,
    AtenInput,
    AtenParameter,
    AtenProgram,
)
from xyntra.frontends.torch.reducing.programs import ReducedProgram

__all__ = ["DescribedProgram", "describe"]

_CONDITIONS = ("_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size")
"""Operators that say what is known of sizes."""


@dataclass(frozen=True)
class DescribedProgram:
    """A program as data.

    Attributes:
        program: without its larger weights.
        weights: these, by name.
        leaves: its outputs: positions of results, or ("constant", value).
    """

    program: AtenProgram
    weights: dict[str, np.ndarray[Any, Any]]
    leaves: list[Any]


def describe(reduced: ReducedProgram, names: DimensionNames | None = None) -> DescribedProgram:
    """Return a program as data, with its weights as arrays that share the module's memory.

    Args:
        reduced: the program.
        names: of dimensions that are free.

    Raises:
        UnsupportedError: a size depends on values, a dtype is not supported, an output is no
            tensor, the program changes its state, or it has control flow.
    """
    return _Describer(reduced, names or {}).run()


class _Describer:
    def __init__(self, reduced: ReducedProgram, names: DimensionNames) -> None:
        self.reduced = reduced
        self.nodes = {node.name: node for node in reduced.graph.nodes}
        self.sizes = ExportedSizes(reduced.range_constraints, self._tensors(), names)
        self.weights: dict[str, np.ndarray[Any, Any]] = {}
        self.storages: dict[tuple[Any, ...], str] = {}
        self.inputs: list[AtenInput] = []
        self.parameters: list[AtenParameter] = []

    def run(self) -> DescribedProgram:
        for spec in self.reduced.input_specs:
            self._input(spec)
        nodes = [n for n in self.reduced.graph.nodes if n.op == "call_function"]
        calls = [call_of(n, self.sizes) for n in nodes if not self._is_of_sizes(n)]
        outputs, layout = self._outputs()
        program = AtenProgram(
            tuple(self.inputs),
            tuple(self.parameters),
            tuple(calls),
            tuple(outputs),
            symbols=self.sizes.symbols(),
            guards=self.sizes.guards(),
        )
        return DescribedProgram(program, self.weights, layout)

    def _tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Return the inputs of users that are tensors."""
        specs = self.reduced.input_specs
        named = [spec.arg.name for spec in specs if spec.kind == InputKind.USER_INPUT]
        values = [(each, self.nodes[each].meta.get("val")) for each in named if each in self.nodes]
        return [(name, value) for name, value in values if isinstance(value, torch.Tensor)]

    def _is_of_sizes(self, node: torch.fx.Node) -> bool:
        """Tell whether a node computes a size, or a condition on sizes, which guards hold."""
        if not self.sizes.are_free:
            return False
        if isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool)):
            return True
        return getattr(node.target, "_opname", None) in _CONDITIONS

    def _input(self, spec: Any) -> None:
        if isinstance(spec.arg, ConstantArgument):
            return
        if not isinstance(spec.arg, TensorArgument):
            raise _unsupported(
                "torch-input", f"input '{spec.arg.name}' is no tensor", "give tensors as inputs"
            )
        name = spec.arg.name
        if spec.kind == InputKind.USER_INPUT:
            type_ = tensor_type(self.nodes[name].meta["val"], f"input '{name}'", self.sizes)
            self.inputs.append(AtenInput(name, type_))
        elif self.nodes[name].users:
            self._parameter(name, spec.target)

    def _parameter(self, name: str, target: str) -> None:
        constants = self.reduced.constants
        value = self.reduced.state_dict.get(target, constants.get(target))
        if not isinstance(value, torch.Tensor):
            raise _unsupported("torch-constant", f"'{target}' is no tensor", "make it a buffer")
        if value.device.type == "meta":
            raise _unsupported(
                "torch-device",
                f"the weight '{target}' has no values: it is on the device meta",
                "load the module's weights before compiling",
            )
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        type_ = tensor_type(value, f"weight '{target}'")
        if value.numel() * value.element_size() <= INLINE_BYTES:
            data = base64.b64encode(array_of(value).tobytes()).decode()
            self.parameters.append(AtenParameter(name, target, type_, data))
            return
        storage = (value.data_ptr(), value.shape, value.stride(), value.dtype)
        weight = self.storages.setdefault(storage, target)
        if weight not in self.weights:
            self.weights[weight] = _read_only(array_of(value))
        self.parameters.append(AtenParameter(name, weight, type_))

    def _outputs(self) -> tuple[list[str], list[Any]]:
        names: list[str] = []
        layout: list[Any] = []
        for spec in self.reduced.output_specs:
            if spec.kind != OutputKind.USER_OUTPUT:
                raise _unsupported(
                    "torch-mutation",
                    f"the module changes its state: '{spec.target}'",
                    "module.eval() before compiling, where it is a statistic of training; else"
                    " return the new value as an output",
                )
            if isinstance(spec.arg, TensorArgument):
                layout.append(len(names))
                names.append(spec.arg.name)
            elif isinstance(spec.arg, ConstantArgument):
                layout.append(("constant", spec.arg.value))
            else:
                raise _unsupported(
                    "torch-output",
                    f"output '{spec.arg.name}' is no tensor",
                    "return a tensor, such as torch.tensor(value)",
                )
        if not names:
            raise _unsupported("torch-output", "no output is a tensor", "return a tensor")
        return names, layout


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _unsupported(code: str, message: str, hint: str) -> UnsupportedError:
    return UnsupportedError(code, message, hint=hint)
