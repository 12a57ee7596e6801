# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what a model computes when it is imported, although it is as large as a free dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xyntra.compiler.worker.request import Request

__all__ = ["sized_folds"]

_MOST_ROUNDS = 4


def sized_folds(
    request: Request,
    sizes: Sequence[Mapping[str, int]],
    import_at: Callable[[Mapping[str, int]], object],
) -> frozenset[str]:
    """Return the results, by name, that are folded to other arrays at other sizes.

    Elements count where these are a tensor of the program, not where they are sizes of another one.

    Args:
        request: for the model.
        sizes: which to compare: small ones, too, as what is large is not folded anyway.
        import_at: imports the model at sizes.

    Raises:
        XyntraError: the model cannot have these sizes.
    """
    if request.kind != "onnx":
        return frozenset()
    from xyntra.frontends.onnx.folding.record import FoldRecord, recording

    kept: frozenset[str] = frozenset()
    for _ in range(_MOST_ROUNDS):
        records = []
        for each in sizes:
            with recording(FoldRecord(kept, sizes_are_free=True)) as record:
                import_at(each)
            records.append(record)
        found = _differing([each.shapes for each in records])
        found |= _differing([each.elements for each in records])
        if not found - kept:
            break
        kept |= found  # what these read may have become a tensor of the program
    return kept


def _differing(records: Sequence[Mapping[str, object]]) -> frozenset[str]:
    names = {name for record in records for name in record}
    return frozenset(name for name in names if len({each.get(name) for each in records}) > 1)
