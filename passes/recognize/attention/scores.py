# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matches what lies between the two contractions of an attention: scale, mask, softmax."""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.dialects.attention import MaskedRows
from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.attention.causal_masks import (
    Causal,
    added_causal,
    causal_of,
    causal_select,
    keeps_all,
)
from xyntra.passes.recognize.attention.places import (
    Place,
    operands,
    scaling,
    through_cast,
    through_view,
)

__all__ = ["Probabilities", "Scores", "find_scores", "find_softmax"]

_MOST_BIASES = 2


@dataclass
class Scores:
    """Scores as they enter the softmax, which are made of `products`.

    Attributes:
        products: the sum of products, read by the loops of the second contraction.
        scale: what products are multiplied by.
        cap: what the hyperbolic tangent of that is multiplied by; 0 where there is none.
        keep: the boolean mask; `inverted` where it tells which scores to replace.
        fill: what masked scores are replaced by.
        causal: the mask that positions make.
        biases: what is added after that, or before it where `fill_last`.
        factors: what each of these is multiplied by.
    """

    products: Place | None = None
    scale: float = 1.0
    keep: Place | None = None
    inverted: bool = False
    fill: float | None = None
    causal: Causal | None = None
    biases: list[Place] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    fill_last: bool = False
    cap: float = 0.0

    def add_scale(self, factor: float) -> None:
        """Take in a factor; masks and biases that are found above it are multiplied by it."""
        self.scale *= factor

    def add_cap(self) -> bool:
        """Take in a hyperbolic tangent below all masks, and the factor between them."""
        if self.cap or not 0 < self.scale < float("inf"):
            return False
        self.cap, self.scale = self.scale, 1.0
        return True

    def add_mask(self, keep: Place, inverted: bool, fill: float) -> bool:
        """Take in a replacement of scores; False where it cannot be said with those above."""
        if keep.source.number is not None:
            return bool(keep.source.number) != inverted
        causal = causal_of(keep, inverted)
        if causal is not None:
            return self.add_causal(causal, fill)
        if keeps_all(keep, inverted):
            return True
        filled = self._filled(fill)
        if self.keep is not None or filled is None:
            return False
        self.keep, self.inverted, self.fill = keep, inverted, filled
        return True

    def add_causal(self, causal: Causal, fill: float) -> bool:
        """Take in a mask made of positions; False where it cannot be said with those above."""
        if causal.keeps_all:
            return True
        filled = self._filled(fill)
        if self.causal is not None or filled is None:
            return False
        self.causal, self.fill = causal, filled
        return True

    def _filled(self, fill: float) -> float | None:
        """What scores are in the end that are replaced by `fill` here; None where not one number.

        Factors below a mask multiply what it replaces scores by, too.
        """
        factor = self._factor()
        if factor is None or (factor > 1 and fill != float("-inf")):
            return None  # a product that is out of range would be finite here
        filled = fill * factor
        is_one = not self.fill_last and self.fill in (None, filled)
        return filled if is_one else None

    def _factor(self) -> float | None:
        """Return what is between here and the softmax, where that is a positive factor alone."""
        is_factor = not self.cap and 0 < self.scale < float("inf")
        return self.scale if is_factor else None

    def add_bias(self, bias: Place, sign: float = 1.0) -> bool:
        """Take in a sum or a difference; False where more than a factor follows it."""
        factor = self._factor()
        if factor is None or len(self.biases) == _MOST_BIASES:
            return False
        if self.biases and not self.fill_last and self.fill is not None:
            return False
        self.fill_last = self.fill_last or self.fill is not None
        self.biases.append(bias)
        self.factors.append(sign * factor)
        return True


@dataclass(frozen=True)
class Probabilities:
    """A softmax, and what becomes of rows without a score.

    Attributes:
        place: where the softmax is read.
        masked_rows: as in `xyntra.attention`.
        emptied_by: the largest score or bias of each row; rows where it is -inf become 0.
    """

    place: Place
    masked_rows: MaskedRows = "nan"
    emptied_by: Place | None = None

    @property
    def scores(self) -> Place:
        """What the softmax is taken of."""
        return self.place.read(self.place.source.operands[0])


def find_softmax(place: Place, softmax: ir.Operation) -> Probabilities | None:
    """Follow probabilities up to `softmax`, past the replacement of NaN by 0."""
    masked_rows: MaskedRows = "nan"
    emptied_by: Place | None = None
    current: Place | None = place
    while current is not None:
        source = current.source
        if source.opcode == "xyntra.softmax" and source.operation == softmax:
            return Probabilities(current, masked_rows, emptied_by)
        cleaned, emptied = _without_nan(current), _without_empty(current)
        if cleaned is not None:
            masked_rows, current = "zero", cleaned
        elif emptied is not None and masked_rows == "nan":
            masked_rows, (current, emptied_by) = "zero_if_empty", emptied
        else:
            current = through_view(current) or through_cast(current)
    return None


def _without_empty(place: Place) -> tuple[Place, Place] | None:
    """Return what is selected by `where(reduce_max(y) == -inf, 0, x)`, and the maximum."""
    if place.source.opcode != "where":
        return None
    condition, yes, no = operands(place)
    if condition.source.opcode != "eq" or yes.source.number != 0.0:
        return None
    largest, number = operands(condition)
    is_lowest = number.source.number == float("-inf")
    return (no, largest) if is_lowest and largest.source.opcode == "reduce_max" else None


def _without_nan(place: Place) -> Place | None:
    """Return what is selected by `where(x != x, 0, x)`, or by its opposite."""
    if place.source.opcode != "where":
        return None
    condition, yes, no = operands(place)
    if condition.source.opcode not in ("ne", "is_unordered", "eq"):
        return None
    left, right = operands(condition)
    number, value = (no, yes) if condition.source.opcode == "eq" else (yes, no)
    same = left == value and (right == value or right.source.number is not None)
    is_exact = right == value or condition.source.opcode == "is_unordered"
    return value if same and is_exact and number.source.number == 0.0 else None


def find_scores(place: Place) -> Scores | None:
    """Follow the input of a softmax up to the sum of products that it is made of."""
    return _follow(place, Scores())


def _follow(place: Place, found: Scores) -> Scores | None:
    current: Place | None = place
    while current is not None:
        if current.source.contraction is not None:
            found.products = current
            return found
        current = _step(current, found)
    return None


def _step(place: Place, found: Scores) -> Place | None:
    following = through_view(place) or through_cast(place)
    if following is not None:
        return following
    scaled = scaling(place)
    if scaled is not None:
        found.add_scale(scaled[1])
        return scaled[0]
    if place.source.opcode == "tanh":
        return operands(place)[0] if found.add_cap() else None
    if place.source.opcode == "add":
        return _bias(place, found) if len(found.biases) < _MOST_BIASES else None
    if place.source.opcode == "sub":
        return _subtracted(place, found) if len(found.biases) < _MOST_BIASES else None
    if place.source.opcode == "where":
        return _mask(place, found)
    return _causal(place, found)


def _subtracted(place: Place, found: Scores) -> Place | None:
    """Follow the scores from which a bias is taken, which is one of the opposite sign."""
    scores, bias = operands(place)
    if bias.source.number == 0.0:
        return scores
    if bias.source.number is None and _leads_to_products(scores, [*found.biases, bias]):
        return scores if found.add_bias(bias, -1.0) else None
    return None


def _bias(place: Place, found: Scores) -> Place | None:
    for scores, bias in _both_orders(place):
        if bias.source.number == 0.0:
            return scores
        causal = added_causal(bias)
        if causal is not None and found.add_causal(causal, float("-inf")):
            return scores
        biases = [*found.biases, bias]
        if bias.source.number is None and _leads_to_products(scores, biases):
            return scores if found.add_bias(bias) else None
    return None


def _both_orders(place: Place) -> list[tuple[Place, Place]]:
    left, right = operands(place)
    return [(left, right), (right, left)]


def _mask(place: Place, found: Scores) -> Place | None:
    condition, yes, no = operands(place)
    for scores, other, inverted in ((yes, no, False), (no, yes, True)):
        number = other.source.number
        if number is None or not isinstance(number, float) or number != number:
            continue
        is_usable = number < float("inf")
        return scores if is_usable and found.add_mask(condition, inverted, number) else None
    return None


def _causal(place: Place, found: Scores) -> Place | None:
    selected = causal_select(place)
    if selected is None:
        return None
    scores, causal, fill = selected
    return scores if found.add_causal(causal, fill) else None


def _leads_to_products(place: Place, biases: list[Place]) -> bool:
    """Tell whether the sum of products is found above, past no more sums than there may be."""
    return _follow(place, Scores(biases=list(biases))) is not None
