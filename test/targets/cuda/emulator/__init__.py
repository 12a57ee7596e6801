# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs PTX without a GPU, and stops where the code relies on what the hardware does not promise.

All threads of some blocks are interpreted at once, on numpy arrays: `machine` chooses which of them
go on, each other module knows one kind of instruction (PTX ISA 8.8). Beside wrong results, these
are found:

* accesses outside of an array, to memory of another block, or not aligned;
* uses of what was never written: memory starts as 0xFF, which is NaN in every float format;
* uses of what is still on its way: copies land as late as they may, and what they write is
  poisoned meanwhile; results of wgmma may not be touched before they were waited for;
* races in shared memory, between warps, copies and multiplications, barriers of all kinds taken
  into account (`races`), with the fences between ordinary accesses and asynchronous ones;
* memory that is touched before `griddepcontrol.wait` though the launch ahead may write it, and
  loads of it as memory that never changes (`ld.global.nc`), which the assembler moves freely;
* barriers that nobody reaches, and warps that are incomplete where the whole warp is needed.
"""

from __future__ import annotations

from emulator.errors import EmulatorError
from emulator.launch import run_artifact, run_image, run_sized

__all__ = ["EmulatorError", "run_artifact", "run_image", "run_sized"]
