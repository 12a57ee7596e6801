# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random bits by Philox 4x32-10, a function of a key and a counter, the same on all targets."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.arrays.lowering import args, lowers
from xyntra.frontends.torch.node import AtenNode

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def philox(counter: list[Scalar], key: list[Scalar]) -> list[Scalar]:
    """Return the four words of Philox 4x32-10 for a counter of four words and a key of two."""
    c, k = counter, key
    for number in range(_ROUNDS):
        high0, low0 = _multiplied(c[0], _MULTIPLIERS[0])
        high1, low1 = _multiplied(c[2], _MULTIPLIERS[1])
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        if number + 1 < _ROUNDS:
            k = [word + weyl for word, weyl in zip(k, _WEYL, strict=True)]
    return c


def _multiplied(x: Scalar, factor: int) -> tuple[Scalar, Scalar]:
    product = x.cast("uint64") * factor
    return (product >> 32).cast("uint32"), product.cast("uint32")


@lowers("random_bits")
def random_bits(node: AtenNode) -> Tensor:
    """Words for element i, of a vector: word i % 4 of the counter i // 4, under the key given.

    The operand holds four words: the key, and the upper half of the counter.
    """
    (words,) = args(node)
    b = node.b
    source = b.tensor(words)

    def body() -> Scalar:
        place = b.index(0).cast("int64").cast("uint64")
        block, lane = place >> 2, (place & 3).cast("uint32")
        given = [b.extract(source, [constant(i, "index")]) for i in range(4)]
        counter = [block.cast("uint32"), (block >> 32).cast("uint32"), given[2], given[3]]
        found = philox(counter, given[:2])
        low = lane.equals(0).select(found[0], found[1])
        high = lane.equals(2).select(found[2], found[3])
        return (lane < 2).select(low, high)

    return b.map(body, dtype="uint32", shape=node.shape)
