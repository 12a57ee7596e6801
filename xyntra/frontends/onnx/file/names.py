# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that every text of a model is text.

Protobuf hands out a string field that is not valid UTF-8 as bytes, in place of a string.
"""

from __future__ import annotations

from google.protobuf.message import Message

from xyntra.errors import ModelError


def check_texts(message: Message, place: str = "model") -> None:
    """Check all string fields of `message` and of the messages in it.

    Raises:
        ModelError: `model-malformed`, naming the field.
    """
    for field, value in message.ListFields():
        if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        inner = f"{place}.{field.name}"
        for item in value if field.is_repeated else (value,):
            if isinstance(item, bytes):
                cause = repr(item[:80])
                raise ModelError(
                    "model-malformed", "a name is not valid UTF-8", place=inner, cause=cause
                )
            if isinstance(item, Message):
                check_texts(item, inner)
