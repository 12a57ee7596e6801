# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares Xyntra with PyTorch on PyTorch's own samples of its operators.

    python -m verify.torch_operators --dtype float32 --samples 2 [--only softmax]

Each sample is a module that calls the operator. It is right, refused (with a typed error), or
wrong; the exit status is 1 where one is wrong.
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

import xyntra

_TOLERANCE = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float32: (1e-4, 2e-5),
    torch.float64: (1e-6, 1e-7),
}


class Call(torch.nn.Module):
    """A module that calls an operator on its inputs, between arguments that are held."""

    def __init__(self, operator: Any, spec: Any, leaves: Sequence[Any]) -> None:
        super().__init__()
        self.operator, self.spec = operator, spec
        self.held = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors: torch.Tensor) -> Any:
        """Call the operator."""
        leaves = list(self.held)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        arguments, keywords = pytree.tree_unflatten(leaves, self.spec)
        return self.operator(*arguments, **keywords)


def verdicts(operator: Any, dtype: torch.dtype, samples: int) -> Iterator[tuple[str, str]]:
    """Yield what became of each sample of an operator, and why."""
    for sample in islice(operator.sample_inputs("cpu", dtype), samples):
        arguments = ((sample.input, *sample.args), sample.kwargs)
        leaves, spec = pytree.tree_flatten(arguments)
        tensors = [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        module = Call(operator.op, spec, leaves).eval()
        yield verdict(module, tensors)


def verdict(module: torch.nn.Module, tensors: Sequence[torch.Tensor]) -> tuple[str, str]:
    """Return "right", "refused" or "wrong", and why."""
    try:
        expected = module(*(tensor.clone() for tensor in tensors))
    except Exception as error:
        return "skipped", f"PyTorch itself fails: {error}"
    try:
        found = xyntra.compile(module, inputs=tuple(tensors))(*tensors)
    except xyntra.XyntraError as error:
        defect = error.code in ("import-failed", "internal-error") or "defect" in str(error.hint)
        message = str(error) if defect else f"{error.code}: {error.message}"
        return ("failed" if defect else "refused"), message
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    pairs = zip(pytree.tree_leaves(expected), pytree.tree_leaves(found), strict=True)
    for a, b in pairs:
        rtol, atol = _TOLERANCE.get(getattr(a, "dtype", None), (0, 0))
        try:
            torch.testing.assert_close(
                b, a, rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )
        except (AssertionError, TypeError) as error:
            if not _is_no_worse(module, tensors, pytree.tree_leaves(found)):
                return "wrong", str(error).replace("\n", " ")[:300]
    return "right", ""


def _is_no_worse(
    module: torch.nn.Module, tensors: Sequence[torch.Tensor], found: Sequence[Any]
) -> bool:
    """Whether results of 16 bits are as near to those of float64 as PyTorch's own are.

    PyTorch rounds sums of 16 bits on the way, where Xyntra rounds once.
    """
    if not any(each.dtype in (torch.float16, torch.bfloat16) for each in tensors):
        return False
    try:
        exact = module(*(each.double() if each.is_floating_point() else each for each in tensors))
    except Exception:
        return False
    theirs = pytree.tree_leaves(module(*(tensor.clone() for tensor in tensors)))
    for reference, a, b in zip(pytree.tree_leaves(exact), theirs, found, strict=True):
        if not torch.is_floating_point(reference) or not torch.isfinite(reference).all():
            return False
        if (b.double() - reference).abs().max() > (a.double() - reference).abs().max():
            return False
    return True


def main() -> int:
    """Compare the operators that are asked for; return 1 if a sample is wrong."""
    from torch.testing._internal.common_methods_invocations import op_db

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1", help="N/M: every Mth operator from the Nth on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    dtype = getattr(torch, options.dtype)
    first, step = (int(each) for each in options.part.split("/"))
    counts: Counter[str] = Counter()
    for operator in op_db[first::step]:
        if options.only not in operator.name or dtype not in operator.dtypes:
            continue
        for what, why in verdicts(operator, dtype, options.samples):
            counts[what] += 1
            print(f"{what:8} {operator.name} {operator.variant_test_name} {why}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["wrong"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
