# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wraps a ScriptModule as a module that `torch.export` traces, with the same weights and names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from xyntra.errors import InputError, ModelError, UnsupportedError
from xyntra.frontends.torch.reducing.programs import ReducedProgram
from xyntra.frontends.torch.script.interpreter import LINE, PART, Interpreter
from xyntra.frontends.torch.script.values import ModulePart, Unknown

__all__ = ["ScriptedModule", "name_parts"]


@dataclass
class _Found:
    """What a run has found out; `torch.export` takes back what is assigned to the module itself.

    Attributes:
        requirements: the texts of the errors that its flags stand for.
    """

    requirements: list[dict[str, str]] = field(default_factory=list)


class ScriptedModule(torch.nn.Module):  # type: ignore[misc]
    """A module whose forward interprets the graph of a ScriptModule.

    It returns the ScriptModule's result and a list of flags, one for each of `found.requirements`.

    Args:
        script: the ScriptModule as C++ has it: `script_module._c`.

    Attributes:
        found: the run of `forward` that has ended last.
    """

    def __init__(self, script: Any) -> None:
        super().__init__()
        self._script = ModulePart("", script)
        self._places: dict[str, tuple[str, ...]] = {}
        self.found = _Found()
        self._adopt(self._script, self, ())
        if not script._has_method("forward"):
            raise ModelError("torch-failed", "the module has no method 'forward'")
        self._signature = _signature(script._get_method("forward").schema)
        self.forward = self._forward()

    def examples(self, inputs: Mapping[str, Any] | Sequence[Any] | None) -> Any:
        """Return the inputs to trace the module with: those given, or those of its own trace.

        Raises:
            InputError: there are none, or they are not those of the module.
        """
        if inputs is None:
            traced = dict(self._script.script._retrieve_traced_inputs().items())
            inputs = list(traced.get("forward", ()))
            if not inputs and self._signature.parameters:
                raise self._inputs_error("the module needs example inputs, or their shapes")
        named = inputs if isinstance(inputs, Mapping) else {}
        try:
            bound = self._signature.bind(*(() if isinstance(inputs, Mapping) else inputs), **named)
        except TypeError as error:
            raise self._inputs_error("the inputs are not those of the module", str(error)) from None
        return bound.args if not bound.kwargs else bound.arguments

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments of `forward`, in order."""
        return tuple(self._signature.parameters)

    def _inputs_error(self, message: str, cause: str | None = None) -> InputError:
        names = list(self._signature.parameters)
        return InputError(
            "inputs-missing",
            message,
            place=f"forward{self._signature}",
            cause=cause,
            hint=f"xyntra.compile(model, inputs={{{names[0]!r}: (1, 3, 224, 224)}}), or on the"
            f" command line --shape {names[0]}=1x3x224x224"
            if names
            else "leave out inputs=",
        )

    def _adopt(self, part: ModulePart, holder: torch.nn.Module, place: tuple[str, ...]) -> None:
        """Hold the weights of a part under the names that it has them."""
        for name, parameter in torch._C.ParameterDict(part.script).items():
            free = self._place(part.child(name), holder, place, name)
            holder.register_parameter(free, _parameter(parameter))
        for name, buffer in torch._C.BufferDict(part.script).items():
            free = self._place(part.child(name), holder, place, name)
            holder.register_buffer(free, buffer.detach())
        for name, _ in torch._C.ModuleDict(part.script).items():
            inner = torch.nn.Module()
            free = self._place(part.child(name), holder, place, name)
            holder.add_module(free, inner)
            child = ModulePart(part.child(name), part.script.getattr(name))
            self._adopt(child, inner, (*place, free))

    def _place(self, path: str, holder: torch.nn.Module, place: tuple[str, ...], name: str) -> str:
        """Return a name that the holder has free, which is noted as that of `path`."""
        while hasattr(holder, name):
            name += "_"
        self._places[path] = (*place, name)
        return name

    def weight(self, path: str, value: torch.Tensor) -> torch.Tensor:
        """Return what is traced for the weight at a path of the ScriptModule."""
        if path not in self._places:
            return value
        found: Any = self
        for name in self._places[path]:
            found = getattr(found, name)
        return found

    def _forward(self) -> Any:
        signature = self._signature

        def forward(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            interpreter = Interpreter(self.weight)
            result = interpreter.run(self._script, list(bound.arguments.values()))
            self.found.requirements = [each.texts for each in interpreter.requirements]
            return _plain(result), [each.flag for each in interpreter.requirements]

        forward.__signature__ = signature  # type: ignore[attr-defined]
        return forward


def _signature(schema: Any) -> inspect.Signature:
    """Return the arguments of a method, without the module itself."""
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=each.default_value if each.has_default_value() else inspect.Parameter.empty,
            )
            for each in schema.arguments[1:]
        ]
    )


def _parameter(value: torch.Tensor) -> torch.nn.Parameter:
    if isinstance(value, torch.nn.Parameter):
        return value
    return torch.nn.Parameter(value, requires_grad=value.is_floating_point())


def _plain(result: Any) -> Any:
    """Return an output, once it holds no numbers that depend on the values of tensors."""
    if isinstance(result, Unknown):
        raise UnsupportedError(
            "torch-output",
            f"an output is a {result.kind.__name__} that depends on the values of tensors",
            hint="return the tensor itself, without .item(), int() or float()",
        )
    if isinstance(result, (list, tuple)):
        return type(result)(_plain(each) for each in result)
    if isinstance(result, dict):
        return {key: _plain(each) for key, each in result.items()}
    return result


def name_parts(program: ReducedProgram) -> dict[str, str]:
    """Put nodes into the parts of the ScriptModule that they come from.

    Returns:
        The source line of each node, by name.
    """
    lines = {}
    for node in program.graph.nodes:
        notes = node.meta.get("custom") or {}
        node.meta["nn_module_stack"] = {"part": (notes.get(PART, ""), "")}
        if notes.get(LINE):
            lines[node.name] = notes[LINE]
    return lines
