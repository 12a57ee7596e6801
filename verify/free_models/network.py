# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines a network that is exported with free dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

__all__ = ["BATCH", "TEXT", "Network"]

TEXT = {0: "batch", 1: "seq"}
BATCH = {0: "batch"}


@dataclass(frozen=True)
class Network:
    """A network, ready to be exported.

    Attributes:
        module: the network.
        inputs: example tensors.
        names: of the inputs.
        axes: of each input, the names of its free dimensions by place.
        dims: sizes of these: ranges, and expressions of other names.
    """

    module: nn.Module
    inputs: tuple[Any, ...]
    names: tuple[str, ...]
    axes: tuple[Mapping[int, str], ...]
    dims: Mapping[str, range | str]
