# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products of warpgroups, from sm_90a on (PTX ISA, "wgmma", "setmaxnreg").

A matmul is issued and runs on while its warps go on; accumulators and operands in registers must
not be touched until a wait. `wgmma` has its accumulators in one value of LLVM, which keeps them
together from one matmul to the next. `wgmma_asm` ties each accumulator to its register and takes
operands from registers too; its fence and wait let registers pass through. The assembler then
neither moves their other uses across nor runs matmuls one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith, llvm, nvvm

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import (
    assembly,
    attribute,
    i32,
    integer,
    listed,
    struct,
)
from xyntra.passes.lower.loops.shared_constants import integer_constant

_SWIZZLE_128 = 1 << 62  # the descriptor's code for rows of 128 bytes, permuted
_ADDRESS_BITS = 0x3FFFF
_STEPS = {
    "f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32, "e4m3": 32, "e5m2": 32,
}  # fmt: skip
"""Steps of K in 32 bytes."""
_UNIT = 4  # descriptors count in 16 bytes
_EIGHT_ROWS = 8 * 128  # bytes, after which the permutation repeats


def wgmma_descriptor(address: ir.Value, leading: int) -> ir.Value:
    """Return the descriptor of a matrix in shared memory with rows of 128 bytes, permuted, an i64.

    Groups of eight rows lie one behind the other (PTX ISA, "Matrix Descriptor Format").

    Args:
        address: an i32; advanced within a row by steps of 32 bytes.
        leading: bytes from 64 columns to the next, where columns of the result are contiguous.
    """
    low = arith.shrui(arith.andi(address, i32(_ADDRESS_BITS)), i32(_UNIT))
    fixed = _SWIZZLE_128 | ((_EIGHT_ROWS >> _UNIT) << 32) | ((leading >> _UNIT) << 16)
    return arith.ori(arith.extui(integer(64), low), integer_constant(64, fixed))


def wgmma_advanced(descriptor: ir.Value, nbytes: int) -> ir.Value:
    """Return the descriptor of a matrix that lies `nbytes` further on."""
    if not nbytes:
        return descriptor
    return arith.addi(descriptor, integer_constant(64, nbytes >> _UNIT))


def packed(values: Sequence[ir.Value]) -> ir.Value:
    """Return f32s, or i32s, as one value, as `wgmma` takes them."""
    result = llvm.mlir_poison(struct([values[0].type] * len(values)))
    for number, value in enumerate(values):
        result = llvm.insertvalue(result, value, [number])
    return result


def unpacked(value: ir.Value, count: int) -> list[ir.Value]:
    """Return the `count` f32s, or i32s, of one value."""
    kind = llvm.StructType(value.type).body[0]
    return [llvm.extractvalue(kind, value, [number]) for number in range(count)]


def wgmma(
    accumulators: ir.Value | None,
    a: ir.Value,
    b: ir.Value,
    columns: int,
    elements: tuple[str, str],
    *,
    a_k_major: bool,
    b_k_major: bool,
) -> ir.Value:
    """Issue one matmul of 64 rows, `columns` and 32 bytes of K; returns its accumulators, packed.

    Args:
        accumulators: what the matmul is added to, packed; None to start from zero. (Cleared
            registers there make the assembler run matmuls one by one.)
        a: descriptor of the left factor.
        b: descriptor of the right factor.
        columns: a multiple of eight, up to 256.
        elements: types of both factors: f16, bf16 or tf32, the same; e4m3 or e5m2, or s8 or u8,
            which are contiguous along K, and of the latter, `columns` above 32 are a multiple of
            16.
        a_k_major: the left factor is contiguous along K.
        b_k_major: the same of the right factor.
    """
    count, is_integer = columns // 2, elements[0] in ("s8", "u8")
    kind = ir.IntegerType.get_signless(32) if is_integer else ir.F32Type.get()
    before = accumulators
    if before is None:
        before = packed([llvm.mlir_poison(kind)] * count)
    left, right = (attribute(f"#nvvm.wgmma_type<{element}>") for element in elements)
    one = attribute("#nvvm.wgmma_scale_in<one>")
    return nvvm.wgmma_mma_async(
        before.type,
        before,
        a,
        b,
        attribute(f"#nvvm.shape<m=64,n={columns},k={_STEPS[elements[0]]}>"),
        left,
        right,
        attribute(f"#nvvm.wgmma_type<{'s32' if is_integer else 'f32'}>"),
        attribute(f"#nvvm.wgmma_scale_out<{'one' if accumulators else 'zero'}>"),
        one,
        one,
        attribute(f"#nvvm.mma_layout<{'row' if a_k_major else 'col'}>"),
        attribute(f"#nvvm.mma_layout<{'col' if b_k_major else 'row'}>"),
    )


def wgmma_asm(
    accumulators: Sequence[ir.Value] | None,
    a: ir.Value | Sequence[ir.Value],
    b: ir.Value,
    columns: int,
    element: str,
    *,
    b_k_major: bool,
) -> list[ir.Value]:
    """Issue one matmul of 64 rows, `columns` and 16 of K, and return its accumulators.

    Args:
        accumulators: what the matmul is added to, f32s; None to start from zero.
        a: descriptor of the left factor, contiguous along K, or its fragment, four i32s.
        b: descriptor of the right factor.
        columns: a multiple of eight, up to 256.
        element: f16 or bf16.
        b_k_major: the right factor is contiguous along K.
    """
    count = columns // 2
    before = [] if accumulators is None else list(accumulators)
    left, layouts = ([a], "0, ") if isinstance(a, ir.Value) else (list(a), "")
    first = count + len(before)
    text = (
        f"{{\n.reg .pred p;\nsetp.ne.b32 p, {int(accumulators is not None)}, 0;\n"
        f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{element}.{element} "
        f"{listed(0, count)}, {listed(first, len(left))}, ${first + len(left)}, "
        f"p, 1, 1, {layouts}{int(not b_k_major)};\n}}"
    )
    results = [ir.F32Type.get()] * count
    return assembly(text, [*before, *left, b], results, tied=len(before))


def wgmma_fence() -> None:
    """Order what was done to registers before the products that use them."""
    nvvm.wgmma_fence_aligned()


def wgmma_fence_asm(values: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """As `wgmma_fence`; `values` pass through and are returned."""
    return _through("wgmma.fence.sync.aligned;", values)


def wgmma_commit_group() -> None:
    """Make one group of the products issued so far."""
    nvvm.wgmma_commit_group_sync_aligned()


def wgmma_commit_group_asm() -> None:
    """As `wgmma_commit_group`."""
    assembly("wgmma.commit_group.sync.aligned;")


def wgmma_wait_group(pending: int) -> None:
    """Wait until at most the last `pending` groups of products run."""
    nvvm.wgmma_wait_group_sync_aligned(pending)


def wgmma_wait_group_asm(pending: int, values: Sequence[ir.Value]) -> list[ir.Value]:
    """As `wgmma_wait_group`; `values` pass through, so that nothing reads them before."""
    return _through(f"wgmma.wait_group.sync.aligned {pending};", values)


def setmaxnreg(count: int, *, increase: bool) -> None:
    """Take registers, or give them back, for all warps of a warpgroup, up to `count` a thread."""
    nvvm.setmaxregister(count, _register_action(increase))


def setmaxnreg_asm(count: int, *, increase: bool) -> None:
    """As `setmaxnreg`."""
    assembly(f"setmaxnreg.{'inc' if increase else 'dec'}.sync.aligned.u32 {count};")


def _register_action(increase: bool) -> nvvm.SetMaxRegisterAction:
    action = nvvm.SetMaxRegisterAction
    return action.increase if increase else action.decrease


def _through(text: str, values: Sequence[ir.Value]) -> list[ir.Value]:
    return assembly(text, values, [each.type for each in values], tied=len(values))
