# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads `mode=` and `options=` of torch.compile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from xyntra.config import Config, load_config
from xyntra.errors import ConfigError

__all__ = ["Settings", "read_settings"]

_MODES = ("default", "reduce-overhead")
"""Modes that ask for what Xyntra does anyway: calls on a GPU are replayed graphs."""
_OWN = ("fallback", "freeze")


@dataclass(frozen=True)
class Settings:
    """How graphs are compiled.

    Attributes:
        config: Xyntra's settings; the target is that of the tensors.
        fallback: whether PyTorch runs what is not supported; off, that is an error.
        freeze: whether parameters are prepared once, without gradients, until they change.
    """

    config: Config
    fallback: bool = True
    freeze: bool = True

    def freezes(self, device: torch.device) -> bool:
        """Tell whether parameters on a device are weights of what is compiled without gradients.

        On GPUs they are read where they lie; 16 bits would have to be chosen by their values.
        """
        own = self.config.precision not in ("f16", "bf16", "fp8")
        return self.freeze and own and device.type == "cpu"

    def config_for(self, device: torch.device) -> Config:
        """Return the settings for tensors on a device."""
        return replace(self.config, target=f"cuda:{device.index}" if device.index else device.type)


def read_settings(mode: str | None, options: Mapping[str, Any] | None) -> Settings:
    """Return the settings that a user of torch.compile gave.

    Args:
        mode: `mode=` of torch.compile.
        options: `options=` of it: "fallback", "freeze", and settings of `Config` but "target".

    Raises:
        ConfigError: a mode is not supported, or an option is unknown or wrong.
    """
    if mode is not None and mode not in _MODES:
        raise ConfigError(
            "torch-mode",
            f"mode={mode!r} is not supported",
            cause="schedules come from a cost model: no kernels are measured when compiling",
            hint=f"leave out mode=, or give one of {', '.join(_MODES)}",
        )
    given = dict(options or {})
    if "target" in given:
        raise ConfigError(
            "torch-option",
            "options= takes no 'target'",
            cause="a graph is compiled for the device of its tensors",
        )
    own = {name: given.pop(name) for name in _OWN if name in given}
    for name, value in own.items():
        if not isinstance(value, bool):
            raise ConfigError("torch-option", f"options[{name!r}] takes a bool, not {value!r}")
    return Settings(load_config(given), **own)
