# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.attention`: softmax(scale * query key^T, masked) value, for many heads.

Scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017). A lowering need
not hold all scores: the sum of exponentials can follow a running maximum (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018).
"""

from typing import Any, Optional

from xyntra.dialects.attention_layout import check_layout
from xyntra.dialects.base import Operand, Pure, Result, Xyntra, ir
from xyntra.dialects.verify import Rejected, float_tensor, optional_operand, verifier

__all__ = ["AttentionOp"]

_MASKED_ROWS = ("nan", "zero", "zero_if_empty")


class AttentionOp(Xyntra.Operation, name="attention", traits=[Pure]):
    """One score for each batch, head, query and key, softmax along keys, one sum of values each.

    `sizes` (array<i64>) are the extents of six loops: b batch, h head, s query, t key, d element of
    a key, e element of a value. `indexing_maps` tell, over (b, h, s, t, d, e), where each operand
    is read and the result written, so that layouts, slices of a larger tensor, heads that share a
    key (`h floordiv 4`) and broadcast masks need no copies. s, t, d and e are only multiplied by
    constants; b and h may also be divided. Maps use no other loops than these:

    * `query` b, h, s, d; `key` b, h, t, d; `value` b, h, t, e: all of one type f16/bf16/f32/f64;
    * `keep`, optional, of i1: b, h, s, t. Where it is false, the score is `fill`;
    * `bias`, optional, of the type of `query` or f32: b, h, s, t. It is added after that, or before
      it where there is the unit attribute `fill_last`;
    * `limit`, optional, of i64: b, h. It says how many keys there are for the queries of a head.
      The mask, the bias or causality give all others the score -inf, so that none has to be read;
    * the result, of the type of `query`: b, h, s, e, each element written once.

        score = scale * sum over d of query * key
        score = softcap * tanh(score / softcap)     where there is a `softcap`
        score = fill            unless keep, and unless t <= s + causal_offset where `causal`
        score = score + bias
        result = sum over t of softmax(score) * value

    `scale` is an f32. Optional attributes: `softcap`, an f32 above 0; `fill`, an f32, -inf if not
    given; `causal_offset`, an i64, 0 if not given. A row whose probabilities are NaN (it holds a
    NaN or +inf, or nothing but -inf) gives NaN if `masked_rows` is "nan", as softmax does, and 0 if
    it is "zero", as models do that replace NaN in the probabilities; "zero_if_empty" is 0 where all
    scores are -inf, and NaN for the others. Keys that `causal` excludes with a `fill` of -inf are
    not read, nor are their values. 16-bit inputs are computed in f32 and rounded once.
    """

    query: Operand[Any]
    key: Operand[Any]
    value: Operand[Any]
    scale: ir.FloatAttr
    causal: ir.IntegerAttr
    masked_rows: ir.StringAttr
    indexing_maps: ir.ArrayAttr
    result: Result[Any]
    keep: Optional[Operand[Any]] = None  # noqa: UP045  (the bindings read this form)
    bias: Optional[Operand[Any]] = None  # noqa: UP045
    limit: Optional[Operand[Any]] = None  # noqa: UP045

    @staticmethod
    @verifier
    def verify_region_invariants(op: Any) -> None:
        """Check element types, attributes, and that every map stays inside of its operand."""
        keep, bias, limit = (optional_operand(op, segment) for segment in (3, 4, 5))
        _check_types(op, keep, bias)
        _check_limit(limit)
        _check_attributes(op)
        roles = ["the query", "the key", "the value"]
        roles += ["the mask"] * (keep is not None) + ["the bias"] * (bias is not None)
        roles += ["the limit"] * (limit is not None)
        check_layout(op.operation, [*roles, "the result"])


def _check_types(op: Any, keep: ir.Value | None, bias: ir.Value | None) -> None:
    query, key, value = list(op.operation.operands)[:3]
    element = float_tensor(query, "the query").element_type
    results = list(op.operation.results)
    others = ((key, "the key"), (value, "the value"), (results[0], "the result"))
    for other, role in others:
        kind = float_tensor(other, role).element_type
        if kind != element:
            raise Rejected(f"expects {role} to have the query's element type {element}, got {kind}")
    if keep is not None:
        kind = keep.type
        if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) != "i1":
            raise Rejected(f"expects the mask to be a ranked tensor of i1, got {kind}")
    if bias is not None:
        kind = float_tensor(bias, "the bias").element_type
        if kind not in (element, ir.F32Type.get()):
            raise Rejected(f"expects the bias to be of {element} or f32, got {kind}")


def _check_limit(limit: ir.Value | None) -> None:
    if limit is None:
        return
    kind = limit.type
    if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) != "i64":
        raise Rejected(f"expects the limit to be a ranked tensor of i64, got {kind}")


def _check_attributes(op: Any) -> None:
    attributes = op.operation.attributes
    causal = attributes["causal"]
    if causal.type != ir.IntegerType.get_signless(1):
        raise Rejected(f"expects 'causal' to be true or false, got {causal}")
    fill = attributes.get("fill")
    cap = attributes.get("softcap")
    for name, value in (("scale", op.scale), ("fill", fill), ("softcap", cap)):
        if value is not None and value.type != ir.F32Type.get():
            raise Rejected(f"expects '{name}' to be an f32 attribute, got {value}")
    if abs(op.scale.value) == float("inf") or op.scale.value != op.scale.value:
        raise Rejected(f"expects 'scale' to be finite, got {op.scale.value}")
    if fill is not None and (fill.value != fill.value or fill.value == float("inf")):
        raise Rejected(f"expects 'fill' to be finite or -inf, got {fill.value}")
    if cap is not None and not 0 < cap.value < float("inf"):
        raise Rejected(f"expects 'softcap' to be finite and above 0, got {cap.value}")
    if op.masked_rows.value not in _MASKED_ROWS:
        known = ", ".join(_MASKED_ROWS)
        raise Rejected(f"expects 'masked_rows' to be one of {known}, got {op.masked_rows}")
    last = attributes.get("fill_last")
    if last is not None and not isinstance(last, ir.UnitAttr):
        raise Rejected(f"expects 'fill_last' to be a unit attribute, got {last}")
    if "causal_offset" not in attributes:
        return
    offset = attributes["causal_offset"]
    i64 = ir.IntegerType.get_signless(64)
    if not isinstance(offset, ir.IntegerAttr) or offset.type != i64:
        raise Rejected(f"expects 'causal_offset' to be an i64 attribute, got {offset}")
    if not attributes["causal"].value:
        raise Rejected("has a 'causal_offset' but is not causal")
