# SPDX-License-Identifier: MIT OR Apache-2.0
"""`simplify-expressions`: rewrites elementwise expressions into cheaper equal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.recognize.egraph.library import is_installed
from xyntra.passes.recognize.egraph.loops import ElementwiseLoops
from xyntra.passes.recognize.egraph.rules.all_rules import triggers_of
from xyntra.passes.recognize.egraph.rules.rule import Tier
from xyntra.passes.recognize.egraph.windows import LoopWindow, windows
from xyntra.passes.registry import register_pass

__all__ = ["SimplifyExpressions"]

_TIERS = {"exact": Tier.EXACT, "reorder": Tier.REORDER, "fast": Tier.FAST}


@register_pass
@dataclass(frozen=True)
class SimplifyExpressions:
    """Rewrite elementwise operations into cheaper equal ones, by equality saturation (egglog).

    Works on windows: elementwise operations over one iteration space that read one another. A
    window that no rule applies to, or that would not become cheaper, is left as it is. Windows that
    were given up are named in the function's attribute `xyntra.remarks`.
    """

    name: ClassVar[str] = "simplify-expressions"

    math: Literal["exact", "reorder", "fast"] = "reorder"
    """Largest change of numbers: none, other roundings, or whatever is equal over the reals."""

    max_ops: int = 110
    """Largest number of scalar operations in a window."""

    max_iterations: int = 16
    """How often the rules are applied to a window, at most."""

    max_nodes: int = 2000
    """A window's e-graph stops growing before it is likely to exceed this many nodes."""

    optional: bool = False
    """Do nothing where egglog is not installed, instead of failing."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`.

        Raises:
            UnsupportedError: a rule applies, and egglog is not installed.
        """
        if self.optional and not is_installed():
            return
        tier = _TIERS[self.math]
        found = [
            (block, candidates)
            for function in functions(module)
            for block in function.regions[0].blocks
            if (candidates := _candidates(block, tier, self.max_ops))
        ]
        if found:
            # Most models have nothing to rewrite: the engine is imported for those that have.
            from xyntra.passes.recognize.egraph.rewriting import rewrite

            rewrite(found, tier, self.max_iterations, self.max_nodes)


def _candidates(block: ir.Block, tier: Tier, max_ops: int) -> list[LoopWindow]:
    """The windows of `block` that a rule applies to."""
    triggers = triggers_of(tier)
    found = []
    for window in windows(ElementwiseLoops.of(block), max_ops):
        window.build()
        if any(triggers.fires(window.terms, number) for number in range(len(window.terms.nodes))):
            found.append(window)
    return found
