# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls compiled kernels: by a short way for arrays of numpy on the CPU, by another for others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xyntra.errors import InputError
from xyntra.kernels.arguments import arrays_in
from xyntra.kernels.specialization import Specialization

__all__ = ["caller", "returned"]


def returned(special: Specialization, values: Sequence[Any], out: Any = None) -> Any:
    """Run a kernel and return what its function returns, in arrays of the caller's library.

    Args:
        special: the kernel.
        values: of all parameters in order.
        out: an array, or a tuple of them, to write the results into.

    Raises:
        InputError: an array does not fit.
    """
    given = special.inputs(values)
    passed = [_passed(each) for each in given]
    wanted = None if out is None else [_passed(each) for each in _listed(out)]
    found = special.executable(*passed, out=wanted)
    if out is not None:
        return out
    results = found if isinstance(found, tuple) else (found,)
    arrays = [array for value in values for array in arrays_in(value)]
    return special.result([_as_given(each, arrays) for each in results])


def _listed(out: Any) -> Sequence[Any]:
    return out if isinstance(out, (tuple, list)) else [out]


def _passed(value: Any) -> Any:
    """Return an array as executables take it; tensors of PyTorch on the CPU share memory."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return np.asarray(value) if isinstance(value, np.generic) else value
    if value.requires_grad and torch.is_grad_enabled():
        raise InputError(
            "kernel-gradient",
            "a tensor of PyTorch requires a gradient, which kernels do not compute for it",
            hint="x.detach(), or with torch.no_grad():",
        )
    if value.is_cuda:
        return value.detach()
    from xyntra.frontends.torch.arrays import array_of

    return array_of(value)


def _as_given(result: Any, arrays: Sequence[Any]) -> Any:
    """Return a result as an array of the library of the first argument that is not numpy's."""
    others = [each for each in arrays if not isinstance(each, (np.ndarray, np.generic))]
    if not others:
        return result
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(others[0], torch.Tensor):
        if isinstance(result, np.ndarray):
            from xyntra.frontends.torch.arrays import tensor_of

            return tensor_of(result)
        return torch.from_dlpack(result)
    namespace = getattr(others[0], "__array_namespace__", None)
    return result if namespace is None else namespace().from_dlpack(result)


def caller(
    special: Specialization, values: Sequence[Any], defaults: Sequence[Any]
) -> Callable[..., Any] | None:
    """Return a function that runs a kernel on plain arrays of numpy, or None where there is none.

    It takes the arguments of a call, and returns None where they do not fit: another dtype or
    shape, another layout, another constant, or something from outside that has changed.

    Args:
        special: the kernel.
        values: of all parameters in a call that it is for.
        defaults: of the last parameters.
    """
    run = special.executable.plain_call()
    watched = [(each.home, each.name, each.value) for each in special.watched]
    if run is None or any(
        each.snapshot is not None or not isinstance(each.home, dict) for each in special.watched
    ):
        return None
    roles = [_role(value) for value in values]
    if special.constants or None in roles:
        return None
    count, behind, inputs, result = len(roles), tuple(defaults), special.inputs_of, special.result
    only_arrays = special.is_plain and set(roles) == {np.ndarray}

    def call(args: Sequence[Any]) -> Any:
        for home, name, value in watched:
            if home.get(name) is not value:
                return None
        if only_arrays:
            found = run(args)
            return None if found is None else found[0]
        missing = count - len(args)
        if missing:
            if not 0 < missing <= len(behind):
                return None
            args = (*args, *behind[len(behind) - missing :])
        arrays = []
        for value, role in zip(args, roles):  # noqa: B905  (of one length)
            if type(value) is not role:
                return None
            if role is np.ndarray:
                arrays.append(value)
        found = run(inputs(arrays, args))
        return None if found is None else result(found)

    return call


def _role(value: Any) -> type | None:
    """Return the type that an argument has in every short call; None where it is another."""
    kind = type(value)
    return kind if kind in (np.ndarray, float, int) else None
