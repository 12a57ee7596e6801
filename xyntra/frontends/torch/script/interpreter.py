# SPDX-License-Identifier: MIT OR Apache-2.0
"""Walks the graphs of a ScriptModule node by node, calling ATen operators on the way.

It runs within `torch.export`, whose tensors have shapes and no values. All that does not depend on
values is resolved here: lists, dictionaries, attributes, calls, branches and loops. Where values
decide, both branches are computed and `merging` chooses, and assignments to tensors in a branch
become choices; loops run for a bounded number of steps, after which a requirement of the program
says that they have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.traceback import annotate

from xyntra.errors import ModelError, UnsupportedError, XyntraError
from xyntra.frontends.torch.script.aliases import Aliases
from xyntra.frontends.torch.script.callees import callee_graph
from xyntra.frontends.torch.script.merging import Journal, merge_changes, merged, restore
from xyntra.frontends.torch.script.nodes import evaluate
from xyntra.frontends.torch.script.places import line_of, place_of
from xyntra.frontends.torch.script.values import ModulePart, Unknown

__all__ = ["LINE", "MOST_STEPS", "PART", "CallRequirement", "Interpreter"]

PART, LINE = "xyntra.part", "xyntra.line"
"""Annotations of the nodes that are traced: the part of the module, and the source line."""
MOST_STEPS = 32
"""Steps of a loop whose number depends on the values of tensors."""
_MOST_NODES = 500_000
"""Nodes that are walked, those of loops once for each step."""

Env = dict[str, Any]


@dataclass(frozen=True)
class CallRequirement:
    """What a call has to fulfil.

    Attributes:
        flag: whether it does, a boolean of rank 0.
        texts: of the error where it does not.
    """

    flag: torch.Tensor
    texts: dict[str, str]


class _Raised(Exception):
    """The module raises an exception in a branch that the values of tensors decide."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class Interpreter:
    """One run of a module.

    Args:
        weight: returns what is traced for a tensor that is an attribute of the module, by its path.

    Attributes:
        requirements: what calls have to fulfil, found on the way.
        aliases: tensors that the values of tensors have chosen.
    """

    def __init__(self, weight: Callable[[str, torch.Tensor], torch.Tensor]) -> None:
        self.weight = weight
        self.requirements: list[CallRequirement] = []
        self.aliases = Aliases()
        self._guards: list[torch.Tensor] = []
        self._journals: list[Journal] = []
        self._callees: dict[str, Any] = {}
        self._walked = 0
        self._line = ""

    def call(self, part: ModulePart, method: str, arguments: Sequence[Any]) -> Any:
        """Return the result of a method of a module."""
        graph = part.script._get_method(method).graph
        with annotate({PART: part.path}):
            return self._run(graph, [part, *arguments], part.path)

    def changing(self, container: Any) -> None:
        """Take note that a list, dictionary or object is about to change."""
        if self._journals:
            self._journals[-1].record(container)

    def mask(self) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None:
        """Return what chooses what an assignment leaves behind; None where it always happens."""
        if not self._guards:
            return None
        guard = self._guards[-1]
        return lambda old, new: torch.where(guard, new, old)

    def _run(self, graph: Any, arguments: Sequence[Any], path: str) -> Any:
        env = dict(zip((each.debugName() for each in graph.inputs()), arguments, strict=True))
        self._walk(graph.nodes(), env, path)
        (result,) = (env[each.debugName()] for each in graph.outputs())
        return result

    def _walk(self, nodes: Any, env: Env, path: str) -> None:
        for node in nodes:
            self._walked += 1
            if self._walked > _MOST_NODES:
                raise UnsupportedError(
                    "torch-too-large",
                    f"with its loops unrolled, the module has more than {_MOST_NODES:,} nodes",
                    place=place_of(node, path),
                )
            with self._located(node, path):
                results = self._results(node, env, path)
            for output, value in zip(node.outputs(), results, strict=True):
                env[output.debugName()] = value
            self._line = line_of(node) or self._line

    def _results(self, node: Any, env: Env, path: str) -> Sequence[Any]:
        kind = node.kind()
        if kind == "prim::If":
            return self._if(node, env, path)
        if kind == "prim::Loop":
            return self._loop(node, env, path)
        if kind == "prim::Constant":
            return [_constant(node)]
        values = [env[each.debugName()] for each in node.inputs()]
        if kind == "prim::CallMethod" and isinstance(values[0], ModulePart):
            return [self.call(values[0], node.s("name"), values[1:])]
        if kind in ("prim::CallMethod", "prim::CallFunction"):
            graph = callee_graph(node, self._callees)
            given = values if kind == "prim::CallMethod" else values[1:]
            return [self._run(graph, given, path)]
        if kind == "prim::RaiseException":
            raise _Raised(str(values[0]), place_of(node, path))
        with annotate({LINE: line_of(node)}):
            return evaluate(node, values, self)

    @contextmanager
    def _located(self, node: Any, path: str) -> Iterator[None]:
        """Name the place of the node in errors that do not name one yet."""
        try:
            yield
        except XyntraError as error:
            if error.place is None:
                after = f", after {self._line}" if self._line and not line_of(node) else ""
                error.place = place_of(node, path) + after
            raise
        except (_Raised, RecursionError, MemoryError):
            raise
        except Exception as error:  # of many kinds: operators check shapes, dtypes and values
            place = place_of(node, path)
            cause = f"{type(error).__name__}: {error}".partition("\n")[0]
            if self._guards:  # it is no error unless the branch is taken
                raise _Raised(cause, place) from error
            raise ModelError(
                "torch-failed",
                f"{node.kind()} fails for inputs of these shapes and dtypes",
                place=place,
                cause=cause,
                hint="give inputs that the module takes: inputs=(torch.zeros(…),); on the command"
                " line --shape NAME=1x3x224x224, or with a dtype NAME=1x16xint64",
            ) from error

    def run(self, part: ModulePart, arguments: Sequence[Any]) -> Any:
        """Return the result of `forward`.

        Raises:
            ModelError: the module raises an exception for these arguments, whatever their values.
            UnsupportedError: it has something that is not supported, at the place that it says.
        """
        try:
            return self.call(part, "forward", arguments)
        except _Raised as raised:
            raise ModelError(
                "torch-raises",
                "the module raises an exception for inputs of these shapes",
                place=raised.place,
                cause=raised.message,
            ) from None

    # Branches.

    def _if(self, node: Any, env: Env, path: str) -> Sequence[Any]:
        (condition,) = (env[each.debugName()] for each in node.inputs())
        first, second = node.blocks()
        if not isinstance(condition, Unknown):
            return self._block(first if condition else second, env, path)
        chosen = condition.tensor
        taken, changed = self._branch(first, env, path, chosen)
        other, changed_too = self._branch(second, env, path, ~chosen)
        if taken is None and other is None:
            raise _Raised("either branch raises an exception", place_of(node, path))
        self._commit(merge_changes(chosen, changed, changed_too, self.aliases))
        if taken is None or other is None:
            return other if taken is None else taken  # type: ignore[return-value]
        pairs = zip(taken, other, strict=True)
        return [merged(chosen, a, b, self.aliases) for a, b in pairs]

    def _block(self, block: Any, env: Env, path: str) -> list[Any]:
        inner = dict(env)
        self._walk(block.nodes(), inner, path)
        return [inner[each.debugName()] for each in block.outputs()]

    def _branch(
        self, block: Any, env: Env, path: str, condition: torch.Tensor
    ) -> tuple[list[Any] | None, dict[int, tuple[Any, Any]]]:
        """Return the results of a block, None where it raises; and what it has changed, undone."""
        with self._guarded(condition) as journal:
            results: list[Any] | None = None
            try:
                results = self._block(block, env, path)
            except _Raised as raised:
                self._require_never(raised)
            return results, journal.undo() if results is not None else _undone(journal)

    @contextmanager
    def _guarded(self, condition: torch.Tensor) -> Iterator[Journal]:
        guard = condition if not self._guards else self._guards[-1] & condition
        self._guards.append(guard)
        self._journals.append(Journal())
        try:
            yield self._journals[-1]
        finally:
            self._guards.pop()
            self._journals.pop()

    def _commit(self, changes: Sequence[tuple[Any, Any]]) -> None:
        for container, content in changes:
            self.changing(container)
            restore(container, content)

    def require(self, flag: torch.Tensor, message: str, place: str) -> None:
        """Require a flag of calls that take the branch which is walked now."""
        unless = flag | ~self._guards[-1] if self._guards else flag
        self._add_requirement(unless, message, place)

    def _require_never(self, raised: _Raised) -> None:
        """Require of calls that they do not take the branch, which raises an exception."""
        self._add_requirement(~self._guards[-1], raised.message, raised.place)

    def _add_requirement(self, flag: torch.Tensor, message: str, place: str) -> None:
        texts = {"code": "torch-raises", "message": "the module raises an exception"}
        self.requirements.append(CallRequirement(flag, {**texts, "place": place, "cause": message}))

    # Loops.

    def _loop(self, node: Any, env: Env, path: str) -> Sequence[Any]:
        most, condition, *carried = (env[each.debugName()] for each in node.inputs())
        (block,) = node.blocks()
        step = 0
        while not isinstance(condition, Unknown) and not isinstance(most, Unknown):
            if step >= most or not condition:
                return carried
            condition, *carried = self._step(block, env, path, step, carried)
            step += 1
        return self._unknown_loop(node, env, path, step, carried, (most, condition))

    def _step(
        self, block: Any, env: Env, path: str, step: int, carried: Sequence[Any]
    ) -> list[Any]:
        names = [each.debugName() for each in block.inputs()]
        inner = {**env, **dict(zip(names, [step, *carried], strict=True))}
        return self._block(block, inner, path)

    def _unknown_loop(
        self,
        node: Any,
        env: Env,
        path: str,
        step: int,
        carried: Sequence[Any],
        until: tuple[Any, Any],
    ) -> Sequence[Any]:
        """Compute a bounded number of steps, and keep what they give while the loop still runs."""
        most, condition = until
        (block,) = node.blocks()
        is_bounded = not isinstance(most, Unknown) and most - step <= MOST_STEPS
        end = most if is_bounded else step + MOST_STEPS
        active = _is_active(most, condition, step)
        while step < end:
            with self._guarded(active) as journal:
                try:
                    condition, *found = self._step(block, env, path, step, carried)
                    changed = journal.undo()
                except _Raised as raised:
                    self._require_never(raised)
                    return carried
            self._commit(merge_changes(active, changed, {}, self.aliases))
            pairs = zip(found, carried, strict=True)
            carried = [merged(active, new, old, self.aliases) for new, old in pairs]
            step += 1
            active = active & _is_active(most, condition, step)
        if not is_bounded:
            self._require_end(active, node, path)
        return carried

    def _require_end(self, active: torch.Tensor, node: Any, path: str) -> None:
        guard = active if not self._guards else active & self._guards[-1]
        texts = {
            "code": "torch-loop",
            "message": f"a loop runs for more than {MOST_STEPS} steps",
            "place": place_of(node, path),
            "cause": "the values of tensors decide when it ends: that many steps are compiled",
            "hint": "give the loop a bound that does not depend on the values of tensors",
        }
        self.requirements.append(CallRequirement(~guard, texts))


def _undone(journal: Journal) -> dict[int, tuple[Any, Any]]:
    journal.undo()
    return {}


def _is_active(most: Any, condition: Any, step: int) -> torch.Tensor:
    """Return whether a loop runs on, a boolean of rank 0."""
    flags = []
    if isinstance(condition, Unknown):
        flags.append(condition.tensor)
    elif not condition:
        flags.append(torch.zeros((), dtype=torch.bool))
    if isinstance(most, Unknown):
        flags.append(most.tensor > step)
    if not flags:
        return torch.ones((), dtype=torch.bool)
    return flags[0] if len(flags) == 1 else flags[0] & flags[1]


def _constant(node: Any) -> Any:
    if node.output().type().kind() == "FunctionType":
        return None
    value = node.output().toIValue()
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return torch.ops.aten.lift_fresh_copy.default(value)
    return value
