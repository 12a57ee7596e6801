# SPDX-License-Identifier: MIT OR Apache-2.0
"""Knows how large the values of tensors are: of constants, of parameters, and of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.diagnostics import PassFailure

__all__ = [
    "FACTORS",
    "MAGNITUDE",
    "PEAKS",
    "Magnitudes",
    "constant_peak",
    "note_magnitudes",
    "note_peaks",
]

MAGNITUDE = "xyntra.magnitude"
"""Attribute of a parameter, an f32: the magnitude of its largest value, where that is unusual."""

PEAKS = "xyntra.peaks"
"""Module attribute: for each operation of `main`, the largest magnitude of its result in samples;
0 where none was observed."""

FACTORS = "xyntra.factors"
"""Attribute of a contraction: the largest magnitudes of both factors in samples; 0 for none."""

_TINY = 2.0**-11
"""Largest magnitude below which too much of a tensor is subnormal in f16."""


def note_magnitudes(module: ir.Operation, found: Mapping[str, float]) -> None:
    """Set the attribute of the parameters whose magnitudes are given by name."""
    if not found:
        return
    with module.context, ir.Location.unknown(module.context):
        f32 = ir.F32Type.get()
        for function in functions(module):
            if "arg_attrs" not in function.attributes:
                continue
            given = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
            for place, attributes in enumerate(given):
                entries = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
                name = entries.get("xyntra.parameter")
                if isinstance(name, ir.StringAttr) and name.value in found:
                    entries[MAGNITUDE] = ir.FloatAttr.get(f32, found[name.value])
                    given[place] = ir.DictAttr.get(entries)
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)


def note_peaks(module: ir.Operation, peaks: Sequence[float]) -> None:
    """Set the attribute `PEAKS` of `module`, unless there are none."""
    if peaks:
        with module.context:
            module.attributes[PEAKS] = ir.DenseF32ArrayAttr.get(list(peaks))


class Magnitudes:
    """Answers for the values of one function with these operations."""

    def __init__(self, block: ir.Block, operations: Sequence[ir.Operation]) -> None:
        self._known: dict[ir.Value, float] = {}
        function = block.owner
        peaks = function.parent.operation.attributes.get(PEAKS, None)
        if isinstance(peaks, ir.DenseF32ArrayAttr):
            self._observe(list(peaks), operations)
        if "arg_attrs" not in function.attributes:
            return
        given = ir.ArrayAttr(function.attributes["arg_attrs"])
        for argument, attributes in zip(block.arguments, given, strict=True):
            found = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
            if isinstance(found.get(MAGNITUDE), ir.FloatAttr):
                self._known[argument] = float(found[MAGNITUDE].value)

    def _observe(self, peaks: list[float], operations: Sequence[ir.Operation]) -> None:
        if len(peaks) != len(operations):
            raise PassFailure.at(
                operations[-1], f"has {len(operations)} operations, samples {len(peaks)}"
            )
        for peak, op in zip(peaks, operations, strict=True):
            if peak > 0 and len(op.results) == 1:
                self._known[op.results[0]] = peak

    def of(self, value: ir.Value) -> float:
        """Return the largest magnitude that is known to be among the values; 0 where none is."""
        return self._known.get(value, 0.0)

    def is_tiny(self, value: ir.Value) -> bool:
        """Whether the values of a parameter are smaller than f16 holds them well."""
        return 0.0 < self._known.get(value, 1.0) < _TINY


def constant_peak(value: ir.Value) -> float:
    """Return the largest finite magnitude in an arith.constant of f32; 0 for all else."""
    op = value.owner.operation
    attribute = op.attributes.get("value", None)
    if not isinstance(attribute, ir.DenseFPElementsAttr):
        return 0.0
    if str(ir.RankedTensorType(attribute.type).element_type) != "f32":
        return 0.0
    array = np.abs(np.array(attribute))
    finite = array[np.isfinite(array)]
    return float(finite.max()) if finite.size else 0.0
