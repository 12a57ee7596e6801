# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with arrays that do not fit are refused, and change nothing."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_models import chain, make_model, mlp

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable

X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
Y = np.array([[10, 20, -30], [1, 2, 3]], np.float32)
Z = np.maximum(X + Y, 0) * 2


@pytest.fixture(scope="module")
def summed(settings: dict[str, object]) -> Executable:
    return xyntra.compile(chain(), config=settings)


class Broken:
    """Claims to be an array, and is none."""

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the tensor is on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


BAD_ARRAYS: dict[str, tuple[Any, str, str]] = {
    "None": (None, "input-type", "NoneType"),
    "a list of another shape": ([[1.0, 2.0, 3.0]], "input-shape", "(1, 3)"),
    "a ragged list": ([[1.0, 2.0, 3.0], [1.0]], "input-type", "list"),
    "a list of text": ([["1", "2", "3"]] * 2, "input-type", "list"),
    "a list with None": ([[1.0, 2.0, None]] * 2, "input-type", "list"),
    "a list of complex numbers": ([[1j, 2.0, 3.0]] * 2, "input-dtype", "complex"),
    "a list with what float32 rounds": ([[16777217, 2, 3]] * 2, "input-dtype", "16777217"),
    "a list with what is infinite": ([[1e39, 2.0, 3.0]] * 2, "input-dtype", "1e+39"),
    "a list with a huge number": ([[10**400, 2, 3]] * 2, "input-type", "list"),
    "text": ("abc", "input-type", "str"),
    "bytes": (b"abc", "input-type", "bytes"),
    "a number": (1.0, "input-shape", "()"),
    "a dict": ({}, "input-type", "dict"),
    "of another device": (Broken(), "input-type", "another device"),
    "one row less": (X[:1], "input-shape", "(1, 3)"),
    "one dimension less": (X[0], "input-shape", "(3,)"),
    "one dimension more": (X[None], "input-shape", "(1, 2, 3)"),
    "transposed": (X.T, "input-shape", "(3, 2)"),
    "empty": (X[:0], "input-shape", "(0, 3)"),
    "double": (X.astype(float), "input-dtype", "float64"),
    "half": (X.astype(np.float16), "input-dtype", "float16"),
    "bfloat16": (X.astype(ml_dtypes.bfloat16), "input-dtype", "bfloat16"),
    "integers of the same size": (X.view(np.int32), "input-dtype", "int32"),
    "complex": (X.astype(complex), "input-dtype", "complex128"),
    "the other byte order": (X.astype(X.dtype.newbyteorder()), "input-byte-order", "byte order"),
    "objects": (X.astype(object), "input-dtype", "object"),
    "strings": (X.astype(str), "input-dtype", "<U"),
    "records": (X.view([("a", np.float32)]), "input-dtype", "'a'"),
    "dates": (X.astype("M8[s]"), "input-dtype", "datetime64"),
}  # fmt: skip


@pytest.mark.parametrize(("array", "code", "says"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_an_array_that_does_not_fit_is_refused(
    summed: Executable, array: Any, code: str, says: str
) -> None:
    for call in (lambda: summed(X, array), lambda: summed.run({"x": X, "y": array})):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.code == code
        assert "'y'" in str(caught.value)
        assert says in str(caught.value)
        np.testing.assert_array_equal(summed(X, Y), Z)


@pytest.mark.parametrize("arrays", [(), (X,), (X, Y, Y)], ids=["none", "one", "three"])
def test_a_wrong_number_of_arrays_is_refused(summed: Executable, arrays: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="x, y") as caught:
        summed(*arrays)
    assert caught.value.code == "input-count"
    np.testing.assert_array_equal(summed(X, Y), Z)


@pytest.mark.parametrize(
    ("arrays", "code", "says"),
    [
        ({"x": X}, "missing-input", "'y'"),
        ({}, "missing-input", "'x'"),
        ({"x": X, "y": Y, "Z": Y}, "unknown-input", "'Z'"),
        ({"x": X, 1: Y}, "unknown-input", "'1'"),
    ],
    ids=["one missing", "all missing", "one more", "a number"],
)
def test_wrong_names_are_refused(summed: Executable, arrays: Any, code: str, says: str) -> None:
    for call in (summed.run, summed.time_kernels, summed, summed.submit):
        with pytest.raises(InputError) as caught:
            call(arrays)
        assert caught.value.code == code
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("given", "named", "code", "says"),
    [
        ((X,), {"x": X}, "input-twice", "'x' is given twice: at position 0, and by name"),
        (({"x": X},), {"x": X, "y": Y}, "input-twice", "in the mapping, and as an argument"),
        ((X,), {"yy": Y}, "unknown-input", "did you mean 'y'?"),
        ((), {"y": Y}, "missing-input", "'x'"),
        ((X, Y, Y), {"x": X}, "input-count", "x, y"),
        (({"x": X, "y": Y}, Y), {}, "input-type", "dict"),
    ],
    ids=["and by name", "and in a mapping", "unknown", "missing", "too many", "a mapping first"],
)
def test_wrong_names_of_arguments_are_refused(
    summed: Executable, given: Any, named: dict[str, Any], code: str, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        summed(*given, **named)
    assert caught.value.code == code
    assert says in str(caught.value)
    with pytest.raises(InputError):
        summed.submit(*given, **named).result(60)


@pytest.mark.parametrize("arrays", [None, 5, [X, Y], "xy"])
def test_inputs_by_name_are_a_mapping(summed: Executable, arrays: Any) -> None:
    with pytest.raises(InputError) as caught:
        summed.run(arrays)
    assert caught.value.code == "input-type"


def _read_only() -> np.ndarray:
    array = np.zeros_like(Z)
    array.flags.writeable = False
    return array


BAD_OUTPUTS: dict[str, tuple[Callable[[], Any], str]] = {
    "none": (list, "output-count"),
    "two": (lambda: [np.zeros_like(Z), np.zeros_like(Z)], "output-count"),
    "an array": (lambda: np.zeros_like(Z), "output-type"),
    "a number": (lambda: 5, "output-type"),
    "a list in it": (lambda: [[0.0]], "output-type"),
    "of another shape": (lambda: [np.zeros((3, 2), np.float32)], "output-shape"),
    "of another dtype": (lambda: [np.zeros_like(Z, dtype=np.float64)], "output-shape"),
    "read-only": (lambda: [_read_only()], "output-layout"),
    "fortran": (lambda: [np.asfortranarray(np.zeros_like(Z))], "output-layout"),
    "strided": (lambda: [np.zeros((2, 6), np.float32)[:, ::2]], "output-layout"),
    "broadcast": (lambda: [np.broadcast_to(np.float32(0), Z.shape)], "output-layout"),
    "an input": (lambda: [X], "output-overlap"),
    "part of an input": (lambda: [X.reshape(-1)[:6].reshape(2, 3)], "output-overlap"),
}


@pytest.mark.parametrize(("make", "code"), BAD_OUTPUTS.values(), ids=BAD_OUTPUTS)
def test_an_output_that_does_not_fit_is_refused(
    summed: Executable, make: Callable[[], Any], code: str
) -> None:
    out, before = make(), X.copy()
    with pytest.raises(InputError) as caught:
        summed(X, Y, out=out)
    assert caught.value.code == code
    np.testing.assert_array_equal(X, before)
    for array in out if isinstance(out, list) and code != "output-overlap" else []:
        assert not np.any(array)


def test_outputs_that_share_memory_are_refused(settings: dict[str, object]) -> None:
    model = make_model([("Neg", ["x"], ["a"]), ("Abs", ["x"], ["b"])], {"x": [4]}, ["a", "b"])
    compiled = xyntra.compile(model, config=settings)
    memory = np.zeros(6, np.float32)
    with pytest.raises(InputError) as caught:
        compiled(X[0].repeat(2)[:4], out=[memory[:4], memory[2:]])
    assert caught.value.code == "output-overlap"
    a, b = compiled(X[0].repeat(2)[:4], out=[np.empty(4, np.float32), np.empty(4, np.float32)])
    np.testing.assert_array_equal(np.abs(a), b)


def test_levels_that_are_not_kept_are_refused(summed: Executable) -> None:
    with pytest.raises(InputError) as caught:
        summed.kernels[0].source("llvm")
    assert caught.value.code == "unknown-level"


def test_threads_share_an_executable(settings: dict[str, object]) -> None:
    compiled = xyntra.compile(mlp(), config=settings)
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal((4, 32)).astype(np.float32) for _ in range(4)]
    wanted = [compiled(x) for x in inputs]
    start = threading.Barrier(len(inputs))
    failed: list[int] = []

    def call(index: int) -> None:
        start.wait()
        for _ in range(300):
            if compiled(inputs[index]).tobytes() != wanted[index].tobytes():
                failed.append(index)

    threads = [threading.Thread(target=call, args=[i]) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_executable_works_after_a_fork(summed: Executable) -> None:
    summed(X, Y)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(summed(X, Y)))
    child.start()
    assert receiver.poll(20)
    np.testing.assert_array_equal(receiver.recv(), Z)
    child.join(20)
    assert child.exitcode == 0
    np.testing.assert_array_equal(summed(X, Y), Z)
