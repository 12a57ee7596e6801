# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code from PTX by ptxas, and where it is kept. No GPU is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from xyntra.cache import DiskCache
from xyntra.targets.cuda.code import cubins
from xyntra.targets.cuda.code.cubins import assembled, assembler, machine_codes
from xyntra.targets.cuda.driver import small_copies

PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry nothing() { ret; }
"""
ELF = b"\x7fELF"


@pytest.fixture
def tool():
    found = assembler()
    if found is None:
        pytest.skip("ptxas is not installed")
    return found


@pytest.fixture
def cache(monkeypatch, tmp_path):
    found = DiskCache(tmp_path, 1 << 20)
    monkeypatch.setattr(cubins, "_cache", lambda: found)
    return found


def test_machine_code_is_made_once(tool, cache, monkeypatch):
    ptx = {"a": PTX, "b": PTX.replace("nothing", "other")}
    first = machine_codes(ptx, "sm_90a")
    assert first.keys() == ptx.keys()
    assert all(code.startswith(ELF) for code in first.values())
    assert first["a"] != first["b"]
    monkeypatch.setattr(cubins, "assembled", lambda *_: pytest.fail("assembled again"))
    assert machine_codes(ptx, "sm_90a") == first


def test_code_that_ptxas_refuses_is_left_to_the_driver(tool, cache):
    codes = machine_codes({"good": PTX, "bad": PTX.replace("ret", "return")}, "sm_90a")
    assert codes.keys() == {"good"}
    assert assembled(tool, PTX, "sm_1") is None


def test_code_for_another_architecture_is_another(tool, cache):
    ptx = PTX.replace("sm_90a", "sm_80")
    assert machine_codes({"a": ptx}, "sm_80") != machine_codes({"a": ptx}, "sm_90")


def test_nothing_is_made_without_ptxas_or_cache(monkeypatch, cache):
    monkeypatch.setattr(cubins, "assembler", lambda: None)
    assert machine_codes({"a": PTX}, "sm_90a") == {}
    monkeypatch.setattr(cubins, "assembler", lambda: Path("ptxas"))
    monkeypatch.setattr(cubins, "_cache", lambda: None)
    assert machine_codes({"a": PTX}, "sm_90a") == {}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_the_kernel_that_copies_is_code_for_every_gpu(tool, architecture):
    assert assembled(tool, small_copies.PTX, architecture)
