# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a node is refused with the right kind of error."""

from __future__ import annotations

from typing import Any

import pytest
from harness import Arrays, node_model, run

from xyntra.errors import ModelError, UnsupportedError


def check_invalid(op_type: str, inputs: Arrays, match: str, **options: Any) -> None:
    """The node breaks its specification."""
    with pytest.raises(ModelError, match=match) as caught:
        run(node_model(op_type, inputs, **options), inputs)
    assert caught.value.code == "node-invalid"
    assert "it" in (caught.value.place or "")


def check_unsupported(op_type: str, inputs: Arrays, match: str, **options: Any) -> None:
    """The node is valid, and not compiled."""
    with pytest.raises(UnsupportedError, match=match) as caught:
        run(node_model(op_type, inputs, **options), inputs)
    assert caught.value.code in ("operator-unsupported", "dtype-unsupported")
