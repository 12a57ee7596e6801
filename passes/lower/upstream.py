# SPDX-License-Identifier: MIT OR Apache-2.0
"""Steps that MLIR brings along and that the lowering of every target takes."""

from __future__ import annotations

from functools import lru_cache

from torch_mlir.passmanager import PassManager

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.buffers.isolated_buffers import IsolatedBuffers, is_needed
from xyntra.passes.lower.buffers.unshared_destinations import UnsharedDestinations
from xyntra.spans import span

# f16 stays: LLVM converts around every operation where the processor computes in f32.
WIDEN = (
    "linalg-generalize-named-ops,math-extend-to-supported-types,"
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}"
)
"""Named operations as loops around scalar code, which computes in types that processors have."""
_BUFFERIZE = (
    "eliminate-empty-tensors,empty-tensor-to-alloc-tensor,one-shot-bufferize{"
    "bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
    "canonicalize,cse,linalg-generalize-named-ops"
)


def run_upstream(module: ir.Operation, passes: str, *, verify: bool = True) -> None:
    """Run passes of MLIR, given in its textual form, on `module`, which is verified before.

    What MLIR's own passes make of valid IR is not verified again: that takes as long as they do.

    Args:
        module: what they change.
        passes: such as "canonicalize,cse".
        verify: False where what they leave is verified soon enough.

    Raises:
        MLIRError: the IR is invalid, or one of them failed.
    """
    with span(passes.partition(",")[0] + " …", "pass", passes=passes):
        if verify:
            module.verify()
        _pass_manager(module.context, passes).run(module)


def bufferize(module: ir.Operation) -> ir.Operation:
    """Let memory take the place of tensors; returns the module, or the copy that took its place."""
    UnsharedDestinations().run(module)
    spare = module.clone(ip=False).operation if is_needed(module) else None
    try:
        run_upstream(module, _BUFFERIZE)
    except ir.MLIRError:
        if spare is None:
            raise
        module = spare
        IsolatedBuffers().run(module)
        run_upstream(module, _BUFFERIZE)
    return module


def check_lowered(module: ir.Operation, dialects: tuple[str, ...], target: str) -> set[str]:
    """Refuse what is not of `dialects`: translating it to LLVM IR would kill the process.

    Returns:
        The names of all operations.

    Raises:
        CompileError: naming what is left, and the target that has no code for it.
    """
    prefixes = ("builtin.module", "gpu.module", *(f"{name}." for name in dialects))
    found = operation_names(module)
    left = {name for name in found if not name.startswith(prefixes)}
    if left:
        names = ", ".join(sorted(left))
        raise CompileError("kernel-operation", f"a kernel holds what has no {target} code: {names}")
    return found


def operation_names(module: ir.Operation) -> set[str]:
    """Return the names of all operations in `module`."""
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.add(op.name)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


@lru_cache(maxsize=12)
def _pass_manager(context: ir.Context, passes: str) -> PassManager:
    # A pass manager that is used again keeps the rewrite patterns that it has collected.
    manager = PassManager.parse(f"builtin.module({passes})", context)
    manager.enable_verifier(False)
    return manager
