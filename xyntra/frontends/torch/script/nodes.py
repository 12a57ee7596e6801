# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates single nodes of TorchScript graphs that have no blocks and call no graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from xyntra.errors import UnsupportedError
from xyntra.frontends.torch.script.aliases import Aliases
from xyntra.frontends.torch.script.places import data_dependent, place_of
from xyntra.frontends.torch.script.scalars import CHANGING, PURE, UNKNOWN
from xyntra.frontends.torch.script.tensors import OF_TENSORS, call_operator, is_operator
from xyntra.frontends.torch.script.values import UNINITIALIZED, Instance, ModulePart, Unknown

__all__ = ["GraphRun", "evaluate"]

_INT64 = range(-(1 << 63), 1 << 63)
_MOST_ITEMS = 1 << 24
"""Items of a list or text."""
_IGNORED = frozenset({"prim::Print", "aten::warn", "prim::profile", "prim::Enter"})
_SAME = frozenset(
    {"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional"}
)


class GraphRun(Protocol):
    """What a node may ask of the walk over its graph.

    Attributes:
        aliases: tensors that the values of tensors have chosen.
        weight: returns what is traced for a tensor that is an attribute of the module, by its path.
    """

    aliases: Aliases
    weight: Callable[[str, torch.Tensor], torch.Tensor]

    def changing(self, container: Any) -> None:
        """Take note that a list, dictionary or object is about to change."""

    def mask(self) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None:
        """Return what chooses what an assignment leaves behind; None where it always happens."""

    def require(self, flag: torch.Tensor, message: str, place: str) -> None:
        """Require a flag of calls that take the branch which is walked now."""


def evaluate(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    """Return the results of a node.

    Args:
        node: the node.
        values: of its inputs.
        run: what walks the graph.

    Raises:
        UnsupportedError: the node is not supported, or has to know the values of tensors.
    """
    kind = node.kind()
    if kind in _STRUCTURAL:
        return _STRUCTURAL[kind](node, values, run)
    if kind in _IGNORED:
        return [None for _ in node.outputs()]
    if kind == "prim::Exit":
        return [None for _ in node.outputs()]
    if kind in _SAME:
        return [values[0]]
    schema = None if node.schema() == "(no schema)" else torch._C.parse_schema(node.schema())
    has_tensor = any(isinstance(each, torch.Tensor) for each in values)
    if kind in OF_TENSORS and (has_tensor or kind in _MAKING) and not _dispatched_to(schema, kind):
        return [OF_TENSORS[kind](*values)]
    if kind == "aten::select" and isinstance(values[2], Unknown):
        return [_row(node, values, run)]
    if schema is not None and is_operator(schema):
        results = call_operator(schema, values, run.mask())
        for argument, value in zip(schema.arguments, values, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                run.aliases.written(value)
        return _checked(node, results)
    result = _python(node, kind, values, run)
    return [result for _ in node.outputs()]


_MAKING = frozenset({"aten::tensor", "aten::as_tensor", "prim::NumToTensor"})


def _dispatched_to(schema: Any, kind: str) -> bool:
    """Tell whether `aten::to` is one of the overloads that are operators on tensors."""
    return kind == "aten::to" and schema is not None and is_operator(schema)


def _row(node: Any, values: Sequence[Any], run: GraphRun) -> torch.Tensor:
    """Return the row of a tensor whose position depends on the values of tensors."""
    tensor, dimension, index = values
    if isinstance(dimension, Unknown) or not tensor.shape[dimension]:
        raise data_dependent("the dimension that is selected depends on the values of tensors")
    size = tensor.shape[dimension]
    position = torch.where(index.tensor < 0, index.tensor + size, index.tensor)
    is_there = (position >= 0) & (position < size)
    run.require(is_there, "IndexError: an index is out of range", place_of(node, ""))
    return run.aliases.row(tensor, dimension, position.clamp(0, size - 1))


def _python(node: Any, kind: str, values: Sequence[Any], run: GraphRun) -> Any:
    """Return the result of an operator on numbers, texts, lists, tuples and dictionaries."""
    if kind in CHANGING:
        run.changing(values[0])
        return CHANGING[kind](*values)
    is_unknown = any(isinstance(each, Unknown) for each in values)
    if is_unknown and kind not in ("aten::__is__", "aten::__isnot__"):
        if kind not in UNKNOWN:
            raise data_dependent(f"a number of {kind} depends on the values of tensors")
        return UNKNOWN[kind](*values)
    if kind not in PURE:
        raise UnsupportedError("operator-unsupported", f"{kind} of TorchScript is not supported")
    _check_growth(kind, values)
    return _typed(PURE[kind](*values), node)


def _check_growth(kind: str, values: Sequence[Any]) -> None:
    """Refuse to make what is too large to be held."""
    large = False
    if kind == "aten::mul" and not all(isinstance(each, (int, float)) for each in values):
        counts = [each if isinstance(each, int) else len(each) for each in values]
        large = counts[0] * counts[1] > _MOST_ITEMS
    if kind in ("aten::pow", "aten::__lshift__") and all(type(each) is int for each in values):
        large = abs(values[1]) > len(bin(_INT64.stop)) and abs(values[0]) > 1
    if large:
        raise UnsupportedError("torch-too-large", f"the result of {kind} is too large")


def _typed(value: Any, node: Any) -> Any:
    """Return a number as the type that the graph says: `pow` of integers may be a float."""
    if not isinstance(value, (int, float)):
        return value
    kind = node.output().type().kind()
    if kind == "FloatType":
        return float(value)
    if type(value) is int and value not in _INT64:
        raise UnsupportedError("torch-too-large", f"an integer is out of range: {value:.3e}")
    return value


def _checked(node: Any, results: Any) -> Sequence[Any]:
    """Return the results of an operator, whose shapes have to be known."""
    count = len(list(node.outputs()))
    found = [results] if count == 1 else list(results) if count else []
    for each in found:
        for tensor in each if isinstance(each, (list, tuple)) else [each]:
            if isinstance(tensor, torch.Tensor) and not all(
                type(size) is int for size in tensor.shape
            ):
                raise data_dependent(
                    f"the shape that {node.kind()} gives depends on the values of tensors",
                    "write it with torch.where, or leave that part outside of the module",
                )
    return [list(each) if isinstance(each, torch.Size) else each for each in found]


def _attribute(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    (owner,) = values
    name = node.s("name")
    if isinstance(owner, Instance):
        return [owner.attributes[name]]
    value = owner.script.getattr(name)
    if isinstance(value, torch.Tensor):
        return [run.weight(owner.child(name), value)]
    return [_held(value, owner.child(name), run)]


def _held(value: Any, path: str, run: GraphRun) -> Any:
    """Return an attribute of a module as the interpreter holds it."""
    if isinstance(value, torch._C.ScriptModule):
        return ModulePart(path, value)
    if isinstance(value, torch._C.ScriptObject):
        raise UnsupportedError(
            "operator-unsupported",
            f"'{path}' is an object of a class, which is not supported as an attribute",
        )
    if isinstance(value, (list, tuple)):
        return type(value)(_held(each, path, run) for each in value)
    return dict(value) if isinstance(value, dict) else value


def _set_attribute(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    owner, value = values
    name = node.s("name")
    if isinstance(owner, ModulePart):
        raise UnsupportedError(
            "torch-mutation",
            f"the module changes its state: '{owner.child(name)}'",
            hint="return the new value as an output",
        )
    run.changing(owner)
    owner.attributes[name] = value
    return []


def _is_instance(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    kinds = {each.kind() for each in node.tys("types")}
    (value,) = values
    names = {
        "TensorType": torch.Tensor,
        "IntType": int,
        "FloatType": float,
        "BoolType": bool,
        "StringType": str,
        "NoneType": type(None),
        "ListType": list,
        "TupleType": tuple,
        "DictType": dict,
    }
    if not kinds <= set(names):
        raise UnsupportedError("operator-unsupported", f"isinstance of {sorted(kinds)}")
    if isinstance(value, Unknown):
        return [any(value.kind is names[each] for each in kinds)]
    if isinstance(value, (bool, int, float)):
        return [any(type(value) is names[each] for each in kinds)]
    return [isinstance(value, tuple(names[each] for each in kinds))]


def _dictionary(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    return [dict(zip(values[::2], values[1::2], strict=True))]


def _to_list(node: Any, values: Sequence[Any], run: GraphRun) -> Sequence[Any]:
    tensor = values[0]
    constant = getattr(tensor, "constant", tensor if type(tensor) is torch.Tensor else None)
    if constant is None:
        raise data_dependent("a list of the values of a tensor is made")
    return [constant.tolist()]


_Handler = Callable[[Any, Sequence[Any], "GraphRun"], Sequence[Any]]
_STRUCTURAL: dict[str, _Handler] = {
    "prim::ListConstruct": lambda node, values, run: [list(values)],
    "prim::TupleConstruct": lambda node, values, run: [tuple(values)],
    "prim::DictConstruct": _dictionary,
    "prim::ListUnpack": lambda node, values, run: list(values[0]),
    "prim::TupleUnpack": lambda node, values, run: list(values[0]),
    "prim::TupleIndex": lambda node, values, run: [values[0][values[1]]],
    "prim::TupleSlice": lambda node, values, run: [values[0][node.i("beg") : node.i("end")]],
    "prim::GetAttr": _attribute,
    "prim::SetAttr": _set_attribute,
    "prim::CreateObject": lambda node, values, run: [Instance()],
    "prim::Uninitialized": lambda node, values, run: [UNINITIALIZED],
    "prim::isinstance": _is_instance,
    "prim::tolist": _to_list,
    "prim::EmptyListLiteral": lambda node, values, run: [[]],
    "prim::rangelist": lambda node, values, run: [list(range(values[0]))],
}
"""Nodes that build and take apart values, by kind."""
