# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates expressions: constants by Python, arrays by recording."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.functions.creation import DTYPES
from xyntra.frontends.kernel.functions.indexing import read_part
from xyntra.frontends.kernel.language import function_table
from xyntra.frontends.kernel.reader.frame import Closure
from xyntra.frontends.kernel.reader.host import host_binary, host_negative
from xyntra.frontends.kernel.reader.walker import Walker
from xyntra.frontends.kernel.values import ArrayValue, HostScalar, NeedsConstant
from xyntra.suggestions import did_you_mean

__all__ = ["Expressions", "Method"]

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("bitwise_and", operator.and_),
    ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.LShift: ("bitwise_left_shift", operator.lshift),
    ast.RShift: ("bitwise_right_shift", operator.rshift),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne),
    ast.Lt: ("less", operator.lt),
    ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt),
    ast.GtE: ("greater_equal", operator.ge),
    ast.In: ("", lambda a, b: a in b),
    ast.NotIn: ("", lambda a, b: a not in b),
    ast.Is: ("", operator.is_),
    ast.IsNot: ("", operator.is_not),
}
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("negative", operator.neg),
    ast.UAdd: ("positive", operator.pos),
    ast.Invert: ("bitwise_invert", operator.invert),
}
_METHODS = {
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "reshape",
    "astype", "squeeze", "clip", "round", "take", "repeat", "diagonal",
}  # fmt: skip
_UNSUPPORTED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Await: ("await", "call the kernel, and await outside"),
    ast.Yield: ("a generator", "return all results at once"),
    ast.YieldFrom: ("a generator", "return all results at once"),
    ast.Set: ("a set", "a tuple"),
    ast.SetComp: ("a set", "a list"),
}


class Method:
    """A function of the language, bound to the array whose method it is.

    Args:
        name: of the function.
        value: the array.
    """

    def __init__(self, name: str, value: ArrayValue) -> None:
        self.name = name
        self.value = value


class Expressions(Walker):
    """Evaluates expressions; how functions are called is for a class below."""

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression: an array, a number of the call, or a constant."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            what, hint = _UNSUPPORTED.get(type(node), (type(node).__name__, ""))
            raise self.unsupported(node, what, hint or None)
        with self.at(node):
            try:
                return method(node)
            except (KernelError, NeedsConstant, RecursionError):
                raise
            except Exception as error:
                # Constants are computed by Python, which says what is wrong with them.
                raise KernelError(
                    "kernel-python", f"{type(error).__name__}: {error}", place=self.place(node)
                ) from error

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        found, value = self.frame.find(node.id)
        if found:
            return value
        function = self.frame.root.function
        if function is not None:
            names = function.__code__.co_freevars
            if node.id in names and function.__closure__:
                cell = function.__closure__[names.index(node.id)]
                return self.captured(cell.cell_contents, node.id, cell, "")
            if node.id in function.__globals__:
                home = function.__globals__
                return self.captured(home[node.id], node.id, home, node.id)
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        known = [*self.frame.names, *(function.__globals__ if function else ())]
        hint = did_you_mean(node.id, known)
        if node.id in function_table():
            hint = f"xl.{node.id}, with: import xyntra.lang as xl"
        raise KernelError("kernel-name", f"'{node.id}' is not defined here", hint=hint)

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        value = self.evaluate(node.value)
        self.frame.names[node.target.id] = value
        return value

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.binary(node.op, left, right)

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        """Apply an operator to two values."""
        name, python = _BINARY[type(op)]
        if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
            return self.record(name, left, right)
        if isinstance(left, HostScalar) or isinstance(right, HostScalar):
            return host_binary(op, left, right)
        result = python(left, right)
        return self.made(result) if isinstance(result, list) else result

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, ArrayValue):
                raise KernelError(
                    "kernel-type", "'not' of an array", hint="xl.logical_not(x), or ~x"
                )
            return not self.constant(value, "'not'")
        name, python = _UNARY[type(node.op)]
        if isinstance(value, ArrayValue):
            return self.record(name, value)
        if isinstance(value, HostScalar):
            if isinstance(node.op, ast.USub):
                return host_negative(value)
            return self.constant(value, "an operand")
        return python(value)

    def _boolop(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = None
        for each in node.values:
            value = self.evaluate(each)
            if isinstance(value, ArrayValue):
                word, symbol = ("and", "&") if is_and else ("or", "|")
                raise KernelError(
                    "kernel-type",
                    f"'{word}' of arrays",
                    hint=f"(a) {symbol} (b), with both sides in parentheses",
                )
            if bool(self.constant(value, "an operand of 'and' and 'or'")) != is_and:
                break
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        result: Any = True
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(each)
            result = self._compared(op, left, right)
            if isinstance(result, ArrayValue) and len(node.ops) > 1:
                raise KernelError(
                    "kernel-type", "a chain of comparisons of arrays", hint="(a < b) & (b < c)"
                )
            if not isinstance(result, ArrayValue) and not result:
                return result
            left = right
        return result

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        name, python = _COMPARE[type(op)]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return python(left, right)
        arrays = [each for each in (left, right) if isinstance(each, ArrayValue)]
        if arrays and name and None not in (left, right):
            return self.record(name, left, right)
        for each in (left, right):
            if arrays and each is None:
                return name == "not_equal"
            self.constant(each, "a comparison")
        return python(left, right)

    def _ifexp(self, node: ast.IfExp) -> Any:
        condition = self.constant(self.evaluate(node.test), "a condition")
        return self.evaluate(node.body if condition else node.orelse)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.elements(node.elts))

    def _list(self, node: ast.List) -> Any:
        return self.made(self.elements(node.elts))

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        """Return the values of expressions, of which some may be starred."""
        found: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                found.extend(self.iterated(self.evaluate(each.value)))
            else:
                found.append(self.evaluate(each))
        return found

    def _dict(self, node: ast.Dict) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(self.evaluate(value))
            else:
                found[self.constant(self.evaluate(key), "a key")] = self.evaluate(value)
        return self.made(found)

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(each)) for each in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> str:
        return str(self.evaluate(node.value))

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if each is None else self.evaluate(each) for each in parts))

    def _subscript(self, node: ast.Subscript) -> Any:
        value, key = self.evaluate(node.value), self.evaluate(node.slice)
        return self.item(value, key)

    def item(self, value: Any, key: Any) -> Any:
        """Return `value[key]`."""
        if isinstance(value, ArrayValue):
            return read_part(self.recorder, value, key)
        if isinstance(key, slice):
            bounds = (key.start, key.stop, key.step)
            key = slice(*(self.constant(each, "a bound") for each in bounds))
        self.constant(value, "what is indexed")
        return value[self.constant(key, "an index of a list")]

    def _attribute(self, node: ast.Attribute) -> Any:
        value = self.evaluate(node.value)
        if isinstance(value, ArrayValue):
            return self._array_attribute(value, node.attr)
        self.constant(value, "what has attributes")
        if isinstance(value, ModuleType) and not hasattr(value, node.attr):
            hint = did_you_mean(node.attr, dir(value))
            raise KernelError("kernel-name", f"{value.__name__} has no '{node.attr}'", hint=hint)
        found = getattr(value, node.attr)
        home = getattr(value, "__dict__", {})
        plain = callable(found) or isinstance(found, ModuleType) or found in DTYPES.values()
        if isinstance(home, dict) and node.attr in home and not plain:
            return self.captured(found, node.attr, home, node.attr)
        return found

    def _array_attribute(self, value: ArrayValue, name: str) -> Any:
        if name in ("shape", "ndim", "size"):
            return getattr(value, name)
        if name == "dtype":
            return DTYPES[value.dtype]
        if name == "mT":
            return self.record("matrix_transpose", value)
        if name == "T":
            return self.record("permute_dims", value, tuple(reversed(range(value.ndim))))
        if name in _METHODS:
            return Method(name, value)
        hint = f"xl.{name}(x)" if name in function_table() else did_you_mean(name, _METHODS)
        raise KernelError("kernel-name", f"an array has no attribute '{name}'", hint=hint)

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.closure("<lambda>", node)

    def closure(self, name: str, node: ast.FunctionDef | ast.Lambda) -> Closure:
        """Return a function that the kernel defines."""
        defaults = [self.evaluate(each) for each in node.args.defaults]
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        named = {a.arg: self.evaluate(value) for a, value in pairs if value is not None}
        return Closure(name, self.frame.file, node, self.frame, None, defaults, named)

    def _listcomp(self, node: ast.ListComp) -> Any:
        found: list[Any] = []
        self._comprehend(node.generators, lambda: found.append(self.evaluate(node.elt)))
        return self.made(found)

    def _generatorexp(self, node: ast.GeneratorExp) -> Any:
        found: list[Any] = []
        self._comprehend(node.generators, lambda: found.append(self.evaluate(node.elt)))
        return self.made(found)

    def _dictcomp(self, node: ast.DictComp) -> Any:
        found: dict[Any, Any] = {}

        def add() -> None:
            found[self.constant(self.evaluate(node.key), "a key")] = self.evaluate(node.value)

        self._comprehend(node.generators, add)
        return self.made(found)

    def _comprehend(self, generators: list[ast.comprehension], body: Callable[[], None]) -> None:
        first, *rest = generators
        before = dict(self.frame.names)
        for each in self.iterated(self.evaluate(first.iter)):
            self.assign(first.target, each)
            tests = (self.evaluate(test) for test in first.ifs)
            if all(self.constant(test, "a condition") for test in tests):
                if rest:
                    self._comprehend(rest, body)
                else:
                    body()
        for name in _targets(first.target):
            self.frame.names.pop(name, None)
            if name in before:
                self.frame.names[name] = before[name]

    def iterated(self, value: Any) -> Any:
        """Return what a loop goes through."""
        if isinstance(value, ArrayValue):
            if not value.shape:
                raise KernelError("kernel-type", f"a loop over one element: {value}")
            return (read_part(self.recorder, value, i) for i in range(value.shape[0]))
        self.constant(value, "what a loop goes through")
        if isinstance(value, (int, float)):
            raise KernelError("kernel-type", f"a loop over a number, {value}", hint="range(n)")
        return iter(value)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Let a name, or several, stand for a value."""
        if isinstance(target, ast.Name):
            self.frame.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_part(target, value)
        else:
            raise self.unsupported(
                target,
                "an assignment to an attribute",
                "a kernel changes nothing outside: return the value",
            )

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        values = list(self.iterated(value))
        stars = [i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)]
        if stars:
            at, behind = stars[0], len(target.elts) - stars[0] - 1
            values[at : len(values) - behind] = [values[at : len(values) - behind]]
        if len(values) != len(target.elts):
            raise KernelError(
                "kernel-type",
                f"{len(values)} values for {len(target.elts)} names",
                place=self.place(target),
            )
        for each, part in zip(target.elts, values, strict=True):
            self.assign(each.value if isinstance(each, ast.Starred) else each, part)

    def _assign_part(self, target: ast.Subscript, value: Any) -> None:
        """Let the name of an array stand for a copy with one part replaced."""
        with self.at(target):
            old, key = self.evaluate(target.value), self.evaluate(target.slice)
            if not isinstance(old, ArrayValue):
                if id(old) not in self.own:
                    raise KernelError(
                        "kernel-type",
                        "what is outside of the kernel, and tuples, are not changed",
                        hint="make a list in the kernel",
                    )
                old[self.constant(key, "an index")] = value
                return
            if not isinstance(target.value, ast.Name):
                raise KernelError(
                    "kernel-syntax",
                    "only a variable can be assigned a part",
                    hint="give the array a name first, or use xl.put(x, key, value)",
                )
            self._check_alone(target.value.id, old)
            self.frame.names[target.value.id] = self.record("put", old, key, value)

    def _check_alone(self, name: str, value: ArrayValue) -> None:
        """Refuse to change an array that another name stands for, too: numpy would change both."""
        if "@" in value.name:
            raise KernelError(
                "kernel-type",
                f"'{name}' is an argument, which a kernel does not change",
                hint=f"y = xl.put({name}, key, value) makes a copy with a part replaced",
            )
        others = [n for n, v in self.frame.names.items() if v is value and n != name]
        if others:
            raise KernelError(
                "kernel-type",
                f"'{name}' and '{others[0]}' are the same array",
                cause="an assignment makes a new array, which only one of them would be",
                hint=f"{name} = xl.put({name}, key, value)",
            )


def _targets(target: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
