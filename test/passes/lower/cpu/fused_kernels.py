# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes kernels of several operations, as fusion forms them, with merged elementwise parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xyntra.dialects import KernelFacts, make_context
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.tensor.decompose_named_ops import DecomposeNamedOps
from xyntra.passes.lower.tensor.merge_elementwise import MergeElementwise

Argument = tuple[tuple[int, ...], str]


def fused_kernel(
    arguments: Sequence[Argument],
    build: Callable[..., Any],
    *,
    inplace: Sequence[tuple[int, int]] = (),
    merge: bool = True,
) -> str:
    """The text of kernel @k.

    Args:
        arguments: shape and dtype of each.
        build: takes a TensorBuilder and the arguments; returns a tensor or several.
        inplace: which result takes which argument's memory.
        merge: run `merge-elementwise`, as before every lowering.
    """
    with make_context(), ir.Location.unknown() as location:
        module = ir.Module.create()
        kinds = [TensorBuilder(None, location).tensor_type(*each) for each in arguments]
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get("k"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(kinds, [])),
            },
            regions=1,
            ip=ir.InsertionPoint(module.body),
        )
        block = function.regions[0].blocks.append(*kinds, arg_locs=[location] * len(kinds))
        builder = TensorBuilder(ir.InsertionPoint(block), location)
        tensors = [Tensor(a, d) for a, (_, d) in zip(block.arguments, arguments, strict=True)]
        built = build(builder, *tensors)
        results = [each.value for each in ([built] if isinstance(built, Tensor) else built)]
        ir.Operation.create("func.return", operands=results, ip=ir.InsertionPoint(block))
        signature = ir.FunctionType.get(kinds, [value.type for value in results])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        KernelFacts("generic").mark(function)
        DecomposeNamedOps().run(module.operation)
        if merge:
            MergeElementwise().run(module.operation)
        del function.attributes["xyntra.kernel"]
        if inplace:
            pairs = str([list(pair) for pair in inplace])
            function.attributes["xyntra.inplace"] = ir.Attribute.parse(pairs)
        module.operation.verify()
        return str(module)
