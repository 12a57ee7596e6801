# SPDX-License-Identifier: MIT OR Apache-2.0
"""Implements `onnx.backend.base.Backend` by `xyntra.compile`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend

from xyntra.errors import InputError, UnsupportedError, XyntraError
from xyntra.integrations.onnx_backend.prepared import XyntraBackendRep
from xyntra.targets.table import backend_named

__all__ = [
    "XyntraBackend",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]

_OPTIONS = frozenset({"config", "constants", "dims", "io", "precision", "samples", "threads"})
_TOLERANCES = frozenset({"rtol", "atol"})
"""ONNX's test runner gives a test's tolerances to `prepare`, too, where they mean nothing."""
_TARGETS = {"CPU": "cpu", "CUDA": "cuda"}


class XyntraBackend(Backend):
    """Xyntra as a backend of ONNX.

    Devices are ONNX's: "CPU", "CUDA" or "CUDA:1". What is not supported is an UnsupportedError:
    ONNX's own `BackendIsNotSupposedToImplementIt` would count as a success in its test runner.
    """

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Tell whether `device` is there; what a model holds is found out when it is compiled."""
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Any:
        """Check a model, and return what runs it.

        Args:
            model: the model; its files of external data are looked for in the current folder.
            device: where it runs.
            kwargs: arguments of `xyntra.compile` but those that the inputs of a call give.

        Raises:
            onnx.checker.ValidationError: the model is wrong.
            InputError: an argument is unknown.
            UnsupportedError: there is no such device.
        """
        onnx.checker.check_model(model)
        return XyntraBackendRep(model, _options(device, kwargs))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one operator on arrays.

        Args:
            node: the node.
            inputs: its inputs in order, or by name.
            device: where it runs.
            outputs_info: not needed.
            kwargs: `opset_version`, the newest where not given, and arguments of `prepare`.
        """
        opset = int(kwargs.pop("opset_version", onnx.defs.onnx_opset_version()))
        names = [name for name in node.input if name]
        given = inputs if isinstance(inputs, dict) else dict(zip(names, inputs, strict=True))
        arrays = {name: np.asarray(each) for name, each in given.items()}
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [_tensor_value(name, arrays[name]) for name in dict.fromkeys(names)],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        opsets = [onnx.helper.make_opsetid(node.domain, opset)]
        onnx.checker.check_node(node, _context(node.domain, opset))
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        return XyntraBackendRep(model, _options(device, kwargs)).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Tell whether models can run on `device` here."""
        try:
            wanted = _target(device)
        except XyntraError:
            return False
        if wanted == "cpu":
            return True
        number = wanted.partition(":")[2] or "0"
        return f"cuda:{number}" in backend_named(wanted).devices()


def _options(device: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `xyntra.compile` that those of `prepare` are."""
    options = {name: each for name, each in given.items() if name not in _TOLERANCES}
    for name in options:
        if name not in _OPTIONS:
            raise InputError(
                "unknown-option",
                f"prepare() has no argument '{name}'",
                hint=f"one of {', '.join(sorted(_OPTIONS))}",
            )
    return {**options, "target": _target(device)}


def _context(domain: str, opset: int) -> Any:
    """By which operator set a node is checked."""
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {domain: opset}
    return context


def _target(device: str) -> str:
    """The target that one of ONNX's devices is.

    Raises:
        UnsupportedError: `target-unsupported`: there is none.
    """
    kind, colon, number = device.partition(":")
    if kind.upper() not in _TARGETS or (colon and not number.isdigit()):
        raise UnsupportedError(
            "target-unsupported",
            f"there is no device '{device}'",
            hint="'CPU', 'CUDA', or 'CUDA:1' for the second GPU",
        )
    target = _TARGETS[kind.upper()]
    return f"{target}:{number}" if colon and target == "cuda" else target


def _tensor_value(name: str, array: np.ndarray[Any, Any]) -> onnx.ValueInfoProto:
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


is_compatible = XyntraBackend.is_compatible
prepare = XyntraBackend.prepare
run_model = XyntraBackend.run_model
run_node = XyntraBackend.run_node
supports_device = XyntraBackend.supports_device
