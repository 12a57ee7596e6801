# SPDX-License-Identifier: MIT OR Apache-2.0
"""A model whose every name tries to leave its string."""

from __future__ import annotations

from dataclasses import replace

from xyntra.plan.plan import Plan, Port
from xyntra.plan.source_graph import SourceGraph, SourceNode

EVIL = "</script><img src=x onerror=alert(1)><!--\u2028{{script}}<!-- head -->&amp;\x00"


def evil_model(costed: Plan) -> tuple[Plan, SourceGraph]:
    """The plan with a name that attacks wherever a model can put one."""
    steps = [replace(step, nodes=(*step.nodes, EVIL)) for step in costed.steps]
    boundary = costed.steps[-1].boundaries
    assert boundary is not None
    named = replace(boundary[0], source=EVIL, target=EVIL, reason=EVIL)
    steps[-1] = replace(steps[-1], boundaries=(named,))
    kernels = dict(costed.kernels)
    kernels["row_1"] = replace(kernels["row_1"], schedules=(EVIL,), source=EVIL)
    plan = replace(
        costed,
        steps=tuple(steps),
        kernels=kernels,
        inputs=(Port(EVIL, "float32", (250,), 2),),
        outputs=(Port(EVIL, "float32", (250,), 6),),
    )
    return plan, SourceGraph((SourceNode((EVIL,), EVIL, (EVIL,), (), (-1,)),), (0,))
