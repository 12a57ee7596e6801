# SPDX-License-Identifier: MIT OR Apache-2.0
"""Changes of MLIR text that make it lie about itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

__all__ = ["mutated"]

_NUMBER = re.compile(r"(?<![\w.%@])-?\d+(?![\w.])")
_KINDS = ("elementwise", "row", "contraction", "conv", "attention", "data", "generic")


def mutated(text: str, random: Random) -> str:
    """Return `text` after one to three changes."""
    for _ in range(random.choice((1, 1, 2, 3))):
        text = random.choice(_CHANGES)(text, random)
    return text


def _number(text: str, random: Random) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    old = int(match.group())
    new = random.choice((old + 1, old - 1, 0, 1, old * 2, 1 << 20, -1))
    return text[: match.start()] + str(new) + text[match.end() :]


def _size(text: str, random: Random) -> str:
    """Another size of a tensor, everywhere."""
    found = sorted(set(re.findall(r"tensor<(\d+)x", text)))
    if not found:
        return text
    old = random.choice(found)
    return text.replace(f"tensor<{old}x", f"tensor<{random.choice((0, 1, int(old) + 1))}x")


def _kind(text: str, random: Random) -> str:
    return re.sub(r'kind = "\w+"', f'kind = "{random.choice(_KINDS)}"', text, count=1)


def _inplace(text: str, random: Random) -> str:
    pair = f"[{random.randint(0, 2)}, {random.randint(-1, 2)}]"
    return re.sub(
        r"(attributes \{)(xyntra\.kernel)", rf"\1xyntra.inplace = [{pair}], \2", text, count=1
    )


def _constant(text: str, random: Random) -> str:
    return re.sub(r"(%arg0: tensor<[^>]*>)(,|\)| loc)", r"\1 {xyntra.constant}\2", text, count=1)


def _swap(text: str, random: Random) -> str:
    """Two values change places in a line."""
    lines = text.split("\n")
    number = random.randrange(len(lines))
    names = re.findall(r"%\w+", lines[number])
    if len(names) > 2:
        one, two = random.sample(names[1:], 2)
        lines[number] = lines[number].replace(one, "%?").replace(two, one).replace("%?", two)
    return "\n".join(lines)


def _drop(text: str, random: Random) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


_CHANGES: tuple[Callable[[str, Random], str], ...] = (
    _number, _number, _number, _size, _kind, _inplace, _inplace, _constant, _swap, _swap, _drop,
)  # fmt: skip
