# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles samples of one operator, and compares results and gradients with eager PyTorch's."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree

from verify.torch_gradients import call_of_tensors, verdict, with_gradients
from xyntra.integrations.torch_compile import backend, support

__all__ = ["check"]

Row = dict[str, Any]
_RTOL, _ATOL = 1e-4, 2e-5
"""Of results in f32, whose largest error against float64 may also be twice eager PyTorch's."""
_TEXT = 300


def check(operator: Any, samples: int) -> Row:
    """Return what became of an operator's samples: how many are right, and so on.

    Each is "right", "fallback" (PyTorch ran a part of it, which a warning named), "wrong",
    "failed" (an error that eager PyTorch does not raise) or "skipped" (eager PyTorch raises).

    Args:
        operator: an entry of PyTorch's table of samples.
        samples: how many are taken, of results in f32 and of gradients in float64 each.
    """
    support.forget_reports()
    row: Row = {"name": operator.name, "variant": operator.variant_test_name}
    row["forward"], reports, wrong = _counted(_forward(operator, samples))
    usable = operator.supports_autograd and torch.float64 in operator.dtypes
    row["backward"], more, worse = _counted(_backward(operator, samples) if usable else iter(()))
    row["reports"], row["wrong"] = sorted({*reports, *more}), [*wrong, *worse]
    return row


def _counted(verdicts: Iterator[tuple[str, str]]) -> tuple[dict[str, int], list[str], list[str]]:
    counts, reports, wrong = Counter[str](), [], []
    for what, why in verdicts:
        counts[what] += 1
        if what == "fallback":
            reports += why.split("; ")
        elif what in ("wrong", "failed"):
            wrong.append(f"{what}: {why}"[:_TEXT])
    return dict(counts), reports, wrong


def _backward(operator: Any, samples: int) -> Iterator[tuple[str, str]]:
    found = operator.sample_inputs("cpu", torch.float64, requires_grad=True)
    for sample in islice(found, samples):
        call, tensors = call_of_tensors(operator, sample)
        torch._dynamo.reset()
        support.forget_reports()
        try:
            expected = with_gradients(call, tensors)
        except Exception as error:  # of any kind: such a sample has no gradient
            yield "skipped", str(error)
            continue
        yield verdict(call, tensors, expected, differences=False)


def _forward(operator: Any, samples: int) -> Iterator[tuple[str, str]]:
    dtype = torch.float32 if torch.float32 in operator.dtypes else torch.int64
    for sample in islice(operator.sample_inputs("cpu", dtype), samples):
        torch._dynamo.reset()
        support.forget_reports()
        yield _result(operator.op, ((sample.input, *sample.args), sample.kwargs))


def _result(function: Any, given: Any) -> tuple[str, str]:
    """Compare the results of one call."""
    try:
        expected = _seeded(function, given)
    except Exception as error:  # of any kind
        return "skipped", str(error)

    def traced(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **keywords)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = _seeded(torch.compile(traced, backend=backend), given)
        except Exception as error:  # of any kind
            return "failed", f"{type(error).__name__}: {error}"
    try:
        torch.testing.assert_close(
            found, expected, rtol=_RTOL, atol=_ATOL, equal_nan=True, check_stride=False
        )
    except (AssertionError, TypeError) as error:
        if not _is_as_near(function, given, found, expected):
            return "wrong", str(error).replace("\n", " ")
    named = {str(w.message) for w in caught if "PyTorch runs" in str(w.message)}
    return ("fallback", "; ".join(sorted(named))) if named else ("right", "")


def _seeded(function: Any, given: Any) -> list[Any]:
    """Return the tensors and numbers that a call gives, of which inputs are copies."""
    arguments, keywords = copy.deepcopy(given)
    torch.manual_seed(3)
    with torch.no_grad():
        return pytree.tree_leaves(function(*arguments, **keywords))


def _is_as_near(function: Any, given: Any, found: Sequence[Any], eager: Sequence[Any]) -> bool:
    """Tell whether results are as near to those in float64 as eager PyTorch's are, or half so."""

    def wide(leaf: Any) -> Any:
        is_float = isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float32
        return leaf.double() if is_float else leaf

    try:
        exact = _seeded(function, pytree.tree_map(wide, given))
        triples = list(zip(exact, found, eager, strict=True))
        return all(_error(ours, true) <= 2 * _error(theirs, true) for true, ours, theirs in triples)
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return False


def _error(found: torch.Tensor, exact: torch.Tensor) -> float:
    if found.shape != exact.shape or not torch.equal(found.isfinite(), exact.isfinite()):
        return float("inf")
    apart = (found.double() - exact.double()).nan_to_num().abs()
    return float(apart.max()) if apart.numel() else 0.0
