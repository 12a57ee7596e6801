# SPDX-License-Identifier: MIT OR Apache-2.0
"""Explains which dimensions are free, and how kernels are scheduled for which sizes."""

from __future__ import annotations

from xyntra.dialects.sizes import parse
from xyntra.observe.text import aligned, plural, printable, shorten
from xyntra.plan.free.expressions import FreeSizes, FreeSymbol, Guard, KernelVariants, named_text

__all__ = ["explain_free", "shown_shape"]

_WORDS = {
    "": "as at the sizes above",
    "apart": "loops of their own for all nests",
    "loops": "plain loops",
    "sample": "as at the sizes above",
}


def explain_free(free: FreeSizes, width: int) -> list[str]:
    """Lines on the free dimensions of a plan, and on the variants of its kernels.

    Args:
        free: the dimensions.
        width: cut lines at this many characters; 0 for never.
    """
    lines = ["free dimensions, told in each call"]
    lines += [f"  {printable(each.name)}: {_sizes(each, free)}" for each in free.symbols]
    shown = ", ".join(f"{printable(each.name)} = {each.shown * each.unit}" for each in free.symbols)
    lines.append(f"  shapes, bytes and times here are for {shown}, at which the kernels were made")
    several = [kernel for kernel in free.kernels if len(kernel.variants) > 1]
    one = len(free.kernels) - len(several)
    lines.append(f"  {plural(one, 'kernel')} with one schedule for all sizes")
    rows = [
        (kernel.name if not number else "", _words(kernel, number), _guards(guards, free))
        for kernel in several
        for number, guards in enumerate(kernel.guards)
    ]
    if rows:
        lines.append("  kernels whose schedule depends on the sizes, the first that fits:")
        lines += [f"    {line}" for line in aligned(rows)]
    return [shorten(line, width) if width else line for line in lines]


def shown_shape(free: FreeSizes, number: int) -> str:
    """Return the shape of an input or output, by its number, in the names of the dimensions."""
    shape = (named_text(free.expression(text), free.symbols) for text in free.shapes[number])
    return f"({', '.join(shape)})"


def _sizes(symbol: FreeSymbol, free: FreeSizes) -> str:
    if symbol.definition:
        return f"is {printable(named_text(parse(symbol.definition), free.symbols))}"
    sizes = symbol.sizes
    steps = f" in steps of {sizes.step}" if sizes.step > 1 else ""
    return f"{sizes[0]} to {sizes[-1]}{steps}"


def _words(kernel: KernelVariants, number: int) -> str:
    word = kernel.words[number]
    most = word.removeprefix("upto")
    if most != word:
        return f"for sizes whose product is up to {most}"
    if not word and kernel.words[0].startswith("upto"):
        return "for more"
    rows = word.removeprefix("rows")
    if rows != word:
        return f"tiles of {rows} row{'s' if rows != '1' else ''}"
    return _WORDS.get(word, word)


def _guards(guards: tuple[Guard, ...], free: FreeSizes) -> str:
    def text(side: str) -> str:
        return printable(named_text(free.expression(side), free.symbols))

    shown = " and ".join(f"{text(left)} {kind} {text(right)}" for kind, left, right in guards)
    return f"where {shown}" if shown else "else"
