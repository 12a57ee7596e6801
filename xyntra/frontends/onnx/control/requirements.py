# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects what calls of a model have to fulfil, while it is imported.

An `If` of which one branch cannot be compiled becomes the other branch and a requirement: that the
condition takes that one. Inside a branch, it has to be fulfilled only where that branch is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.requires import REQUIRES, requires_attribute

__all__ = ["ImportRequirement", "Requirements", "erase_unused"]


@dataclass(frozen=True)
class ImportRequirement:
    """One requirement.

    Attributes:
        flag: whether it is fulfilled, a boolean of rank 0.
        texts: of the error where it is not, by name, as `xyntra.requires` holds them.
    """

    flag: Tensor
    texts: Mapping[str, str]

    def attribute(self) -> ir.Attribute:
        """The attributes of the result that is the flag, in the current context."""
        dtype = ir.StringAttr.get(self.flag.dtype)
        return ir.DictAttr.get({"xyntra.dtype": dtype, REQUIRES: requires_attribute(self.texts)})


class Requirements:
    """Those of the nodes imported so far.

    Attributes:
        count: how many there are, for `weaken` and `drop`.
        is_partial: whether some nodes were given up; what was built of them is there, unused.
    """

    def __init__(self, builder: TensorBuilder) -> None:
        self._b = builder
        self._found: list[ImportRequirement] = []
        self.is_partial = False

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self._found)

    def add(self, flag: Tensor, texts: Mapping[str, str]) -> None:
        """Require `flag`, a boolean of rank 0."""
        self._found.append(ImportRequirement(flag, texts))

    def drop(self, first: int) -> None:
        """Forget those from `first` on: their nodes are given up."""
        self.is_partial = True
        del self._found[first:]

    def weaken(self, first: int, unless: Tensor) -> None:
        """Do without those from `first` on where the boolean `unless` is true."""
        for number in range(first, len(self._found)):
            each = self._found[number]
            flag = self._b.map(lambda x, y: x | y, unless, each.flag, dtype="bool")
            self._found[number] = replace(each, flag=flag)

    def merged(self) -> list[ImportRequirement]:
        """All of them; those of one text, such as of the steps of a loop, are one."""
        merged: dict[tuple[tuple[str, str], ...], ImportRequirement] = {}
        for each in self._found:
            key = tuple(sorted(each.texts.items()))
            if key in merged:
                flag = self._b.map(lambda x, y: x & y, merged[key].flag, each.flag, dtype="bool")
                merged[key] = replace(each, flag=flag)
            else:
                merged[key] = each
        return list(merged.values())


def erase_unused(block: ir.Block, kinds: list[str]) -> list[int]:
    """Erase what nothing in the body of a function uses; return the numbers of the arguments kept.

    It comes last: nothing may be built after it, as wrappers of what was erased may still be there.

    Args:
        block: the body.
        kinds: of its arguments; those of the kind "input" are kept.
    """
    operations = [view.operation for view in block.operations][:-1]
    for op in reversed(operations):
        if not any(_is_used(result) for result in op.results):
            op.erase()
    used = [
        kind == "input" or _is_used(each) for kind, each in zip(kinds, block.arguments, strict=True)
    ]
    for number in reversed(range(len(used))):
        if not used[number]:
            block.erase_argument(number)
    return [number for number, kept in enumerate(used) if kept]


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None
