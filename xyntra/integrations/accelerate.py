# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets accelerate, and so Hugging Face's Trainer, take "xyntra" for a backend of torch.compile.

    from xyntra.integrations.accelerate import add_backend

    add_backend()
    arguments = TrainingArguments(..., torch_compile=True, torch_compile_backend="xyntra")

accelerate keeps a list of backends of its own, an Enum, in place of asking PyTorch for its.
"""

from __future__ import annotations

from xyntra.errors import MissingExtraError, UnsupportedError

__all__ = ["add_backend"]

_NAME = "XYNTRA"


def add_backend() -> None:
    """Add Xyntra to accelerate's list of backends.

    Raises:
        MissingExtraError: accelerate is not installed.
        UnsupportedError: `accelerate-backends`: this version of it has another list.
    """
    try:
        from accelerate.utils import DynamoBackend  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise MissingExtraError(
            "missing-extra",
            "adding a backend to accelerate needs it, and it is not installed",
            hint="pip install accelerate",
        ) from None
    if _NAME in DynamoBackend.__members__:
        return
    member = str.__new__(DynamoBackend, _NAME)
    member._name_ = member._value_ = _NAME
    DynamoBackend._member_map_[_NAME] = member
    DynamoBackend._value2member_map_[_NAME] = member
    DynamoBackend._member_names_.append(_NAME)
    if DynamoBackend(_NAME) is not member:
        raise UnsupportedError(
            "accelerate-backends",
            "this version of accelerate does not let a backend be added to its list",
            hint="torch.compile(model, backend='xyntra') before the model is given to it",
        )
