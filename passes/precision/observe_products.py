# SPDX-License-Identifier: MIT OR Apache-2.0
"""`observe-products`: a model returns the factors of its products with weights, too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.observe_magnitudes import Observed, return_more
from xyntra.passes.precision.quantize_products import check_not_quantized
from xyntra.passes.precision.weighted_products import weighted_products
from xyntra.passes.registry import register_pass

__all__ = ["FACTOR", "KEPT", "SAME", "ObserveProducts"]

FACTOR, SAME, KEPT = "xyntra.factor", "xyntra.same", "xyntra.kept"
"""Prefixes of the names of what is returned, before the number of a product."""


@register_pass
@dataclass(frozen=True)
class ObserveProducts:
    """Return more from `main`: what its products with weights multiply.

    "xyntra.factor N N R NODES" is the tensor that a call multiplies with the weight of product N,
    and "xyntra.same N M R NODES", a 0, stands for a product N that has the factor of product M.
    "xyntra.kept N N R NODES", a 0, is a product that stays in f32 whatever its factor holds. R is 1
    where rows of the factor may have scales of their own, else 0. NODES are the names of nodes, as
    JSON.
    """

    name: ClassVar[str] = "observe-products"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module` that is no kernel and has one block."""
        for function in list(functions(module)):
            if len(function.regions[0].blocks) == 1:
                _observe(function)


def _observe(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    products = list(weighted_products(block))
    if not products:
        check_not_quantized(block)
    end = list(block.operations)[-1].operation
    found: list[Observed] = []
    first: dict[ir.Value, int] = {}
    for number, product in enumerate(products):
        op = product.op
        b = TensorBuilder(ir.InsertionPoint(end), op.location)
        known = first.setdefault(product.source, number) if not product.reason else number
        rows = int(bool(product.rows))
        with op.context, op.location:
            if product.reason or known != number:
                prefix = KEPT if product.reason else SAME
                found.append((f"{prefix} {number} {known} {rows}", b.fill([], "float32", 0), op))
            else:
                copy = b.map(lambda v: v, Tensor.of(product.source), dtype="float32")
                found.append((f"{FACTOR} {number} {number} {rows}", copy.value, op))
    return_more(function, end, found, lambda op: json.dumps(source_nodes(op.location)))
