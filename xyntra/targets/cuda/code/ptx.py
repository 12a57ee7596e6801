# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR to PTX.

ptxas optimises what it is given once more, so LLVM is asked for less than it can do: it takes two
thirds of the time that all of it would take, and on an H100 four models of f16 and two of f32 were
as fast by either, to 1 %.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from xyntra.errors import CompileError
from xyntra.spans import span
from xyntra.targets.cuda.code.architecture import ptx_feature
from xyntra.targets.llvm_backend import llvm
from xyntra.targets.llvm_text import to_llvm22

TRIPLE = "nvptx64-nvidia-cuda"
_OPT_LEVEL = 2  # of the passes on LLVM's IR: the first one leaves attention registers to spill
_CODE_LEVEL = 2  # of the choice of instructions
# Integers with different signs in wgmma, and float8 in mma, came with CUDA 12.4, conversions of
# float8 for sm_89 with CUDA 12.1.
_NEWER = (
    (re.compile(r"wgmma\.mma_async\S+\.(u8\.s8|s8\.u8)\b"), "ptx84"),
    (re.compile(r"mma\.sync\S+\.e[45]m[32]\."), "ptx84"),
    (re.compile(r"cvt\.\S+e[45]m[32]x2"), "ptx81"),
)


def to_ptx(llvm_ir: str, architecture: str) -> str:
    """Return the PTX of a module.

    Args:
        llvm_ir: the module as LLVM 24 prints it.
        architecture: such as "sm_90a".

    Raises:
        CompileError: LLVM does not read the module, or the code calls functions that no GPU has.
    """
    binding = _llvm()
    machine = _target_machine(architecture, _ptx_version(llvm_ir, architecture))
    try:
        with span("LLVM: read", "pass"):
            module = binding.parse_assembly(to_llvm22(llvm_ir))
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(
            "llvm-ir", "LLVM does not accept a kernel's IR", cause=str(error)
        ) from error
    _check_calls(module)
    tuning = binding.create_pipeline_tuning_options(speed_level=_OPT_LEVEL)
    tuning.loop_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    with span("LLVM: optimise", "pass"):
        builder.getModulePassManager().run(module, builder)
    with span("LLVM: emit PTX", "pass"):
        return str(machine.emit_assembly(module))


def _check_calls(module: Any) -> None:
    missing = sorted(
        function.name
        for function in module.functions
        if function.is_declaration and not function.name.startswith("llvm.")
    )
    if missing:
        raise CompileError(
            "gpu-function",
            f"a kernel calls what GPUs do not have: {', '.join(missing)}",
            hint="mathematical functions of f64 have no GPU code; compute in f32",
        )


@lru_cache(maxsize=1)
def _llvm() -> Any:
    binding = llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def _ptx_version(llvm_ir: str, architecture: str) -> str:
    """Return LLVM's name of the PTX that a kernel needs: that of its architecture, as a rule."""
    needed = [version for form, version in _NEWER if form.search(llvm_ir)]
    return max([ptx_feature(architecture), *needed])


@lru_cache(maxsize=8)
def _target_machine(architecture: str, version: str) -> Any:
    target = _llvm().Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture, features=f"+{version}", opt=_CODE_LEVEL)
