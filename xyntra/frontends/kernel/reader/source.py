# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the syntax tree of a function in the file that it was read from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from xyntra.errors import KernelError

__all__ = ["FunctionNode", "SourceFile", "function_node", "source_file"]

FunctionNode = ast.FunctionDef | ast.Lambda
_FILES: dict[str, SourceFile] = {}


@dataclass(frozen=True)
class SourceFile:
    """A file, and its syntax tree.

    Attributes:
        path: as Python knows it.
        lines: of the file.
        functions: all that it defines.
    """

    path: str
    lines: Sequence[str]
    functions: Sequence[FunctionNode | ast.AsyncFunctionDef]

    def excerpt(self, node: ast.AST) -> str:
        """Return the line of a node, with carets below what the node covers."""
        line, column = _position(node)
        text = self.lines[line - 1].rstrip("\n") if line <= len(self.lines) else ""
        start = len(text.encode()[:column].decode(errors="ignore"))
        end_line, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", None)
        stop = len(text.encode()[:end].decode(errors="ignore")) if end_line == line else len(text)
        indent = len(text) - len(text.lstrip())
        carets = "^" * max(1, stop - start)
        return f"{text.lstrip()}\n{' ' * (start - indent)}{carets}"

    def place(self, node: ast.AST) -> str:
        """Return the line and the column of a node, both counted from 1."""
        line, column = _position(node)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return f"{self.path}:{line}:{len(text.encode()[:column].decode(errors='ignore')) + 1}"


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 1), getattr(node, "col_offset", 0)


def source_file(path: str, name: str) -> SourceFile:
    """Return a file of Python, read again where it has changed.

    Args:
        path: of the file, or a name that Python has lines for, such as that of a notebook's cell.
        name: of the function that is looked for, for messages.

    Raises:
        KernelError: `kernel-source`.
    """
    linecache.checkcache(path)
    lines = linecache.getlines(path)
    if not lines:
        raise KernelError(
            "kernel-source",
            f"the source of {name} is not available",
            place=path,
            cause="kernels are read from their source, and Python keeps none of this function",
            hint="define it in a file, or in a cell of a notebook",
        )
    known = _FILES.get(path)
    if known is not None and known.lines == lines:
        return known
    try:
        tree = ast.parse("".join(lines), path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise KernelError(
            "kernel-source",
            f"the source of {name} cannot be read",
            place=path,
            cause=f"{type(error).__name__}: {error}",
        ) from None
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = SourceFile(path, lines, [n for n in ast.walk(tree) if isinstance(n, kinds)])
    _FILES[path] = found
    return found


def function_node(function: FunctionType) -> tuple[SourceFile, FunctionNode]:
    """Return the definition of a function, and the file that it is in.

    Raises:
        KernelError: `kernel-source`, there is none, or it has changed since Python read it;
            `kernel-syntax`, it is a coroutine or a generator.
    """
    code = function.__code__
    file = source_file(code.co_filename, function.__qualname__)
    near = [node for node in file.functions if _first_line(node) == code.co_firstlineno]
    named = [node for node in near if getattr(node, "name", "<lambda>") == code.co_name]
    if code.co_name == "<lambda>" and len(named) > 1:
        named = [node for node in named if _covers(node, code)]
    named = [node for node in named if _parameters(node) == _arguments(code)]
    if len(named) != 1:
        raise KernelError(
            "kernel-source",
            f"the source of {function.__qualname__} is not where Python has read it",
            place=f"{code.co_filename}:{code.co_firstlineno}",
            cause="the file has changed since then, or another decorator has replaced the function"
            if not named
            else "several lambdas alike stand on this line",
            hint="run the program again" if not named else "give the function a name with def",
        )
    (node,) = named
    if isinstance(node, ast.AsyncFunctionDef):
        raise KernelError(
            "kernel-syntax", "a kernel is no coroutine", place=file.place(node), hint="def"
        )
    return file, node


def _first_line(node: Any) -> int:
    lines: list[int] = [each.lineno for each in getattr(node, "decorator_list", [])]
    return min([int(node.lineno), *lines])


def _covers(node: Any, code: CodeType) -> bool:
    """Tell whether the instructions of a lambda come from this one."""
    places = [p for p in code.co_positions() if p[2] is not None and p[0] is not None]
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    inner = [(p[0], p[2]) for p in places if (p[2], p[3]) != (0, 0)]
    return bool(inner) and all(begin <= place <= end for place in inner)


def _parameters(node: Any) -> list[str]:
    arguments: ast.arguments = node.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _arguments(code: CodeType) -> list[str]:
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
