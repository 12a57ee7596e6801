# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR to object code for the processor of this process."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from xyntra.errors import CompileError
from xyntra.targets.cpu.device import host_device
from xyntra.targets.cpu.llvm_backend import llvm
from xyntra.targets.cpu.object_symbols import check_imports
from xyntra.targets.llvm_text import to_llvm22

# Part of every cache key: raise it when the calling convention of kernels changes.
ABI_VERSION = 1
DEFAULT_OPT_LEVEL = 2


def compile_object(llvm_ir: str, *, opt_level: int = DEFAULT_OPT_LEVEL) -> bytes:
    """Return position-independent object code for the host.

    Args:
        llvm_ir: a module as LLVM 24 prints it.
        opt_level: 0 to 3, as in `opt -O`.

    Raises:
        CompileError: LLVM does not read the module, or the code needs a symbol that no host has.
    """
    binding = llvm()
    machine = _target_machine(opt_level)
    try:
        module = binding.parse_assembly(to_llvm22(llvm_ir))
        module.triple = host_device().triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(
            "llvm-ir", "LLVM does not accept a kernel's IR", cause=str(error)
        ) from error
    _optimize(module, machine, opt_level)
    code: bytes = machine.emit_object(module)
    check_imports(code)
    return code


@lru_cache(maxsize=1)
def target_key() -> str:
    """Return what object code depends on besides its source, as one line for cache keys."""
    device = host_device()
    llvm_version = ".".join(str(part) for part in llvm().llvm_version_info)
    parts = [
        f"abi={ABI_VERSION}",
        f"triple={device.triple}",
        f"cpu={device.name}",
        f"features={device.features}",
        f"llvm={llvm_version}",
        f"torch-mlir={_version('torch-mlir')}",
        f"compiler={_compiler_fingerprint()}",
    ]
    return ";".join(parts)


@lru_cache(maxsize=4)
def _target_machine(opt_level: int) -> Any:
    device = host_device()
    target = llvm().Target.from_triple(device.triple)
    return target.create_target_machine(
        cpu=device.name,
        features=device.features,
        opt=opt_level,
        reloc="pic",
        codemodel="jitdefault",
    )


def _optimize(module: Any, machine: Any, opt_level: int) -> None:
    binding = llvm()
    tuning = binding.create_pipeline_tuning_options(speed_level=opt_level)
    tuning.loop_vectorization = opt_level > 1
    tuning.slp_vectorization = opt_level > 1
    tuning.loop_unrolling = opt_level > 1
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _compiler_fingerprint() -> str:
    """Return a digest of the sources that decide what code comes out."""
    import xyntra.passes
    import xyntra.targets

    digest = hashlib.sha256()
    for package in (xyntra.passes, xyntra.targets):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "source"
