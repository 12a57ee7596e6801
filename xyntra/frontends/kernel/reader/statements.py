# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs statements: branches are taken and loops unrolled by constants."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from xyntra.errors import KernelError
from xyntra.frontends.kernel.reader.calls import Calls
from xyntra.frontends.kernel.values import NeedsConstant

__all__ = ["Reader"]

_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "AsyncFor": ("async for", "for"),
    "AsyncFunctionDef": ("a coroutine", "def"),
    "AsyncWith": ("async with", "nothing: kernels hold no resources"),
    "ClassDef": ("a class", "a function, or define the class outside"),
    "Delete": ("del", "nothing: what is not used is not computed"),
    "Global": ("global", "return the value"),
    "Import": ("import", "import it at the top of the file"),
    "ImportFrom": ("import", "import it at the top of the file"),
    "Match": ("match", "if and elif"),
    "Nonlocal": ("nonlocal", "return the value"),
    "Try": ("try", "xl.where(condition, a, b): nothing is raised while a kernel runs"),
    "TryStar": ("try", "xl.where(condition, a, b): nothing is raised while a kernel runs"),
    "With": ("with", "nothing: kernels hold no resources"),
}


class _Jump:
    """Ends a block: of a loop, or of the function with its result."""

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind = kind
        self.value = value


class Reader(Calls):
    """Reads functions whole."""

    def run_body(self, node: ast.FunctionDef) -> Any:
        """Run the statements of the innermost frame's function; return its result."""
        jump = self._block(node.body)
        return jump.value if jump is not None else None

    def _block(self, body: Sequence[ast.stmt]) -> _Jump | None:
        for statement in body:
            jump = self._run(statement)
            if jump is not None:
                return jump
        return None

    def _run(self, node: ast.stmt) -> _Jump | None:
        method = getattr(self, f"_run_{type(node).__name__.lower()}", None)
        if method is None:
            what, hint = _UNSUPPORTED.get(type(node).__name__, (type(node).__name__, ""))
            raise self.unsupported(node, what, hint or None)
        with self.at(node):
            try:
                result: _Jump | None = method(node)
            except (KernelError, NeedsConstant, RecursionError):
                raise
            except Exception as error:
                raise KernelError(
                    "kernel-python", f"{type(error).__name__}: {error}", place=self.place(node)
                ) from error
        return result

    def _run_pass(self, node: ast.Pass) -> None:
        pass

    def _run_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def _run_return(self, node: ast.Return) -> _Jump:
        return _Jump("return", None if node.value is None else self.evaluate(node.value))

    def _run_break(self, node: ast.Break) -> _Jump:
        return _Jump("break")

    def _run_continue(self, node: ast.Continue) -> _Jump:
        return _Jump("continue")

    def _run_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _run_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _run_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            base, key = self.evaluate(node.target.value), self.evaluate(node.target.slice)
            old = self.item(base, key)
        else:
            old = self.evaluate(_loaded(node.target))
        self.assign(node.target, self.binary(node.op, old, self.evaluate(node.value)))

    def _run_functiondef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.unsupported(node, "a decorator inside of a kernel", "a plain def")
        self.frame.names[node.name] = self.closure(node.name, node)

    def _run_if(self, node: ast.If) -> _Jump | None:
        condition = self.evaluate(node.test)
        with self.at(node.test):
            holds = self.constant(condition, "a condition")
        return self._block(node.body if holds else node.orelse)

    def _run_for(self, node: ast.For) -> _Jump | None:
        values = self.evaluate(node.iter)
        with self.at(node.iter):
            iterator = self.iterated(values)
        for value in iterator:
            self.assign(node.target, value)
            jump = self._block(node.body)
            if jump is not None and jump.kind == "break":
                return None
            if jump is not None and jump.kind == "return":
                return jump
        return self._block(node.orelse)

    def _run_while(self, node: ast.While) -> _Jump | None:
        while True:
            condition = self.evaluate(node.test)
            with self.at(node.test):
                if not self.constant(condition, "the condition of a loop"):
                    return self._block(node.orelse)
            jump = self._block(node.body)
            if jump is not None and jump.kind == "break":
                return None
            if jump is not None and jump.kind == "return":
                return jump

    def _run_assert(self, node: ast.Assert) -> None:
        condition = self.evaluate(node.test)
        with self.at(node.test):
            if not self.constant(condition, "an assertion"):
                text = "" if node.msg is None else f": {self.evaluate(node.msg)}"
                raise KernelError("kernel-assert", f"an assertion does not hold{text}")

    def _run_raise(self, node: ast.Raise) -> None:
        call = node.exc
        text = ast.unparse(call) if call is not None else "an error"
        if isinstance(call, ast.Call) and call.args:
            text = f"{ast.unparse(call.func)}: {self.evaluate(call.args[0])}"
        raise KernelError("kernel-raised", f"the kernel raises {text}")


def _loaded(target: ast.expr) -> ast.expr:
    """Return the target of an assignment as an expression that reads it."""
    return (
        ast.copy_location(ast.Name(target.id, ast.Load()), target)
        if isinstance(target, ast.Name)
        else target
    )
