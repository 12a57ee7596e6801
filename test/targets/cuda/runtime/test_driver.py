# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests errors of a driver that is missing, too old, or fails. No GPU is needed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from xyntra.errors import DeviceError, MissingExtraError
from xyntra.targets.cuda.driver.driver import LOST, checked, driver, failure
from xyntra.targets.cuda.driver.gpu import Gpu

PLACE = "kernel 'row_1' (Softmax:y)"


def bindings(status=0, version=13000):
    """NVIDIA's bindings on a machine whose driver answers as told."""

    def result(number):
        if number > 999:
            raise ValueError(f"{number} is not a valid CUresult")
        return number

    return SimpleNamespace(
        cuInit=lambda _flags: (status,),
        cuDriverGetVersion=lambda: (0, version),
        cuGetErrorName=lambda number: (0, f"CUDA_ERROR_{number}".encode()),
        cuGetErrorString=lambda _number: (0, b"what the driver says"),
        CUresult=result,
    )


@pytest.fixture
def machine(monkeypatch):
    """Make the driver of this process one that answers as told."""

    def install(found):
        package = ModuleType("cuda.bindings")
        package.driver = found
        monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
        monkeypatch.setitem(sys.modules, "cuda.bindings", package)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", found)
        driver.cache_clear()

    yield install
    driver.cache_clear()


@pytest.mark.parametrize(
    ("found", "code", "cause"),
    [
        (bindings(version=11080), "driver-old", "it supports CUDA 11.8"),
        (bindings(status=803), "driver-old", "CUDA_ERROR_803 what the driver says"),
        (bindings(status=100), "no-gpu", "CUDA_ERROR_100 what the driver says"),
    ],
)
def test_a_machine_that_cannot_run_models_is_told_so(machine, found, code, cause):
    machine(found)
    with pytest.raises(DeviceError) as caught:
        driver()
    assert caught.value.code == code
    assert caught.value.cause == cause


def test_a_driver_that_is_new_enough_is_taken(machine):
    machine(bindings(version=12000))
    assert driver().cuDriverGetVersion() == (0, 12000)


def test_bindings_that_are_missing_are_named(machine, monkeypatch):
    machine(bindings())
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(MissingExtraError) as caught:
        driver()
    assert "xyntra[cuda]" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (2, "gpu-memory", None),
        (209, "gpu-architecture", "compile the model for this GPU"),
        (218, "gpu-architecture", "compile the model for this GPU"),
        (222, "driver-old", "update the driver"),
        (700, "gpu-error", LOST),
        (719, "gpu-error", LOST),
        (1, "gpu-error", None),
        (54321, "gpu-error", None),
    ],
)
def test_a_status_becomes_an_error_that_names_the_kernel(machine, status, code, hint):
    machine(bindings())
    error = failure(status, "launching a kernel", PLACE)
    assert (error.code, error.place) == (code, PLACE)
    assert (error.hint or "").startswith(hint or "")
    assert bool(error.hint) is bool(hint)
    assert str(status) in error.cause


def test_a_call_that_went_well_returns_its_values(machine):
    machine(bindings())
    assert checked((0,), "trying") is None
    assert checked((0, 7), "trying") == 7
    assert checked((0, 7, 8), "trying") == (7, 8)
    with pytest.raises(DeviceError, match="trying failed"):
        checked((1, 7), "trying")


def test_calls_on_a_lost_gpu_name_what_lost_it(machine):
    machine(bindings())
    gpu = object.__new__(Gpu)
    gpu._lost = None
    gpu.note(failure(2, "allocating", PLACE))
    gpu.check()
    gpu.note(failure(700, "running the model", PLACE))
    gpu.note(failure(719, "running the model", "another kernel"))
    with pytest.raises(DeviceError) as caught:
        gpu.check()
    assert (caught.value.code, caught.value.place) == ("gpu-lost", PLACE)
    assert "running the model failed" in caught.value.cause
    assert "700" in caught.value.cause
