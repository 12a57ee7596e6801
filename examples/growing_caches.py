# SPDX-License-Identifier: MIT OR Apache-2.0
"""A decoder whose caches grow: for models that ask how long theirs are, as most exports do.

One executable takes prompts and later tokens: the length of the caches, which is 0 at first, and
the number of new tokens are free. What a call returns as caches is given to the next one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import xyntra

Array = np.ndarray[Any, Any]


class GrowingDecoder:
    """A decoder compiled once, for prompts and for one token a step.

    Args:
        path: the model.
        inputs: shapes of its inputs by name, with names of free dimensions.
        config: of the model.
        batch: sequences.
        prompt: tokens of the longest prompt.
        room: positions that the caches hold at most.
        target: "cpu" or "cuda".

    Raises:
        SystemExit: the model is of another form.
    """

    def __init__(
        self,
        path: Path,
        inputs: dict[str, list[Any]],
        config: dict[str, Any],
        batch: int,
        prompt: int,
        room: int,
        target: str,
    ) -> None:
        self.config, self.room, self.inputs = config, room, inputs
        self.pasts = [name for name in inputs if name.startswith("past_key_values.")]
        dims = _dims(inputs, self.pasts[0], batch, prompt, room)
        self.decode = xyntra.compile(path, target=target, dims=dims)
        self.empty = {
            port.name: np.zeros((batch, port.shape[1], 0, port.shape[3]), port.dtype)
            for port in self.decode.inputs
            if port.name in self.pasts
        }
        self.caches: dict[str, Any] = dict(self.empty)
        self.mask = np.zeros((batch, 0), np.int64)

    def logits(self, ids: Array, before: Array, count: Array) -> Array:
        """The logits of the last token of every sequence, [batch, vocabulary].

        Args:
            ids: new tokens, [batch, positions], padded on the right.
            before: positions in the caches of each sequence; zeros begin anew.
            count: how many of the new tokens of each sequence are some.
        """
        length = ids.shape[1]
        if not before.any():
            self.caches, self.mask = dict(self.empty), self.mask[:, :0]
        if self.mask.shape[1] + length > self.room:
            raise ValueError(f"the caches have room for {self.room} positions")
        if (count < length).any():
            self._check_padding()
        # All sequences end at the last position: they are padded on the left.
        places = np.arange(length) - (length - count)[:, None]
        ids = np.where(places >= 0, np.take_along_axis(ids, np.maximum(places, 0), 1), 0)
        self.mask = np.concatenate([self.mask, (places >= 0).astype(np.int64)], 1)
        given = {
            "input_ids": ids,
            "attention_mask": self.mask,
            "position_ids": np.maximum(before[:, None] + places, 0),
        }
        given = {name: array for name, array in given.items() if name in self.inputs}
        found = self.decode.run({**given, **self.caches})
        self.caches = {
            name: found[name.replace("past_key_values", "present")] for name in self.pasts
        }
        return np.asarray(found["logits"])[:, -1]

    def _check_padding(self) -> None:
        missing = sorted({"attention_mask", "position_ids"} - set(self.inputs))
        if missing:
            raise SystemExit(f"without {' and '.join(missing)}, prompts have to be of one length")


def _dims(
    inputs: dict[str, list[Any]], past: str, batch: int, prompt: int, room: int
) -> dict[str, Any]:
    """Sizes of the model's dimensions by name."""
    sequences, length = inputs["input_ids"]
    before = inputs[past][2]
    if not isinstance(length, str) or not isinstance(before, str):
        raise SystemExit(f"the sizes of input_ids and {past} have no names")
    dims: dict[str, Any] = {length: range(1, prompt + 1) if prompt > 1 else 1}
    dims[before] = range(room)
    names = {sequences, *(inputs[name][0] for name in inputs)}
    dims |= {name: batch for name in names if isinstance(name, str)}
    total = inputs.get("attention_mask", [None, None])[1]
    if isinstance(total, str):  # exporters may call it otherwise, even "past_sequence_length + 1"
        dims[total] = f"{before} + {length}"
    return dims
