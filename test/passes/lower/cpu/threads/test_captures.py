# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that what a loop needs from around it is found in time, whatever depends on what."""

from __future__ import annotations

from xyntra.dialects.context import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.threads.captures import can_move

_LEVELS = 40  # without a memory of what was looked at, two to this many looks


def _loop_behind_sums(read: str) -> ir.Module:
    """A loop behind vectors, each of which is the sum of the one before and itself."""
    sums = "\n".join(f"%v{n + 1} = arith.addf %v{n}, %v{n} : vector<8xf32>" for n in range(_LEVELS))
    return ir.Module.parse(f"""
func.func @k(%x: memref<64xf32>, %y: memref<64xf32>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8 : index
  %v0 = vector.load %x[%zero] : memref<64xf32>, vector<8xf32>
  {sums}
  scf.for %i = %zero to %end step %one {{
    {read}
  }}
  return
}}""")


def _can_move(read: str) -> bool:
    with make_context():
        module = _loop_behind_sums(read)
        function = next(iter(module.body.operations)).operation
        operations = [view.operation for view in function.regions[0].blocks[0].operations]
        return can_move(next(op for op in operations if op.name == "scf.for"))


def test_sums_that_the_loop_does_not_read() -> None:
    assert _can_move("%a = memref.load %x[%i] : memref<64xf32>")


def test_sums_of_what_cannot_be_read_again() -> None:
    last = f"vector.store %v{_LEVELS}, %y[%zero] : memref<64xf32>, vector<8xf32>"
    assert not _can_move(last)
