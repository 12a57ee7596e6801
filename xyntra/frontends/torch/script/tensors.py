# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls ATen operators with the arguments of a node of a TorchScript graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.script.composites import COMPOSITES
from xyntra.frontends.torch.script.places import data_dependent
from xyntra.frontends.torch.script.values import Unknown, as_tensor, known_number

__all__ = ["OF_TENSORS", "call_operator", "dtype_number", "is_operator"]

_DTYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
)
"""In the order in which TorchScript numbers them: c10/core/ScalarType.h."""
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last)
_REFUSED = frozenset({"from_file", "set_", "resize_", "resize_as_", "set_data", "pin_memory"})
"""Operators that read files or change the storage of tensors."""
_EXAMPLES = {bool: True, int: 1, float: 1.0}
Masked = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def is_operator(schema: Any) -> bool:
    """Tell whether a schema is that of an operator on tensors, and not of TorchScript's own."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return bool(schema.name.startswith("aten::") and torch._C._dispatch_has_kernel(name))


def call_operator(schema: Any, values: Sequence[Any], mask: Masked | None) -> Any:
    """Return the results of an operator.

    Args:
        schema: of the operator.
        values: its arguments, in the order of the schema.
        mask: given what a tensor holds and what it is to hold, the latter where an assignment takes
            place; None where all take place.

    Raises:
        UnsupportedError: an argument must be known and is not, or the operator is not allowed.
    """
    name = schema.name.removeprefix("aten::")
    if name in _REFUSED:
        raise UnsupportedError("operator-unsupported", f"aten::{name} is not supported")
    arguments = [_argument(a, v) for a, v in zip(schema.arguments, values, strict=False)]
    unknown = [a.name for a, v in zip(schema.arguments, arguments, strict=False) if _is_unknown(v)]
    function = getattr(getattr(torch.ops.aten, name), schema.overload_name or "default")
    if name in COMPOSITES:
        return COMPOSITES[name](*arguments)
    if unknown:
        if name in _WITH_UNKNOWN:
            return _WITH_UNKNOWN[name](*arguments)
        function, arguments = getattr(torch.ops.aten, name), _as_tensors(arguments)
    if schema.is_mutable:
        _refuse_constants(schema, arguments)
        if mask is not None:
            return _masked(function, schema, arguments, mask)
    try:
        return _called(function, schema, arguments, by_name=bool(unknown))
    except (RuntimeError, TypeError) as error:
        if not unknown:
            raise
        raise data_dependent(
            f"'{unknown[0]}' of {schema.name} depends on the values of tensors"
        ) from error


def _called(function: Any, schema: Any, arguments: Sequence[Any], *, by_name: bool = False) -> Any:
    """Call an operator; by name where the overload is yet to be found, whose order may differ."""
    named = list(enumerate(zip(schema.arguments, arguments, strict=False)))
    apart = {n for n, (a, _) in named if a.kwarg_only or (by_name and n > 1)}
    positional = [value for n, (_, value) in named if n not in apart]
    keywords = {a.name: value for n, (a, value) in named if n in apart and value is not None}
    return function(*positional, **keywords)


def _argument(argument: Any, value: Any) -> Any:
    """Return a value of a graph as the operator takes it; all tensors are on the CPU."""
    if isinstance(value, torch.device):
        return torch.device("cpu")
    kind = argument.real_type.str().removesuffix("?")
    if type(value) is int:
        if kind == "ScalarType":
            return _dtype(value)
        if kind == "Layout":
            return torch.strided if value == 0 else value
        if kind == "MemoryFormat":
            return _FORMATS[value]
    return value


def _dtype(number: int) -> torch.dtype:
    return getattr(torch, _DTYPES[number])


def dtype_number(dtype: torch.dtype) -> int:
    """Return the number that stands for a dtype in TorchScript."""
    return _DTYPES.index(str(dtype).removeprefix("torch."))


def _is_unknown(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(isinstance(each, Unknown) for each in value)
    return isinstance(value, Unknown)


def _as_tensors(arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with unknown numbers as tensors, of the dtype of a number beside tensors."""
    tensors = [each for each in arguments if isinstance(each, torch.Tensor)]

    def plain(value: Any) -> Any:
        if not isinstance(value, Unknown):
            return value
        if not tensors:
            return value.tensor
        return value.tensor.to(torch.result_type(tensors[0], _EXAMPLES[value.kind]))

    return [plain(each) for each in arguments]


def _refuse_constants(schema: Any, arguments: Sequence[Any]) -> None:
    for argument, value in zip(schema.arguments, arguments, strict=False):
        written = argument.alias_info is not None and argument.alias_info.is_write
        if written and type(value) is torch.Tensor:
            raise UnsupportedError(
                "torch-mutation", f"{schema.name} changes a constant of the module"
            )


def _masked(function: Any, schema: Any, arguments: Sequence[Any], mask: Masked) -> Any:
    """Do an assignment only where the branch that it stands in is taken."""
    target, *rest = arguments
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if len(written) != 1 or written[0].name != schema.arguments[0].name:
        raise data_dependent(f"{schema.name} in a branch that the values of tensors decide")
    copy = target.clone()
    _called(function, schema, [copy, *rest])
    if copy.shape != target.shape:
        raise data_dependent(f"{schema.name} changes a shape where values of tensors decide")
    target.copy_(mask(target, copy))
    return target


def _full(size: Any, value: Any, dtype: Any = None, *_: Any) -> torch.Tensor:
    if _is_unknown(size):
        raise data_dependent("a shape depends on the values of tensors")
    found = as_tensor(value)
    kind = dtype or (torch.get_default_dtype() if found.is_floating_point() else found.dtype)
    return found.to(kind).expand(size).clone()


def _full_like(tensor: torch.Tensor, value: Any, dtype: Any = None, *_: Any) -> torch.Tensor:
    return _full(tensor.shape, value, dtype or tensor.dtype)


_WITH_UNKNOWN: dict[str, Callable[..., Any]] = {
    "full": _full,
    "full_like": _full_like,
    "scalar_tensor": lambda value, *rest: _full([], value, *rest),
}
"""Operators without an overload that takes tensors for numbers."""


def _to_number(kind: type) -> Callable[[torch.Tensor], Any]:
    def convert(tensor: torch.Tensor) -> Any:
        known = known_number(tensor)
        if known is not None:
            return kind(known)
        if tensor.numel() != 1:
            raise data_dependent(f"a tensor of {list(tensor.shape)} is taken for a number")
        return Unknown.of(tensor != 0 if kind is bool else tensor, kind)

    return convert


def _item(tensor: torch.Tensor) -> Any:
    kind = bool if tensor.dtype == torch.bool else float if tensor.is_floating_point() else int
    return _to_number(kind)(tensor)


def _tensor(data: Any, dtype: int | None = None, *_: Any) -> torch.Tensor:
    """Return what `torch.tensor` makes of numbers, known or not, and lists of them."""
    kind = None if dtype is None else _dtype(dtype)
    if isinstance(data, torch.Tensor):
        return data.clone() if kind is None else data.to(kind, copy=True)
    if isinstance(data, Unknown):
        return _full([], data, kind)
    if isinstance(data, (list, tuple)) and _is_unknown(data):
        return torch.stack([_full([], each, kind) for each in data])
    return torch.tensor(data, dtype=kind)


def _to(tensor: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """Return `Tensor.to` of a device, a dtype, or another tensor, as far as dtypes go."""
    for each in arguments:
        if type(each) is int:
            return tensor.to(_dtype(each))
        if isinstance(each, torch.Tensor):
            return tensor.to(each.dtype)
    return tensor


OF_TENSORS: dict[str, Callable[..., Any]] = {
    "aten::size": lambda tensor, *at: tensor.shape[at[0]] if at else list(tensor.shape),
    "aten::len": lambda tensor: tensor.shape[0],
    "aten::dim": lambda tensor: tensor.dim(),
    "aten::numel": lambda tensor: tensor.numel(),
    "aten::stride": lambda tensor, *at: tensor.stride(*at),
    "aten::is_floating_point": lambda tensor: tensor.is_floating_point(),
    "aten::is_complex": lambda tensor: tensor.is_complex(),
    "aten::is_contiguous": lambda tensor, *_: tensor.is_contiguous(),
    "aten::Bool": _to_number(bool),
    "aten::Int": _to_number(int),
    "aten::Float": _to_number(float),
    "aten::IntImplicit": _to_number(int),
    "aten::FloatImplicit": _to_number(float),
    "aten::ScalarImplicit": _item,
    "aten::item": _item,
    "aten::is_nonzero": _to_number(bool),
    "aten::tensor": _tensor,
    "aten::as_tensor": lambda data, *rest: data if not rest else _tensor(data, *rest),
    "aten::to": _to,
    "aten::cpu": lambda tensor: tensor,
    "aten::cuda": lambda tensor: tensor,
    "aten::requires_grad_": lambda tensor, *_: tensor,
    "prim::NumToTensor": _tensor,
    "prim::data": lambda tensor: tensor,
    "prim::dtype": lambda tensor: dtype_number(tensor.dtype),
    "prim::device": lambda tensor: torch.device("cpu"),
    "prim::layout": lambda tensor: 0,
    "prim::is_cuda": lambda tensor: False,
    "prim::is_cpu": lambda tensor: True,
    "prim::is_quantized": lambda tensor: False,
    "prim::is_sparse": lambda tensor: False,
    "prim::is_mkldnn": lambda tensor: False,
    "prim::is_nested": lambda tensor: False,
    "prim::is_meta": lambda tensor: False,
    "prim::requires_grad": lambda tensor: False,
    "prim::shape": lambda tensor: list(tensor.shape),
}
"""TorchScript's own operators by name that read tensors, and those that this reads otherwise."""
