# SPDX-License-Identifier: MIT OR Apache-2.0
"""Futures of calls whose results become others once they are there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from xyntra.targets.program import Future

__all__ = ["MappedFuture"]


class MappedFuture:
    """The outputs of a call that may not have finished.

    Args:
        future: of the call; a tuple of arrays, or one.
        outputs: makes outputs of these, when the call has finished; it may raise.
    """

    def __init__(self, future: Future, outputs: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self._future = future
        self._outputs = outputs

    def __await__(self) -> Generator[Any, None, Any]:
        results = yield from self._future.__await__()
        return self._mapped(results)

    def cancel(self) -> bool:
        """Cancel the call if it has not begun; tells whether that is so."""
        return self._future.cancel()

    def done(self) -> bool:
        """Tell whether the call has finished."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call, so many seconds at most, and return its outputs."""
        return self._mapped(self._future.result(timeout))

    def _mapped(self, results: Any) -> Any:
        outputs = self._outputs(results if isinstance(results, tuple) else (results,))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
