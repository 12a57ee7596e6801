# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that outputs are no further from those of f64 than PyTorch's own are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["wrong_outputs"]

_AS_FAR = 4.0
"""How many times further from f64 than PyTorch's result, in f64's largest element."""
_ROUNDING = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-20}
_CHOOSING = ("topk", "sort", "argsort", "argmax", "argmin", "max", "min", "kthvalue", "median")
"""Operations of PyTorch that return places."""


def wrong_outputs(
    module: torch.nn.Module,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    eager: Sequence[Tensor],
) -> list[str]:
    """Return what is wrong with each output that is; `module` is in its own dtype afterwards.

    Numbers are compared with the module in f64. Places (of a maximum, say) have to be those of
    PyTorch, or of equal elements of what they are places in. What is computed before a place is
    chosen is rounded, so that elements of it are equal if they are in f64 but for such roundings.
    """
    chosen = _Chosen()
    with chosen:
        expected = _in_double(module, inputs)
    rounding = max((_ROUNDING.get(x.dtype, 0.0) for x in inputs), default=0.0)
    known = [_Source(each, 1e-5, 1e-6) for each in [*inputs, *expected, *eager]]
    sources = [*known, *(_Source.rounded(each, rounding) for each in chosen.tensors)]
    found = []
    for index, (own, theirs, exact) in enumerate(zip(outputs, eager, expected, strict=True)):
        if own.shape != theirs.shape or own.is_floating_point() != theirs.is_floating_point():
            problem = f"{own.dtype} {tuple(own.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
        elif own.dtype.is_floating_point:  # ONNX has sums of f16 in f32, where PyTorch exports them
            problem = _distance(own, theirs, exact)
        else:
            problem = _places(own, theirs, sources)
        if problem:
            found.append(f"output {index}: {problem}")
    return found


@dataclass(frozen=True)
class _Source:
    """What places may be places in, and how far apart elements of it are equal."""

    tensor: Tensor
    relative: float
    absolute: float

    @classmethod
    def rounded(cls, tensor: Tensor, rounding: float) -> _Source:
        """Return what is computed in steps that round, as far as outputs may be from f64."""
        finite = torch.nan_to_num(tensor.double(), nan=0.0, posinf=0.0, neginf=0.0)
        largest = float(finite.abs().max()) if tensor.numel() else 0.0
        return cls(tensor, 1e-5, _AS_FAR * rounding * largest)


@dataclass
class _Chosen(TorchDispatchMode):
    """Keeps the tensors that a module finds places in."""

    tensors: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation, and keep what it chooses from."""
        if str(func).split(".")[1] in _CHOOSING:
            self.tensors.append(args[0])
        return func(*args, **(kwargs or {}))


class _Widened(TorchDispatchMode):
    """Computes in f64 what a module says should be f32 or shorter.

    Otherwise the angles of an embedding of time, which modules compute in f32, would be rounded in
    the reference as they are in PyTorch's result, and nowhere else.
    """

    def __enter__(self) -> _Widened:
        """Let numbers and tensors of integers make f64, too."""
        self._before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        """Restore what was the default."""
        super().__exit__(*failure)
        torch.set_default_dtype(self._before)

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation that is told no short type."""
        told = dict(kwargs or {})
        if told.get("dtype") in _ROUNDING:
            told["dtype"] = torch.float64
        return func(*args, **told)


def _in_double(module: torch.nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the outputs of `module` with all arithmetic in f64."""
    dtypes = {name: each.dtype for name, each in module.named_parameters()}
    buffers = {name: each.dtype for name, each in module.named_buffers()}
    wide = [each.double() if each.is_floating_point() else each for each in inputs]
    wider = module.double()
    with _Widened():
        found = wider(*wide)
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


def _places(own: Tensor, theirs: Tensor, sources: Iterable[_Source]) -> str | None:
    if torch.equal(own, theirs):
        return None
    if own.dtype == torch.int64:
        for source in sources:
            for dim in range(source.tensor.ndim):
                if _choose_equals(source, dim, own, theirs):
                    return None
    return f"{int((own != theirs).sum())} of {own.numel()} elements differ"


def _choose_equals(source: _Source, dim: int, own: Tensor, theirs: Tensor) -> bool:
    """Tell whether two choices along a dimension find equal elements."""
    values = source.tensor
    if own.ndim == values.ndim - 1:
        own, theirs = own.unsqueeze(dim), theirs.unsqueeze(dim)
    sizes = zip(own.shape, values.shape, strict=False)
    if own.ndim != values.ndim or any(a != b for d, (a, b) in enumerate(sizes) if d != dim):
        return False
    size = values.shape[dim]
    if min(int(own.min()), int(theirs.min())) < 0 or max(int(own.max()), int(theirs.max())) >= size:
        return False
    if _repeats(own, dim) and not _repeats(theirs, dim):
        return False
    first, second = values.gather(dim, own).double(), values.gather(dim, theirs).double()
    return bool(torch.allclose(first, second, rtol=source.relative, atol=source.absolute))


def _repeats(places: Tensor, dim: int) -> bool:
    """Tell whether a place is chosen twice."""
    return bool((places.sort(dim).values.diff(dim=dim) == 0).any())
