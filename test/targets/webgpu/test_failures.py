# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that what is missing, too small, damaged or lost is an error that says what to do."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from harness import node_model

import xyntra
from xyntra.errors import (
    CompileError,
    DeviceError,
    MissingExtraError,
    UnsupportedError,
    XyntraError,
)
from xyntra.executable import Executable
from xyntra.targets.webgpu.adapter import named_errors, open_device
from xyntra.targets.webgpu.backend import BACKEND
from xyntra.targets.webgpu.loaded_shaders import LoadedShaders
from xyntra.targets.webgpu.naga import package
from xyntra.targets.webgpu.program import check_device


class GPUOutOfMemoryError(Exception):
    """Named as wgpu's."""


class GPUValidationError(Exception):
    """Named as wgpu's."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GPUOutOfMemoryError("buffer"), "webgpu-memory"),
        (GPUValidationError("shader"), "webgpu-validation"),
        (RuntimeError("device is lost"), "webgpu-failed"),
    ],
)
def test_errors_of_wgpu_have_codes_and_places(error: Exception, code: str) -> None:
    place = "kernel 'k' (MatMul:a)"
    with (
        pytest.raises(DeviceError, match="while making a pipeline") as caught,
        named_errors("making a pipeline", place),
    ):
        raise error
    assert (caught.value.code, caught.value.place) == (code, place)
    assert caught.value.hint


@pytest.fixture
def executable(has_gpu: None, in_process: None) -> Executable:
    x = np.zeros((64, 64), np.float32)
    return xyntra.compile(node_model("Add", {"x": x, "y": x}), target="webgpu")


@pytest.mark.parametrize(
    ("architecture", "lack"),
    [("webgpu-subgroups", "subgroup"), ("webgpu-discrete", "32,768 bytes")],
)
def test_code_for_other_adapters_is_refused(architecture: str, lack: str) -> None:
    target = BACKEND.machine_key(architecture)
    artifact = SimpleNamespace(target=target)
    opened = SimpleNamespace(name="small", workgroup_bytes=16384, features=frozenset())
    with pytest.raises(UnsupportedError, match="webgpu-feature") as caught:
        check_device(artifact, opened)  # type: ignore[arg-type]
    assert lack in str(caught.value.cause)


def test_limits_that_are_too_small_are_named(executable: Executable) -> None:
    opened = open_device()
    for small, code in (
        (replace(opened, binding_bytes=4096), "webgpu-binding"),
        (replace(opened, bindings=2), "webgpu-bindings"),
    ):
        with pytest.raises(UnsupportedError) as caught:
            LoadedShaders(executable.artifact, {}, small)
        assert caught.value.code == code
        assert opened.name in str(caught.value)


def test_a_call_after_a_failure_opens_the_gpu_again(
    executable: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.ones((64, 64), np.float32)
    call = LoadedShaders.call

    def fail(*_: object) -> None:
        raise DeviceError("webgpu-failed", "the GPU failed while running the model")

    monkeypatch.setattr(LoadedShaders, "call", fail)
    with pytest.raises(DeviceError):
        executable(x, x)
    monkeypatch.setattr(LoadedShaders, "call", call)
    np.testing.assert_array_equal(executable(x, x), 2 * x)


@pytest.mark.usefixtures("has_gpu")
def test_an_adapter_that_is_not_there() -> None:
    with pytest.raises(DeviceError, match="no GPU for the target") as caught:
        open_device(999)
    assert caught.value.code == "webgpu-adapter"


@pytest.mark.parametrize("code", [b"", b"{}\n", b'{"launches": [{}], "scratch": []}\n', b"\xff"])
def test_damaged_code_is_refused(executable: Executable, code: bytes) -> None:
    damaged = replace(executable.artifact, objects=dict.fromkeys(executable.artifact.objects, code))
    with pytest.raises(CompileError, match="is damaged"):
        LoadedShaders(damaged, {}, open_device())


def _archive(folder: str, content: bytes) -> None:
    with tarfile.open(Path(folder) / "naga-wasm.tgz", "w:gz") as packed:
        member = tarfile.TarInfo("package/dist/wasm/naga_bg.wasm")
        member.size = len(content)
        packed.addfile(member, BytesIO(content))


def _fails(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(arguments, 1, "", "npm error network")


def _other(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    _archive(folder, b"something else")
    return subprocess.CompletedProcess(arguments, 0, "", "")


@pytest.mark.parametrize(("npm", "cause"), [(_fails, "npm error network"), (_other, "SHA-256")])
def test_naga_that_cannot_be_fetched(
    npm: Callable[..., subprocess.CompletedProcess[str]],
    cause: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(package, "user_cache_dir", lambda: tmp_path)
    monkeypatch.setattr(package, "_npm", lambda: npm)
    with pytest.raises(XyntraError, match="could not be fetched") as caught:
        package.naga_module()
    assert caught.value.code == "naga-missing"
    assert cause in str(caught.value)
    assert not list(tmp_path.rglob("*.wasm"))


def test_without_npm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(package, "user_cache_dir", lambda: tmp_path)
    monkeypatch.setattr(package.shutil, "which", lambda _: None)
    monkeypatch.setattr(package, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="npm"):
        package.naga_module()
