# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks gradients of torch.compile(backend="xyntra") on PyTorch's own samples of its operators.

    python -m verify.torch_gradients --samples 1 [--only softmax] [--part 0/4] [--differences]

Each sample is compiled in float64. Its results and the gradients of a random weighted sum of them
are compared with eager PyTorch's; with --differences, finite differences of the compiled function
have to agree with its own gradients as well (torch.autograd.gradcheck). The exit status is 1 where
a sample is wrong or fails.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch.utils import _pytree as pytree

from xyntra.integrations.torch_compile import backend

_TOLERANCE = {"rtol": 1e-6, "atol": 1e-8}


def call_of_tensors(operator: Any, sample: Any) -> tuple[Any, list[torch.Tensor]]:
    """Return a sample as a function of its floating tensors, and these."""
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor) and v.requires_grad]

    def call(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        arguments, keywords = pytree.tree_unflatten(given, spec)
        found = pytree.tree_leaves(operator.op(*arguments, **keywords))
        return tuple(v for v in found if isinstance(v, torch.Tensor) and v.is_floating_point())

    return call, [leaves[place] for place in places]


def with_gradients(call: Any, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the results of a function, and the gradients of a weighted sum of them."""
    given = [t.detach().clone().requires_grad_() for t in tensors]
    torch.manual_seed(7)
    results = call(*given)
    total = sum((v * torch.arange(1, v.numel() + 1).view(v.shape).sin()).sum() for v in results)
    gradients = torch.autograd.grad(total, given, allow_unused=True)
    return [*(v.detach() for v in results), *(g for g in gradients if g is not None)]


def verdicts(operator: Any, samples: int, *, differences: bool) -> Iterator[tuple[str, str]]:
    """Yield what became of each sample, and why."""
    found = operator.sample_inputs("cpu", torch.float64, requires_grad=True)
    for sample in islice(found, samples):
        call, tensors = call_of_tensors(operator, sample)
        torch._dynamo.reset()
        try:
            expected = with_gradients(call, tensors)
        except Exception as error:
            yield "skipped", f"PyTorch itself fails: {error}"
            continue
        yield verdict(call, tensors, expected, differences=differences)


def verdict(
    call: Any,
    tensors: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    *,
    differences: bool,
) -> tuple[str, str]:
    """Return "right", "fallback" (in part by PyTorch), "wrong" or "failed", and why."""
    compiled = torch.compile(call, backend=backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = with_gradients(compiled, tensors)
        except Exception as error:
            return "failed", f"{type(error).__name__}: {error}"[:300]
    named = {str(w.message) for w in caught if "PyTorch runs" in str(w.message)}
    try:
        torch.testing.assert_close(found, expected, equal_nan=True, **_TOLERANCE)
        if differences and _differences_agree(call, tensors, raises=False):
            _differences_agree(compiled, tensors, raises=True)
    except (AssertionError, RuntimeError) as error:
        return "wrong", str(error).replace("\n", " ")[:300]
    return ("fallback", "; ".join(sorted(named))) if named else ("right", "")


def _differences_agree(call: Any, tensors: Sequence[torch.Tensor], *, raises: bool) -> bool:
    """Tell whether finite differences give a function's gradients.

    They do not give eager PyTorch's where a function is not differentiable, or takes matrices of a
    kind, such as symmetric ones, that a small change leaves.
    """
    given = tuple(t.detach().clone().requires_grad_() for t in tensors)
    agree: bool = torch.autograd.gradcheck(
        call, given, fast_mode=True, raise_exception=raises, nondet_tol=1e-12
    )
    return agree


def main() -> int:
    """Compare the operators that are asked for; return 1 if a sample is wrong or fails."""
    from torch.testing._internal.common_methods_invocations import op_db

    from xyntra.integrations.torch_compile import support

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1", help="N/M: every Mth operator from the Nth on")
    parser.add_argument("--differences", action="store_true", help="check finite differences")
    options = parser.parse_args()
    first, step = (int(each) for each in options.part.split("/"))
    counts: Counter[str] = Counter()
    for operator in op_db[first::step]:
        usable = operator.supports_autograd and torch.float64 in operator.dtypes
        if options.only not in operator.name or not usable:
            continue
        support.forget_reports()
        for what, why in verdicts(operator, options.samples, differences=options.differences):
            counts[what] += 1
            print(f"{what:8} {operator.name} {operator.variant_test_name} {why}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
