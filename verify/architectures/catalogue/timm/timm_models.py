# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds models of timm, and registers lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from verify.architectures.images import images
from verify.architectures.registry import Model, register

__all__ = ["add"]


def add(family: str, models: Mapping[str, Mapping[str, Any]], size: int = 64) -> None:
    """Register models of timm.

    Args:
        family: of all of them.
        models: arguments that shrink them, by timm's names. `size` is the height and width of
            images, where it is not the default.
    """
    for name, arguments in models.items():
        given = dict(arguments)
        pixels = given.pop("size", size)
        title = name.replace("_", "-")
        register(title, family, "timm", partial(_build, name, pixels, given))


def _build(name: str, size: int, arguments: Mapping[str, Any]) -> Model:
    import timm

    module = timm.create_model(name, pretrained=False, num_classes=50, **arguments)
    return Model(module, {"x": images(2, 3, size, size)})
