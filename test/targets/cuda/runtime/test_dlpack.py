# SPDX-License-Identifier: MIT OR Apache-2.0
"""Capsules of DLPack: read, made, and let go. No GPU is needed: nothing is read through them."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

from xyntra.targets.cuda.arrays.dlpack import CUDA, capsule_of, describe, is_row_major


class Owner:
    """Something that can be watched."""


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"]
)
def test_a_capsule_says_where_an_array_lies(dtype):
    array = np.zeros((3, 4, 5), dtype)
    found = describe(array.__dlpack__())
    assert found.address == array.ctypes.data
    assert (found.dtype, found.shape, found.is_contiguous) == (dtype, (3, 4, 5), True)


def test_views_are_told_from_contiguous_arrays():
    array = np.zeros((6, 8), np.float32)
    assert not describe(array[:, ::2].__dlpack__()).is_contiguous
    assert not describe(array.T.__dlpack__()).is_contiguous
    part = describe(array[2:].__dlpack__())
    assert part.is_contiguous
    assert part.address == array.ctypes.data + 2 * 8 * 4


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [((), (), True), ((0, 3), (7, 9), True), ((1, 4), (99, 1), True), ((4, 1), (1, 77), True),
     ((2, 3), (3, 1), True), ((2, 3), (4, 1), False), ((2, 3), (1, 2), False)],
)  # fmt: skip
def test_strides_of_single_elements_do_not_matter(shape, strides, expected):
    assert is_row_major(shape, strides) is expected


def test_what_is_made_can_be_read():
    memory = np.arange(24, dtype=np.float32)
    capsule = capsule_of(Owner(), memory.ctypes.data, 3, "bfloat16", 2, (4, 6))
    found = describe(capsule)
    assert found.device == (CUDA, 3)
    assert (found.address, found.dtype, found.shape) == (memory.ctypes.data, "bfloat16", (4, 6))


def test_a_capsule_that_nobody_takes_lets_the_owner_go():
    owner = Owner()
    watched = weakref.ref(owner)
    capsule = capsule_of(owner, 4096, 0, "float32", 4, (2,))
    del owner
    gc.collect()
    assert watched() is not None
    del capsule
    gc.collect()
    assert watched() is None


def test_whoever_takes_a_capsule_keeps_the_owner_until_it_calls_the_deleter():
    owner = Owner()
    watched = weakref.ref(owner)
    capsule = capsule_of(owner, 4096, 0, "float32", 4, (2,))
    of_capsule = (ctypes.py_object, ctypes.c_char_p)
    pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, *of_capsule)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, *of_capsule)(("PyCapsule_SetName", ctypes.pythonapi))
    pointer = pointer_in(capsule, b"dltensor")
    name = b"used_dltensor"
    rename(capsule, name)
    del owner, capsule
    gc.collect()
    assert watched() is not None
    deleter = ctypes.c_void_p.from_address(pointer + 56).value
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(pointer)
    gc.collect()
    assert watched() is None


def test_what_is_no_capsule_is_refused():
    with pytest.raises(ValueError, match="capsule"):
        describe(object())


def test_prototypes_that_others_set_do_not_matter(monkeypatch):
    foreign = ctypes.pythonapi.PyCapsule_GetPointer
    monkeypatch.setattr(foreign, "argtypes", (ctypes.py_object, ctypes.c_char_p))
    array = np.zeros(3, np.float32)
    assert describe(array.__dlpack__()).address == array.ctypes.data
