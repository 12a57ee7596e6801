# SPDX-License-Identifier: MIT OR Apache-2.0
"""Evaluates nodes of a syntax tree one by one, and says in errors where they stand."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from types import MappingProxyType
from typing import Any

import numpy as np

from xyntra.errors import KernelError
from xyntra.frontends.kernel.language import function_table
from xyntra.frontends.kernel.reader.frame import Capture, Frame
from xyntra.frontends.kernel.reader.source import SourceFile
from xyntra.frontends.kernel.recorder import KernelRecorder
from xyntra.frontends.kernel.values import ArrayValue, HostScalar, NeedsConstant

__all__ = ["Walker"]

MOST_STEPS = 1_000_000
"""Nodes that are evaluated for one kernel."""
_SHOWN = 40


class Walker(ABC):
    """Keeps the frames of the calls that are read, and what they record.

    Attributes:
        recorder: records operators.
        frames: of the calls under way, the innermost last.
        sites: the node that each site of an operator stands for, and its function.
        own: lists and dictionaries that the kernel has made, by identity.
    """

    def __init__(self, recorder: KernelRecorder) -> None:
        self.recorder = recorder
        self.frames: list[Frame] = []
        self.sites: dict[str, tuple[SourceFile, ast.AST, str]] = {}
        self._captures: dict[tuple[int, str], Capture] = {}
        self.own: dict[int, Any] = {}
        self._calls: list[str] = []
        self._steps = 0

    @property
    def captures(self) -> list[Capture]:
        """What is used from outside of the kernel."""
        return list(self._captures.values())

    @property
    def frame(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    @abstractmethod
    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call what an expression has given, with values of expressions."""

    def record(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Record a function of the language by its name."""
        return function_table()[name].record(self.recorder, *args, **kwargs)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Let operators be recorded, and errors be raised, at a node."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise self._limit(node)
        before, self.recorder.site = self.recorder.site, self._site(node)
        try:
            yield
        except KernelError as error:
            if error.place is None:
                error.place = self.place(node)
                self._explain(error, node)
            raise
        finally:
            self.recorder.site = before

    def _limit(self, node: ast.AST) -> KernelError:
        return KernelError(
            "kernel-limit",
            f"reading the kernel takes more than {MOST_STEPS:,} steps",
            place=self.place(node),
            cause="loops are unrolled, and calls of functions inlined",
            hint="compute with whole arrays instead of a loop",
        )

    def _site(self, node: ast.AST) -> str:
        """Return a line relative to its function, so that code above it does not count."""
        first = self.frame.root.node.lineno
        line = getattr(node, "lineno", first) - first + 1
        site = f"{self.frame.name}:{line}:{getattr(node, 'col_offset', 0) + 1}"
        self.sites.setdefault(site, (self.frame.file, node, self.frame.name))
        return site

    def place(self, node: ast.AST) -> str:
        """Return where a node stands, its line, and which calls have led there."""
        file = self.frame.file
        lines = [f"{file.place(node)}, in {self.frame.name}", file.excerpt(node)]
        for call, group in groupby(reversed(self._calls)):
            count = len(list(group))
            times = f", {count} times" if count > 1 else ""
            lines.append(f"called from {call}{times}")
        return "\n".join(lines)

    @contextmanager
    def inside(self, frame: Frame, node: ast.AST | None) -> Iterator[None]:
        """Read the call of a function that `node` calls."""
        if self.frames and node is not None:
            self._calls.append(f"{self.frame.file.place(node)}, in {self.frame.name}")
        count = len(self._calls)
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()
            if len(self.frames) and node is not None:
                del self._calls[count - 1 :]

    def _explain(self, error: KernelError, node: ast.AST) -> None:
        """Say of which types the operands of an expression are, where a type is wrong."""
        if error.code not in ("kernel-shape", "kernel-dtype", "kernel-type"):
            return
        operands: Sequence[ast.AST] = ()
        if isinstance(node, ast.BinOp):
            operands = (node.left, node.right)
        elif isinstance(node, ast.Compare):
            operands = (node.left, *node.comparators)
        elif isinstance(node, ast.Call):
            operands = node.args
        texts = [text for each in operands if (text := self._described(each))]
        lines = [error.cause, *dict.fromkeys(texts)] if error.cause else [*dict.fromkeys(texts)]
        error.cause = "\n".join(line for line in lines if line) or None

    def _described(self, node: ast.AST) -> str:
        """Return the type of a variable; "" of other expressions."""
        if not isinstance(node, ast.Name):
            return ""
        found, value = self.frame.find(node.id)
        return f"{node.id} is {value}" if found and isinstance(value, ArrayValue) else ""

    def unsupported(self, node: ast.AST, what: str, hint: str | None) -> KernelError:
        """Return the error for a construct of Python that kernels do not have."""
        return KernelError(
            "kernel-syntax", f"{what} is not read in kernels", place=self.place(node), hint=hint
        )

    def constant(self, value: Any, what: str) -> Any:
        """Return a value that has to be known when the kernel is read.

        Raises:
            NeedsConstant: it is a number of the call.
            KernelError: it is an array.
        """
        if isinstance(value, HostScalar):
            raise NeedsConstant(value.parameters)
        if isinstance(value, ArrayValue):
            raise KernelError(
                "kernel-type",
                f"{what} is decided when the kernel is compiled, but this is an array: {value}",
                hint="xl.where(condition, a, b) chooses element by element; xl.any and xl.all"
                " make one element of many",
            )
        return value

    def captured(self, value: Any, name: str, home: Any, key: str) -> Any:
        """Return something from outside of the kernel as the kernel sees it."""
        snapshot = type(value)(value) if isinstance(value, (list, dict)) else None
        self._captures.setdefault((id(home), key), Capture(home, key, value, snapshot))
        if isinstance(value, np.ndarray):
            return self.recorder.captured(value, name)
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, list):
            return tuple(value)
        return MappingProxyType(value) if isinstance(value, dict) else value

    def made(self, value: Any) -> Any:
        """Remember that a list or a dictionary is the kernel's own, which it may change."""
        self.own[id(value)] = value
        return value
