# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operator tests that come with the onnx package."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
from harness import compare, run

from xyntra.errors import UnsupportedError, XyntraError

_PACKAGE = "onnx.backend.test.case.node"


@cache
def load_cases(module: str) -> list[Any]:
    """The cases that one module of onnx's generators makes, without their expanded variants.

    A generator refuses to make its cases twice, so they are kept.
    """
    name = f"{_PACKAGE}.{module}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = importlib.import_module(_PACKAGE)._NodeTestCases
        before = len(made)
        importlib.import_module(name)
    return [case for case in made[before:] if "_expanded" not in case.name]


def failures(module: str, expected: dict[str, str]) -> Iterator[str]:
    """One line for each case of `module` that does not do what it should.

    Cases with strings must be refused.

    Args:
        module: name of a module of onnx's generators.
        expected: cases that must be refused, by name, with the error's code.
    """
    names = set()
    for case in load_cases(module):
        names.add(case.name)
        found, wanted = _outcome(case), expected.get(case.name)
        if found != (wanted or ("dtype-unsupported" if _has_strings(case.model) else None)):
            yield f"{case.name}: {found or 'passed'}"
    yield from (f"{name}: no such case" for name in expected if name not in names)


def _has_strings(model: onnx.ModelProto) -> bool:
    values = (*model.graph.input, *model.graph.output)
    kinds = {onnx.TensorProto.DataType.Name(v.type.tensor_type.elem_type) for v in values}
    return "STRING" in kinds


def _outcome(case: Any) -> str | None:
    """None where the case passes, else an error's code or what differs."""
    inputs, wanted = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    given = {n: _array(v) for n, v in zip(names, inputs, strict=True) if not isinstance(v, list)}
    try:
        compare(_run(case.model, given), [_array(value) for value in wanted], case.rtol, case.atol)
    except XyntraError as error:
        return error.code
    except AssertionError as error:
        return " ".join(str(error).split())[:300] or "the dtypes or shapes differ"
    return None


def _array(value: Any) -> np.ndarray:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def _run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The cases pass everything as inputs; what decides shapes becomes constant on a second try."""
    try:
        return run(model, feeds)
    except UnsupportedError as error:
        if "must be a constant" not in error.message:
            raise
    constant = {n for n, array in feeds.items() if array.ndim < 2 and _may_decide_shapes(array)}
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    kept = [value for value in model.graph.input if value.name not in constant]
    del fixed.graph.input[:]
    fixed.graph.input.extend(kept)
    for name in constant:
        fixed.graph.initializer.append(onnx.numpy_helper.from_array(feeds[name], name))
    return run(fixed, {name: array for name, array in feeds.items() if name not in constant})


def _may_decide_shapes(array: np.ndarray) -> bool:
    return array.dtype.kind in "iub" or array.ndim == 0
