# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of Hopper that attention needs: copies by TMA, barriers, products of warpgroups.

Registers that a product still writes or reads pass through the fences and waits around it as
operands of those: the assembler then neither moves their other uses across nor runs products one by
one.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.cuda.attention.machine import Registers, assembly, number

ROW_BYTES = 128
"""Of a row in shared memory, in the pattern that spreads eight rows over all banks."""
_SWIZZLE_128 = 1 << 62
_TRY_TICKS = 10_000_000
_GROUP = 8 * ROW_BYTES  # eight rows, after which the pattern repeats


def descriptor(address: Scalar, leading: int) -> Scalar:
    """What tells a product where a matrix lies, in rows of 128 bytes: a uint64.

    Args:
        address: in shared memory.
        leading: bytes from 64 columns to the next, where columns are the result's.
    """
    place = ((address & 0x3FFFF) >> 4).cast("uint64")
    fixed = number(_SWIZZLE_128 | (_GROUP >> 4) << 32 | (leading >> 4) << 16, "uint64")
    return Scalar(emit("arith.ori", [place.value, fixed.value], place.value.type), "uint64")


def advanced(matrix: Scalar, nbytes: int) -> Scalar:
    """The descriptor of what lies `nbytes` further on."""
    return matrix + (nbytes >> 4) if nbytes else matrix


_KINDS = {"float16": "f16", "bfloat16": "bf16"}


def multiply_shared(
    sums: Registers | None, left: Scalar, right: Scalar, columns: int, dtype: str
) -> Registers:
    """Issue a product of 64 rows and `columns` rows of 16 neighbours each, from descriptors.

    Args:
        sums: what it is added to; None for nothing.
        left: the left factor.
        right: the right factor.
        columns: of the result, a multiple of eight.
        dtype: of the factors.
    """
    count = columns // 2
    names = ", ".join(f"${i}" for i in range(count))
    first = count if sums is None else 2 * count
    kind = _KINDS[dtype]
    template = (
        f"{{\n.reg .pred p;\nsetp.ne.b32 p, {int(sums is not None)}, 0;\n"
        f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind} "
        f"{{{names}}}, ${first}, ${first + 1}, p, 1, 1, 0, 0;\n}}"
    )
    return _in_place(template, sums, count, [left, right])


def multiply_registers(
    sums: Registers, left: Registers, right: Scalar, columns: int, dtype: str
) -> Registers:
    """Issue a product of 64 rows in registers and 16 rows of `columns` neighbours each."""
    count = len(sums)
    names = ", ".join(f"${i}" for i in range(count))
    first = 2 * count
    factors = ", ".join(f"${first + i}" for i in range(4))
    kind = _KINDS[dtype]
    template = (
        "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
        f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind} "
        f"{{{names}}}, {{{factors}}}, ${first + 4}, p, 1, 1, 1;\n}}"
    )
    return _in_place(template, sums, count, [*left, right])


def commit_products() -> None:
    """Make one group of the products issued so far."""
    assembly("wgmma.commit_group.sync.aligned;", [], [])


def fence(values: Registers) -> Registers:
    """Order what was done to registers before products that use them."""
    return tied("wgmma.fence.sync.aligned;", values)


def wait_for_products(values: Registers) -> Registers:
    """Wait for all products, which write `values`."""
    return tied("wgmma.wait_group.sync.aligned 0;", values)


def tied(template: str, values: Registers) -> Registers:
    """Emit an instruction that all of `values` pass through."""
    if not values:
        return assembly(template, [], [])
    return _in_place(template, values, len(values), [])


_LETTERS = {"float32": "f", "uint32": "r", "int32": "r", "uint64": "l"}


def _in_place(
    template: str, values: Registers | None, count: int, others: Sequence[Scalar]
) -> Registers:
    """Emit PTX whose results lie in the registers of `values`; None for new ones, of f32."""
    dtypes = [each.dtype for each in values] if values else ["float32"] * count
    kinds = [each.value.type for each in values] if values else [ir.F32Type.get()] * count
    constraints = ["=" + _LETTERS[dtype] for dtype in dtypes]
    constraints += [str(i) for i in range(count)] if values else []
    constraints += [_LETTERS[each.dtype] for each in others] + ["~{memory}"]
    operands = [each.value for each in [*(values or []), *others]]
    whole = ir.Type.parse(f"!llvm.struct<({', '.join(map(str, kinds))})>")
    built = llvm.inline_asm(whole, operands, template, ",".join(constraints), has_side_effects=True)
    parts = [llvm.extractvalue(kind, built, [i]) for i, kind in enumerate(kinds)]
    return [Scalar(part, dtype) for part, dtype in zip(parts, dtypes, strict=True)]


def begin_barrier(address: Scalar, arrivals: int) -> None:
    """Make an mbarrier whose phases end with so many arrivals, and all bytes expected by then."""
    assembly(f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", [], [address])


def publish_barriers() -> None:
    """Show new barriers to other threads and to copies."""
    assembly("fence.mbarrier_init.release.cluster;", [], [])


def arrive(address: Scalar) -> None:
    """Arrive at a barrier."""
    assembly("mbarrier.arrive.shared::cta.b64 _, [$0];", [], [address])


def expect(address: Scalar, nbytes: int) -> None:
    """Arrive, and let the phase wait for so many bytes."""
    template = f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {nbytes};"
    assembly(template, [], [address])


def wait_for_phase(address: Scalar, parity: Scalar) -> None:
    """Wait until the phase of this parity has ended; the one before the first has the parity 1."""
    template = (
        "{\n.reg .pred done;\nWAIT_${:uid}:\n"
        f"mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1, {_TRY_TICKS};\n"
        "@done bra.uni DONE_${:uid};\nbra.uni WAIT_${:uid};\nDONE_${:uid}:\n}"
    )
    assembly(template, [], [address, parity])


def copy_box(
    target: Scalar, tensor: ir.Value, coordinates: Sequence[Scalar], barrier: Scalar
) -> None:
    """Begin to copy a box; elements outside of the tensor are zeros, and count as bytes as well."""
    rank = len(coordinates)
    places = ", ".join(f"${3 + i}" for i in range(rank))
    kind = "cp.async.bulk.tensor"
    template = (
        f"{kind}.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[$0], [$1, {{{places}}}], [$2];"
    )
    map_ = Scalar(llvm.ptrtoint(ir.IntegerType.get_signless(64), tensor), "uint64")
    assembly(template, [], [target, map_, barrier, *coordinates])


def fetch_map(tensor: ir.Value) -> None:
    """Bring a tensor map into the cache of the copies."""
    map_ = Scalar(llvm.ptrtoint(ir.IntegerType.get_signless(64), tensor), "uint64")
    assembly("prefetch.tensormap [$0];", [], [map_])


def set_registers(count: int, *, more: bool) -> None:
    """Take registers, or give them back, for all warps of a warpgroup."""
    action = "inc" if more else "dec"
    assembly(f"setmaxnreg.{action}.sync.aligned.u32 {count};", [], [])


def same_in_warp(value: Scalar) -> Scalar:
    """The first lane's value, which is then known to be one for the whole warp."""
    return assembly("shfl.sync.idx.b32 $0, $1, 0, 31, -1;", [value.dtype], [value])[0]


def opaque(value: Scalar) -> Scalar:
    """The same value, of which LLVM knows nothing."""
    return assembly("mov.b32 $0, $1;", [value.dtype], [value])[0]


def any_lane(flag: Scalar) -> Scalar:
    """Whether a flag holds in a lane of the warp."""
    mask = number(-1)
    kind = ir.Attribute.parse("#nvvm<vote_sync_kind any>")
    word = ir.IntegerType.get_signless(1)
    return Scalar(emit("nvvm.vote.sync", [mask.value, flag.value], word, kind=kind), "bool")
