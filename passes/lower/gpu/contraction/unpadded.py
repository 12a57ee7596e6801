# SPDX-License-Identifier: MIT OR Apache-2.0
"""A contraction that reads an image where it would read a padded copy of it."""

from __future__ import annotations

from dataclasses import replace

from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.contraction.implicit_padding import Padding, unpadded
from xyntra.passes.lower.gpu.matmul.roles import Roles
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand


def reading(group: ContractionGroup, factor: int, padding: Padding) -> ContractionGroup | None:
    """Return `group` with the image as one of its factors; None where that cannot be read."""
    found = unpadded(group.nest, factor, padding)
    roles = None if found is None else Roles.of(found.nest)
    if found is None or roles is None:
        return None
    epilogue = group.epilogue
    for loop, inner in found.splits:
        epilogue = _split(epilogue, loop, inner)
    return replace(
        group,
        nest=found.nest,
        roles=roles,
        epilogue=epilogue,
        image=factor,
        windows=found.windows,
        outside=padding.value,
    )


def _split(epilogue: Epilogue | None, loop: int, inner: int) -> Epilogue | None:
    """Return `epilogue` for a nest with `loop` as two, the second of `inner` iterations."""
    if epilogue is None:
        return None

    def cut(access: BufferOperand) -> BufferOperand:
        own = access.strides[loop]
        strides = (*access.strides[:loop], own * inner, own, *access.strides[loop + 1 :])
        return replace(access, strides=strides)

    return replace(
        epilogue,
        inputs=tuple(None if each is None else cut(each) for each in epilogue.inputs),
        outputs=tuple(map(cut, epilogue.outputs)),
        result=None if epilogue.result is None else cut(epilogue.result),
    )
