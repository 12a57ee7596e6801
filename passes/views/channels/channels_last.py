# SPDX-License-Identifier: MIT OR Apache-2.0
"""`channels-last`: stores the tensors of convolution networks with channels innermost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.registry import register_pass
from xyntra.passes.targets.table import DEFAULT, TARGETS, TargetName
from xyntra.passes.views.channels.channel_orders import ChannelOrders
from xyntra.passes.views.channels.reordering import Reordering


@register_pass
@dataclass(frozen=True)
class ChannelsLast:
    """Store what convolutions and poolings read and write as N, spatial dimensions, C.

    With channels innermost a convolution is a matrix product for every tap, of neighbouring
    positions with weights that lie as the product wants them, and a depthwise one and a pooling
    compute on vectors of channels. What works element by element, pads, concatenates, slices or
    resizes between them follows. Tensors that must keep their order are read through indexing maps
    where that can be, and through a copy elsewhere; where copies would cost more than is gained,
    tensors stay as they are.
    """

    name: ClassVar[str] = "channels-last"
    target: TargetName = DEFAULT
    """What copies and convolutions take there decides."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        for block in function_blocks(module):
            orders = ChannelOrders(block, TARGETS[self.target]).found()
            if orders:
                Reordering(block, orders).run()
