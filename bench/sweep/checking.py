# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether outputs are right: no further from those of f64 than PyTorch's own are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["wrong_outputs"]

_AS_FAR = 4.0
"""How many times further from f64 than PyTorch's result, in f64's largest element."""
_ROUNDING = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-20}


def wrong_outputs(
    module: torch.nn.Module,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    eager: Sequence[Tensor],
) -> list[str]:
    """Return what is wrong with each output that is; `module` is in its own dtype afterwards.

    Numbers are compared with the module in f64. Places (of a maximum, say) have to be those of
    PyTorch, or of equal elements.
    """
    expected = _in_double(module, inputs)
    found = []
    for index, (own, theirs, exact) in enumerate(zip(outputs, eager, expected, strict=True)):
        if own.shape != theirs.shape or own.is_floating_point() != theirs.is_floating_point():
            problem = f"{own.dtype} {tuple(own.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
        elif own.dtype.is_floating_point:  # ONNX has sums of f16 in f32, where PyTorch exports them
            problem = _distance(own, theirs, exact)
        else:
            problem = _places(own, theirs, [*inputs, *expected, *eager])
        if problem:
            found.append(f"output {index}: {problem}")
    return found


def _in_double(module: torch.nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    dtypes = {name: each.dtype for name, each in module.named_parameters()}
    buffers = {name: each.dtype for name, each in module.named_buffers()}
    wide = [each.double() if each.is_floating_point() else each for each in inputs]
    found = module.double()(*wide)
    for each, kinds in ((module.named_parameters(), dtypes), (module.named_buffers(), buffers)):
        for name, tensor in each:
            tensor.data = tensor.data.to(kinds[name])
    return (found,) if isinstance(found, Tensor) else tuple(found)


def _distance(own: Tensor, theirs: Tensor, exact: Tensor) -> str | None:
    if not own.numel():
        return None
    exact = exact.double()
    strange = torch.isfinite(own) != torch.isfinite(theirs)
    if bool(strange.any()):
        return f"{int(strange.sum())} elements are finite in one result alone"
    scale = float(exact.abs().max())
    far = float(_error(own, exact).max())
    allowed = _AS_FAR * (float(_error(theirs, exact).max()) + _ROUNDING[theirs.dtype] * scale)
    return f"{far:.3g} from f64, {allowed:.3g} allowed" if far > allowed else None


def _error(found: Tensor, exact: Tensor) -> Tensor:
    return torch.nan_to_num((found.double() - exact).abs(), nan=0.0, posinf=0.0)


def _places(own: Tensor, theirs: Tensor, sources: Iterable[Any]) -> str | None:
    if torch.equal(own, theirs):
        return None
    if own.dtype == torch.int64:
        for source in sources:
            for dim in range(source.ndim):
                if _choose_equals(source, dim, own, theirs):
                    return None
    return f"{int((own != theirs).sum())} of {own.numel()} elements differ"


def _choose_equals(source: Tensor, dim: int, own: Tensor, theirs: Tensor) -> bool:
    """Tell whether two choices along a dimension find equal elements."""
    if own.ndim == source.ndim - 1:
        own, theirs = own.unsqueeze(dim), theirs.unsqueeze(dim)
    sizes = zip(own.shape, source.shape, strict=False)
    if own.ndim != source.ndim or any(a != b for d, (a, b) in enumerate(sizes) if d != dim):
        return False
    size = source.shape[dim]
    if min(int(own.min()), int(theirs.min())) < 0 or max(int(own.max()), int(theirs.max())) >= size:
        return False
    first, second = source.gather(dim, own).double(), source.gather(dim, theirs).double()
    return bool(torch.allclose(first, second, rtol=1e-5, atol=1e-6))
