# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modules in the language of TorchScript; it compiles from source, so that they need a file."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple  # noqa: UP035  (the names that TorchScript knows)

import torch
from torch import Tensor, nn

# TorchScript reads these annotations, and does not know the ones of newer Pythons.
# Branches are what they test.
# ruff: noqa: UP006, UP045, SIM108


class Tagger(nn.Module):
    """Labels words by a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(300, 8)
        self.rows = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 5)

    def forward(self, ids: Tensor) -> Tensor:
        found, _ = self.rows(self.words(ids))
        return torch.log_softmax(self.head(found), -1)


class Changed(nn.Module):
    """Calls operators whose meaning or arguments have changed since files of version 3."""

    def forward(self, x: Tensor, counts: Tensor) -> Tuple[Tensor, Tensor]:
        steps = torch.linspace(0.0, 1.0, steps=5).sum() + torch.logspace(0.0, 1.0, steps=4).sum()
        filled = torch.full([2, 3], 7.0) + torch.arange(3)
        return nn.functional.gelu(x) + steps + filled, torch.div(counts, counts + 1)


class Layers(nn.Module):
    """Layers that are called in a loop, by functions and methods."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def scaled(self, x: Tensor, by: float) -> Tensor:
        return x * by

    def forward(self, x: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = self.scaled(torch.relu(layer(x)), 1.0 + number)
        return x


class Choices(nn.Module):
    """Branches and a loop that the values of its input decide."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        steps = 0
        x = x * 1
        while bool(x.sum() < 100.0):
            x = x * 2 + 1
            steps += 1
        if bool(x.max() > 50):
            y = x - 1
            x += 1
        else:
            y = x * steps
        rows: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 30):
                rows.append(x[i] * 2)
            else:
                rows.append(x[i])
        return y + steps, torch.stack(rows)


class Containers(nn.Module):
    """Dictionaries, lists, tuples and what may be missing, in and out."""

    def forward(
        self, named: Dict[str, Tensor], rows: List[Tensor], bias: Optional[Tensor] = None
    ) -> Tuple[Dict[str, Tensor], List[Tensor], Tuple[Tensor]]:
        found: Dict[str, Tensor] = {}
        for name, value in named.items():
            found[name + "!"] = value.relu()
        total = torch.zeros(3)
        for row in rows:
            total += row
            total[0] = 1.0
        if bias is not None:
            total = total + bias
        return found, [total, total * 2], (total.sum(),)


class Shared(nn.Module):
    """Assigns into tensors that are one of two others, and the other way round."""

    def forward(self, x: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        a = x * 1
        b = z * 1
        if bool(x.sum() > 0):
            y = a
        else:
            y = b
        y[0] += 1.0
        a.mul_(2)
        row = y[1]
        row.neg_()
        return a, b, y


class Rows(nn.Module):
    """Writes as many rows as its second input says, until one is large."""

    def forward(self, x: Tensor, count: Tensor) -> Tuple[Tensor, Tensor]:
        y = torch.zeros_like(x)
        for i in range(int(count)):
            y[i] = x[i] * 2
            if bool(y[i].sum() > 30):
                break
        return y, y.argmax(-1)


class Endless(nn.Module):
    """Doubles its input until it is large."""

    def forward(self, x: Tensor) -> Tensor:
        total = x * 1
        while bool(total.sum() < 1e6):
            total = total + x
        return total


class Raises(nn.Module):
    """Refuses negative numbers."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.min() < 0):
            raise ValueError("negative")
        return x.sqrt()


class Places(nn.Module):
    """Counts in a list that is indexed by what it counts."""

    def forward(self, x: Tensor) -> Tensor:
        found: List[int] = [1, 2, 3]
        if bool(x.sum() > 0):
            position = 0
        else:
            position = 1
        return x * found[position]


class Widths(nn.Module):
    """Returns tensors of two shapes."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return x
        return torch.cat([x, x])


class State(nn.Module):
    """Counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls
