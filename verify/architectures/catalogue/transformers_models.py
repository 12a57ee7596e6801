# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds models of transformers from settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from verify.architectures.images import masks, tokens
from verify.architectures.registry import Model, register

__all__ = ["VOCABULARY", "add", "text", "text_pair"]

VOCABULARY = 300
Inputs = Callable[[], dict[str, Any]]


def text(length: int = 24, *, batch: int = 2, mask: bool = True) -> dict[str, Any]:
    """Token numbers, and a mask with padding."""
    found = {"input_ids": tokens(batch, length, VOCABULARY)}
    return found | ({"attention_mask": masks(batch, length)} if mask else {})


def text_pair(length: int = 24, target: int = 10) -> dict[str, Any]:
    """Inputs of an encoder and a decoder."""
    return text(length) | {"decoder_input_ids": tokens(2, target, VOCABULARY)}


def add(
    name: str,
    family: str,
    model: str,
    inputs: Inputs,
    settings: Mapping[str, Any],
    *,
    config: str | None = None,
    options: Mapping[str, Any] | None = None,
    keep: tuple[str, ...] = (),
) -> None:
    """Register a model of transformers.

    Args:
        name: of the architecture.
        family: of the architecture.
        model: the name of the model's class.
        inputs: makes the inputs.
        settings: arguments of the configuration. A mapping with the key "class" is a nested one.
        config: the name of the configuration's class; by default what the model's class says.
        options: further keyword arguments of calls.
        keep: names of the outputs; by default all.
    """
    build = partial(_build, model, config, inputs, dict(settings), dict(options or {}), keep)
    register(name, family, "transformers", build)


def _build(
    model: str,
    config: str | None,
    inputs: Inputs,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    keep: tuple[str, ...],
) -> Model:
    import transformers

    kind = getattr(transformers, model)
    configuration = getattr(transformers, config) if config else kind.config_class
    module = kind(configuration(**{k: _nested(v) for k, v in settings.items()}))
    if not keep:
        return Model(module, inputs(), options)
    return Model(module, inputs(), options, lambda result: [result[name] for name in keep])


def _nested(value: Any) -> Any:
    import transformers

    if not isinstance(value, dict) or "class" not in value:
        return value
    rest = {k: _nested(v) for k, v in value.items() if k != "class"}
    return getattr(transformers, value["class"])(**rest)
