# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR to object code for the processor of this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

from xyntra.errors import CompileError
from xyntra.spans import span
from xyntra.targets.compiler_key import compiler_key
from xyntra.targets.cpu.device import host_device
from xyntra.targets.cpu.object_symbols import check_imports
from xyntra.targets.llvm_backend import llvm
from xyntra.targets.llvm_text import to_llvm22

# Part of every cache key: raise it when the calling convention of kernels changes.
ABI_VERSION = 2
DEFAULT_OPT_LEVEL = 2
_ACCESS = re.compile(
    r"^( *(?:%[\w.]+ = load|store) (?!atomic |.*!nontemporal).*), align \d+", re.MULTILINE
)
_FEW_LOOPS, _FEW_LINES = 8, 600
"""Kernels of more loops, and more lines of IR, take twice as long to compile where LLVM unrolls
loops, up to ten times as much code. What that helps are the loops of small kernels: norms of groups
of four channels, in scalar loops, take 0.4 to 0.9 of the time, tiles of products 0.9 to 1."""


def compile_object(
    llvm_ir: str,
    *,
    opt_level: int = DEFAULT_OPT_LEVEL,
    vectorize: bool = True,
    is_tiled: bool = False,
    reduce_strength: bool = True,
) -> bytes:
    """Return position-independent object code for the host.

    Args:
        llvm_ir: a module as LLVM 24 prints it.
        opt_level: 0 to 3, as in `opt -O`; 3 runs all of it on any code.
        vectorize: whether there are loops that LLVM should vectorise or unroll.
        is_tiled: whether the work is in tiles of registers; asked where there are no such loops.
        reduce_strength: whether LLVM should look for cheaper ways to step through addresses. With
            the many accesses of attention's blocks its search takes four times as long as all that
            generates code besides, and the code is as fast without.

    Raises:
        CompileError: LLVM does not read the module, or the code needs a symbol that no host has.
    """
    binding = llvm()
    machine = _target_machine(opt_level)
    try:
        with span("LLVM: read", "pass"):
            module = binding.parse_assembly(_unaligned(to_llvm22(llvm_ir)))
        module.triple = host_device().triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(
            "llvm-ir", "LLVM does not accept a kernel's IR", cause=str(error)
        ) from error
    with span("LLVM: optimise", "pass"):
        if vectorize or opt_level != DEFAULT_OPT_LEVEL:
            _optimize(module, machine, opt_level, unroll=_unrolled(llvm_ir, opt_level))
        elif is_tiled:
            _straighten(module, machine)
        else:
            _simplify(module, machine)
    with (
        span("LLVM: emit code", "pass"),
        nullcontext() if reduce_strength else _without_strength_reduction(),
    ):
        code: bytes = machine.emit_object(module)
    check_imports(code)
    return code


@contextmanager
def _without_strength_reduction() -> Iterator[None]:
    """Set an option of LLVM's that there is for the whole process alone, and set it back."""
    llvm().set_option("xyntra", "-disable-lsr=true")
    try:
        yield
    finally:
        llvm().set_option("xyntra", "-disable-lsr=false")


def _unaligned(text: str) -> str:
    """Promise nothing about addresses: weights are read where they lie in the model's file.

    On every processor that we generate code for, an unaligned access to aligned memory costs
    nothing.
    """
    return _ACCESS.sub(r"\1, align 1", text)


@lru_cache(maxsize=1)
def host_key() -> str:
    """Return, as one line, what a machine must have to run object code made here."""
    device = host_device()
    return f"abi={ABI_VERSION};triple={device.triple};cpu={device.name};features={device.features}"


@lru_cache(maxsize=1)
def target_key() -> str:
    """Return, as one line for cache keys, `host_key` and `compiler_key`."""
    return f"{host_key()};{compiler_key()}"


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


def _unrolled(llvm_ir: str, opt_level: int) -> bool:
    """Whether LLVM should unroll loops, of which there is one for each integer that is a phi."""
    few = llvm_ir.count("= phi i64") <= _FEW_LOOPS or llvm_ir.count("\n") <= _FEW_LINES
    return opt_level > DEFAULT_OPT_LEVEL or (opt_level == DEFAULT_OPT_LEVEL and few)


def _optimize(module: Any, machine: Any, opt_level: int, *, unroll: bool) -> None:
    binding = llvm()
    tuning = binding.create_pipeline_tuning_options(speed_level=opt_level)
    tuning.loop_vectorization = opt_level > 1
    tuning.slp_vectorization = opt_level > 1
    tuning.loop_unrolling = unroll
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _simplify(module: Any, machine: Any) -> None:
    """Run what simplifies each function by itself, which is about a third of `_optimize`.

    Code that is written in vectors gains nothing from the rest, which vectorises, unrolls and
    cleans up after both; and what that unrolls takes longer to generate code for.
    """
    binding = llvm()
    tuning = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, tuning)
    passes = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _straighten(module: Any, machine: Any) -> None:
    """Turn loops so that they test at their ends, and combine what addresses are computed by.

    That is a quarter of `_simplify`. What its other passes do, such as moving addresses out of
    loops, generating code does again; in tiles of registers there is nothing else to be found.
    """
    binding = llvm()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_function_pass_manager()
    passes.add_simplify_cfg_pass()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
