# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports PyTorch modules with torch.export and decomposes them to core ATen operators."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
import torch.fx.config
from torch._decomp import get_decompositions
from torch.fx import _lazy_graph_module

from xyntra.errors import InputError, ModelError, UnsupportedError, XyntraError
from xyntra.frontends.torch.complex_pairs.programs import real_program
from xyntra.frontends.torch.decomposing.table import own_decompositions
from xyntra.frontends.torch.reducing.programs import ReducedProgram, reduce_program

__all__ = ["decomposed", "export_module", "load_program"]

_KEPT = ("scaled_dot_product_attention", "linear", "silu", "hardswish", "hardsigmoid", "softplus")
"""Operators that are imported as they are, although PyTorch would decompose them."""
_MORE = ("_native_batch_norm_legit",)
"""Operators of core ATen that PyTorch can decompose further."""


def export_module(
    module: torch.nn.Module,
    inputs: Mapping[str, Any] | Sequence[Any] | None,
    dynamic_shapes: Any = None,
) -> torch.export.ExportedProgram:
    """Return a module exported for example inputs.

    Args:
        module: the module, in the mode (training or not) that it is to run in.
        inputs: tensors, numpy arrays or shapes (of float32), in order or by name, on any device.
        dynamic_shapes: which of their dimensions are free, as `torch.export.export` takes them.

    Raises:
        InputError: there are no example inputs, or the module does not take them.
        UnsupportedError: PyTorch cannot export the module, for which `cause` has its reason.
    """
    if inputs is None:
        raise InputError(
            "inputs-missing",
            "a PyTorch module is exported by running it, which needs example inputs",
            hint="xyntra.compile(module, inputs=(torch.randn(1, 3, 224, 224),))",
        )
    named, device = isinstance(inputs, Mapping), _device_of(module)
    arguments = () if named else tuple(_example(each, device) for each in inputs)
    given = inputs if isinstance(inputs, Mapping) else {}
    keywords = {k: _example(v, device) for k, v in given.items()}
    try:
        with torch.no_grad(), _quietly(), _without_python_code():
            return torch.export.export(
                module, arguments, keywords, dynamic_shapes=dynamic_shapes, strict=False
            )
    except XyntraError:  # of a module that interprets TorchScript
        raise
    except Exception as error:  # torch.export raises whatever the module and the tracer raise
        raise _failure(error) from error


def load_program(path: str | os.PathLike[str]) -> torch.export.ExportedProgram:
    """Return the program that `torch.export.save` wrote.

    Raises:
        ModelError: the file is missing or holds none.
    """
    try:
        with _quietly():
            return torch.export.load(path)
    except Exception as error:  # of many kinds, by what the file holds instead
        raise ModelError(
            "model-not-torch",
            "the file holds no exported PyTorch program",
            place=str(path),
            cause=str(error),
            hint="torch.export.save(torch.export.export(module, inputs), path)",
        ) from error


def decomposed(program: torch.export.ExportedProgram) -> ReducedProgram:
    """Return a program in core ATen operators, and in those that are imported as they are.

    Raises:
        UnsupportedError: PyTorch cannot decompose it, or it uses complex numbers in a way that
            is not supported.
    """
    try:
        with torch.no_grad(), _quietly(), _without_python_code():
            table = _decompositions()
            kept = frozenset(getattr(torch.ops.aten, name).default for name in _KEPT)
            found = reduce_program(program, table, kept)
            if found is None:
                found = _whole(program.run_decompositions(dict(table)))
            return real_program(found, table)
    except XyntraError:
        raise
    except Exception as error:  # as for the export
        raise _failure(error) from error


def _whole(program: torch.export.ExportedProgram) -> ReducedProgram:
    signature = program.graph_signature
    specs = signature.input_specs, signature.output_specs
    held = program.state_dict, program.constants, program.range_constraints
    return ReducedProgram(program.graph, *specs, *held)


@cache
def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return how operators are decomposed, but those that are imported as they are."""
    table = dict(torch.export.default_decompositions().items())
    for name in _KEPT:
        table.pop(getattr(torch.ops.aten, name).default, None)
    table.update(get_decompositions([getattr(torch.ops.aten, name) for name in _MORE]))
    table.update(own_decompositions())
    return table


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what PyTorch warns of in its own code: its users cannot act on it."""
    with warnings.catch_warnings():
        for kind in (FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", kind)
        # The reader of programs looks at the bytes of an archive, and never writes to them.
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        yield


@contextmanager
def _without_python_code() -> Iterator[None]:
    """Leave out stack traces of nodes, and Python code of graphs that are never called.

    That is a third of the time of an export. What PyTorch's versions lack stays as it is.
    """
    config = torch.fx.config
    name = "do_not_emit_stack_traces"
    traced = patch.object(config, name, new=True) if hasattr(config, name) else nullcontext()
    lazily = getattr(_lazy_graph_module, "_use_lazy_graph_module", None)
    with traced, nullcontext() if lazily is None else lazily(should_use=True):
        yield


def _device_of(module: torch.nn.Module) -> torch.device:
    """Return where a module's weights lie: its example inputs have to lie there, too."""
    devices = [each.device for each in (*module.parameters(), *module.buffers())]
    return devices[0] if devices else torch.device("cpu")


def _example(value: Any, device: torch.device) -> Any:
    if isinstance(value, (tuple, list)) and value and all(type(each) is int for each in value):
        return torch.zeros(value, device=device)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "dtype"):
        return torch.as_tensor(value, device=device)
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _failure(error: Exception) -> UnsupportedError:
    text = str(error)
    if "Constraints violated" in text or "dynamic_shapes" in text:
        return UnsupportedError(
            "free-dimension",
            "PyTorch cannot leave these dimensions free",
            cause=text,
            hint="leave a dimension that has one size out of dynamic_shapes; Dim.AUTO leaves free"
            " what can be, and an example of size 1 or 0 is taken for a size",
        )
    if "data-dependent" in text or "GuardOnDataDependent" in type(error).__name__:
        return UnsupportedError(
            "torch-data-dependent",
            "the module's control flow or shapes depend on the values of tensors",
            cause=text,
            hint="write the choice with torch.where, or leave that part outside of the module;"
            " torch.compile leaves it to PyTorch",
        )
    return UnsupportedError(
        "torch-export",
        "PyTorch cannot export the module",
        cause=f"{type(error).__name__}: {text}",
        hint="torch.export.export(module, inputs) raises the same; its documentation says what"
        " can be exported",
    )
