# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what a model computes when it is imported, although it is as large as a free dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xyntra.compiler.worker.request import Request

__all__ = ["sized_folds"]


def sized_folds(
    request: Request,
    sizes: Sequence[Mapping[str, int]],
    import_at: Callable[[Mapping[str, int]], object],
) -> frozenset[str]:
    """Return the results, by name, that are folded to arrays of other shapes at other sizes.

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

    records = []
    for each in sizes:
        with recording(FoldRecord(sizes_are_free=True)) as record:
            import_at(each)
        records.append(record.shapes)
    names = {name for shapes in records for name in shapes}
    return frozenset(name for name in names if len({shapes.get(name) for shapes in records}) > 1)
