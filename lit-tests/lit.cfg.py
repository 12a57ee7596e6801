# SPDX-License-Identifier: MIT OR Apache-2.0
"""Configures lit: `lit lit-tests`.

`XYNTRA_FILECHECK=llvm` or `=python` chooses the FileCheck; LLVM's is taken where it is installed.
"""

# ruff: noqa: F821  (lit provides `config` and `lit_config`)

import os
import re
import shutil
import sys
from pathlib import Path

import lit.formats

_BIN = str(Path(sys.executable).parent)
_ROOT = Path(__file__).resolve().parent.parent


def _llvm_filecheck() -> str | None:
    """Return LLVM's FileCheck from the search path, else the newest with a version suffix."""
    plain = shutil.which("FileCheck")
    if plain:
        return plain
    versioned: dict[int, str] = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in Path(folder or ".").glob("FileCheck-*"):
            if re.fullmatch(r"FileCheck-\d+", path.name) and os.access(path, os.X_OK):
                versioned.setdefault(int(path.name.partition("-")[2]), str(path))
    return versioned[max(versioned)] if versioned else None


def _python_filecheck() -> str | None:
    return shutil.which("filecheck", path=_BIN) or shutil.which("filecheck")


def _filecheck() -> str:
    wanted = os.environ.get("XYNTRA_FILECHECK", "")
    finders = {"llvm": [_llvm_filecheck], "python": [_python_filecheck]}
    candidates = (find() for find in finders.get(wanted, [_llvm_filecheck, _python_filecheck]))
    found = next(filter(None, candidates), None)
    if not found:
        lit_config.fatal("no FileCheck found: pip install filecheck, or install LLVM's tools")
    return found


def _tool(name: str) -> str:
    found = shutil.which(name, path=_BIN) or shutil.which(name)
    if not found:
        lit_config.fatal(f"{name} is not installed: pip install -e {_ROOT}")
    return found


config.name = "xyntra"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(_ROOT / "build" / "lit-tests")
config.substitutions += [
    ("%xyntra-opt", _tool("xyntra-opt")),
    (r"\bFileCheck\b", _filecheck()),
]
for name in ("PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
