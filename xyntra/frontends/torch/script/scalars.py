# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates TorchScript's operators on numbers, texts, lists, tuples and dictionaries.

Numbers that depend on the values of tensors are computed as tensors of rank 0, in int64 and
float64, which are what TorchScript computes its numbers in.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from xyntra.frontends.torch.script.places import data_dependent
from xyntra.frontends.torch.script.values import Unknown, as_tensor

__all__ = ["CHANGING", "PURE", "UNKNOWN"]


def _divided(a: Any, b: Any) -> Any:
    return a / b


def _range_length(low: int, high: int, step: int) -> int:
    return len(range(low, high, step))


def _slice(values: Any, start: int | None, end: int | None, step: int) -> Any:
    return values[slice(start, end, step)]


def _int(value: Any) -> int:
    return int(value)


def _rounded(value: float) -> float:
    return float(round(value))


def _index(values: list[Any], wanted: Any) -> int:
    return values.index(wanted)


def _formatted(text: str, *values: Any) -> str:
    """Return a text for messages; no number of a model may depend on how it is written."""
    return f"{text}{values if values else ''}"[:200]


PURE: dict[str, Callable[..., Any]] = {
    "aten::add": operator.add,
    "aten::sub": operator.sub,
    "aten::mul": operator.mul,
    "aten::div": _divided,
    "aten::floordiv": operator.floordiv,
    "aten::remainder": operator.mod,
    "aten::pow": operator.pow,
    "aten::neg": operator.neg,
    "aten::abs": abs,
    "prim::abs": abs,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::__and__": operator.and_,
    "aten::__or__": operator.or_,
    "aten::__xor__": operator.xor,
    "aten::__lshift__": operator.lshift,
    "aten::__rshift__": operator.rshift,
    "aten::__not__": operator.not_,
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__contains__": operator.contains,
    "aten::__getitem__": operator.getitem,
    "aten::__range_length": _range_length,
    "aten::__derive_index": lambda index, start, step: start + index * step,
    "aten::slice": _slice,
    "aten::len": len,
    "aten::Int": _int,
    "aten::Float": float,
    "aten::Bool": bool,
    "aten::IntImplicit": _int,
    "aten::FloatImplicit": float,
    "aten::ScalarImplicit": lambda value: value,
    "aten::str": str,
    "aten::ceil": math.ceil,
    "aten::floor": math.floor,
    "aten::round": _rounded,
    "aten::sqrt": math.sqrt,
    "aten::exp": math.exp,
    "aten::log": math.log,
    "aten::sin": math.sin,
    "aten::cos": math.cos,
    "aten::tanh": math.tanh,
    "prim::min": min,
    "prim::max": max,
    "aten::any": any,
    "aten::all": all,
    "aten::sum": sum,
    "aten::sorted": sorted,
    "aten::index": _index,
    "aten::count": lambda values, wanted: values.count(wanted),
    "aten::list": list,
    "aten::dict": dict,
    "aten::keys": list,
    "aten::values": lambda held: list(held.values()),
    "aten::items": lambda held: list(held.items()),
    "aten::get": lambda held, key, default=None: held.get(key, default),
    "aten::copy": lambda held: held.copy(),
    "aten::format": _formatted,
    "aten::percentFormat": _formatted,
    "aten::lower": str.lower,
    "aten::upper": str.upper,
    "aten::startswith": str.startswith,
    "aten::endswith": str.endswith,
    "aten::join": str.join,
    "aten::is_autocast_enabled": lambda: False,
    "aten::is_autocast_cpu_enabled": lambda: False,
    "aten::is_grad_enabled": lambda: False,
    "aten::set_grad_enabled": lambda enabled: None,
    "aten::is_scripting": lambda: True,
    "prim::type": lambda device: device.type,
    "aten::device": lambda *_: torch.device("cpu"),
}
"""Operators by name that read and return values without tensors."""


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _extend(values: list[Any], more: list[Any]) -> None:
    values.extend(more)


def _set(held: Any, key: Any, value: Any) -> Any:
    held[key] = value
    return held


def _delete(held: Any, key: Any) -> None:
    del held[key]


def _pop(held: Any, *arguments: Any) -> Any:
    return held.pop(*arguments)


def _extended(held: Any, more: Any) -> Any:
    held += more
    return held


CHANGING: dict[str, Callable[..., Any]] = {
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::add_": _extended,
    "aten::_set_item": _set,
    "aten::__setitem__": _set,
    "aten::Delete": _delete,
    "aten::pop": _pop,
    "aten::insert": lambda values, at, value: values.insert(at, value),
    "aten::remove": lambda values, value: values.remove(value),
    "aten::clear": lambda held: held.clear(),
    "aten::reverse": lambda values: values.reverse(),
    "aten::sort": lambda values, reverse=False: values.sort(reverse=reverse),
    "aten::update": lambda held, more: held.update(more),
    "aten::setdefault": lambda held, key, default: held.setdefault(key, default),
}
"""Operators by name that change their first argument, a list or a dictionary."""


def _number(function: Callable[..., torch.Tensor], kind: type | None = None) -> Callable[..., Any]:
    """Return an operator on numbers as one on tensors of rank 0; `kind` None for the operands'."""

    def apply(*values: Any) -> Unknown:
        kinds = [each.kind if isinstance(each, Unknown) else type(each) for each in values]
        found = kind or (float if float in kinds else int if int in kinds else bool)
        return Unknown.of(function(*(as_tensor(each) for each in values)), found)

    return apply


def _converted(kind: type) -> Callable[..., Any]:
    def apply(value: Any) -> Unknown:
        tensor = as_tensor(value)
        return Unknown.of(tensor != 0 if kind is bool else tensor, kind)

    return apply


def _item(values: Any, index: Any) -> Any:
    raise data_dependent("the index into a list depends on the values of tensors")


def _floor_divided(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.div(a, b, rounding_mode="floor")


UNKNOWN: dict[str, Callable[..., Any]] = {
    "aten::add": _number(torch.add),
    "aten::sub": _number(torch.sub),
    "aten::mul": _number(torch.mul),
    "aten::div": _number(lambda a, b: a.double() / b.double(), float),
    "aten::floordiv": _number(_floor_divided),
    "aten::remainder": _number(torch.remainder),
    "aten::neg": _number(torch.neg),
    "aten::abs": _number(torch.abs),
    "prim::abs": _number(torch.abs),
    "aten::lt": _number(torch.lt, bool),
    "aten::le": _number(torch.le, bool),
    "aten::gt": _number(torch.gt, bool),
    "aten::ge": _number(torch.ge, bool),
    "aten::eq": _number(torch.eq, bool),
    "aten::ne": _number(torch.ne, bool),
    "aten::__and__": _number(torch.bitwise_and),
    "aten::__or__": _number(torch.bitwise_or),
    "aten::__xor__": _number(torch.bitwise_xor),
    "aten::__not__": _number(torch.logical_not, bool),
    "aten::Int": _converted(int),
    "aten::Float": _converted(float),
    "aten::Bool": _converted(bool),
    "aten::IntImplicit": _converted(int),
    "aten::FloatImplicit": _converted(float),
    "aten::ScalarImplicit": lambda value: value,
    "aten::ceil": _number(torch.ceil, int),
    "aten::floor": _number(torch.floor, int),
    "aten::sqrt": _number(lambda a: torch.sqrt(a.double()), float),
    "aten::exp": _number(lambda a: torch.exp(a.double()), float),
    "aten::log": _number(lambda a: torch.log(a.double()), float),
    "prim::min": _number(torch.minimum),
    "prim::max": _number(torch.maximum),
    "aten::__derive_index": _number(lambda index, start, step: start + index * step),
    "aten::__getitem__": _item,
}
"""Operators by name that compute numbers of numbers of which some are not known."""
