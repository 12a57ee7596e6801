# SPDX-License-Identifier: MIT OR Apache-2.0
"""Descriptions of tensors in global memory that the tensor memory accelerator (TMA) copies from.

The host encodes them, once the address is known, and a launch takes them by value (PTX ISA,
"Tensor-map"; CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, set_signature
from xyntra.passes.lower.loops.memrefs import root

MAP_BYTES = 128
MAP_ALIGNMENT = 64
_NUMBER = "xyntra.map"
MAP_ARGUMENT = "builtin.unrealized_conversion_cast"
"""What stands for a tensor map until it is an argument; not all of these do."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory, and the box of it that one copy moves.

    Attributes:
        element: f16, bf16, f32, tf32, i8 or i32.
        sizes: elements of every dimension, innermost first; up to five.
        strides: bytes from one element to the next in every dimension but the innermost, multiples
            of 16.
        box: elements that a copy moves, in every dimension.
        swizzle: bytes of the pattern that shared memory is permuted in: 0, 32, 64 or 128.
        offset: byte of the argument at which the tensor starts, a multiple of 16.
        argument: number of the pointer; known once a launch has its own function.
        lower: for an image, of which a copy takes pixels one behind the other, where these start in
            every dimension between channels and images; the box is channels and pixels. Empty for
            other tensors.
        upper: where they end, from the end of the image.
        steps: from one pixel to the next, in every dimension.
    """

    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    offset: int = 0
    argument: int = -1
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


def map_argument(memory: ir.Value, number: int) -> ir.Value:
    """Return, as an LLVM pointer, the tensor map that a launch is given as number `number`.

    It stands where `CudaLaunch.maps` has its description, and becomes an argument of the launch's
    function when it has one.

    Args:
        memory: a memref of the memory that the map is of.
        number: place of the description in `CudaLaunch.maps`.
    """
    word = ir.IntegerType.get_signless(64)
    return ir.Operation.create(
        MAP_ARGUMENT,
        results=[ir.Type.parse("!llvm.ptr")],
        operands=[memory],
        attributes={_NUMBER: ir.IntegerAttr.get(word, number)},
    ).result


def pass_maps(
    function: ir.Operation, maps: tuple[TensorMap, ...], casts: Iterable[ir.Operation]
) -> tuple[TensorMap, ...]:
    """Make what `map_argument` returned arguments of `function`, behind its pointers, in order.

    Args:
        function: of one launch; its allocations are arguments by now.
        maps: of the launch.
        casts: all in `function` that are `MAP_ARGUMENT`.

    Returns:
        The maps with the numbers of the pointers that they are of.
    """
    found = {
        ir.IntegerAttr(op.attributes[_NUMBER]).value: op for op in casts if _NUMBER in op.attributes
    }
    block = entry_block(function)
    numbers = {argument: number for number, argument in enumerate(block.arguments)}
    passed = []
    for number, each in enumerate(maps):
        op = found[number]
        passed.append(replace(each, argument=numbers[root(op.operands[0])]))
        argument = block.add_argument(op.result.type, function.location)
        op.result.replace_all_uses_with(argument)
    for op in found.values():
        op.erase()
    with function.location:
        set_signature(function, [])
    return tuple(passed)
