# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what was read from files of TorchScript in the cache, under a hash of their content."""

from __future__ import annotations

import hashlib
import json
import struct
from importlib import metadata
from typing import Any, BinaryIO, NamedTuple

from xyntra.build_id import build_id
from xyntra.cache import DiskCache, cache_key
from xyntra.config import Config

__all__ = ["Trace", "TraceCache"]

_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64
_PART = 1 << 20
_SHARE = 4
"""A trace, whose weights are copies of the file's, may take this part of the cache, 1 over it."""


class Trace(NamedTuple):
    """What the process that reads a file answers: fields of JSON, and the bytes of the weights."""

    fields: dict[str, Any]
    weights: memoryview


class TraceCache:
    """The place in the cache of one file, read for inputs of certain types.

    Args:
        file: open for reading; its content is what counts.
        inputs: as the reader is asked for them, JSON-ready.
        config: says where the cache is, and whether there is one.
    """

    def __init__(self, file: BinaryIO, inputs: Any, config: Config) -> None:
        self._file, self._inputs = file, json.dumps(inputs)
        self._most = config.cache_size // _SHARE
        self._cache = DiskCache(config.cache_dir, config.cache_size) if config.cache else None
        self._key = self._hashed() if self._cache else ""

    def get(self) -> Trace | None:
        """Return what was kept; None where nothing is, or there is no cache."""
        data = self._cache.map(self._key) if self._cache else None
        if data is None:
            return None
        (length,) = _LENGTH.unpack(data[: _LENGTH.size])
        fields = json.loads(bytes(data[_LENGTH.size : _LENGTH.size + length]))
        return Trace(fields, data[_start_of_weights(length) :])

    def put(self, trace: Trace) -> None:
        """Keep a trace, unless it is large, or the file has changed since it was opened."""
        if self._cache is None or len(trace.weights) > self._most or self._hashed() != self._key:
            return
        text = json.dumps(trace.fields).encode()
        start = _start_of_weights(len(text))
        head = (_LENGTH.pack(len(text)) + text).ljust(start, b"\0")
        self._cache.put(self._key, b"".join([head, trace.weights]))

    def _hashed(self) -> str:
        digest = hashlib.sha256()
        self._file.seek(0)
        while part := self._file.read(_PART):
            digest.update(part)
        self._file.seek(0)
        versions = build_id(), metadata.version("torch")
        return cache_key("torchscript", digest.digest(), self._inputs, *versions)


def _start_of_weights(length: int) -> int:
    """Return where weights begin behind a text of so many bytes."""
    return -(-(_LENGTH.size + length) // _ALIGNMENT) * _ALIGNMENT
