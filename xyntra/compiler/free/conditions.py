# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a program was traced for all sizes that its dimensions are to have."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.compiler.free.samples import combinations
from xyntra.compiler.worker.request import Request
from xyntra.plan.free.expressions import FreeSymbol

__all__ = ["check_conditions"]

_MOST_TRIED = 4000


def check_conditions(request: Request, symbols: Sequence[FreeSymbol]) -> None:
    """Check the guards of a PyTorch program at the sizes of its ranges.

    Raises:
        UnsupportedError: `free-dimension`, the program is another one for some sizes.
    """
    if request.kind != "torch":
        return
    from xyntra.frontends.torch.program import AtenProgram
    from xyntra.frontends.torch.sized_program import check_guards, sizes_at

    program = AtenProgram.from_bytes(request.model)
    for sizes in combinations(symbols, _MOST_TRIED):
        named = {each.name: each.unit * sizes[each.identifier] for each in symbols}
        check_guards(program, sizes_at(program, {**request.dims, **named}))
