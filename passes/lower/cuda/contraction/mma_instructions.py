# SPDX-License-Identifier: MIT OR Apache-2.0
"""The instructions of PTX that feed and use tensor cores, on addresses that are plain integers.

Addresses of shared memory are i32s, those of global memory i64s (PTX ISA, "cp.async", "ldmatrix",
"mma", "mapa", "barrier.cluster").
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith, llvm

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.contraction.mma_kind import MmaKind

_SHARED = 3  # address space
_WIDEST = 16  # bytes of one copy


def address_of(value: ir.Value) -> ir.Value:
    """Return the address at which the memory of a memref begins, an i64."""
    found = emit("memref.extract_aligned_pointer_as_index", [value], ir.IndexType.get())
    return arith.index_cast(ir.IntegerType.get_signless(64), found)


def copy_async(target: ir.Value, source: ir.Value, nbytes: int, present: ir.Value | None) -> None:
    """Begin to copy 4, 8 or 16 bytes from global to shared memory.

    Args:
        target: address in shared memory, a multiple of `nbytes`.
        source: address in global memory, likewise.
        nbytes: how many.
        present: how many are read, an i32; zeros take the place of the others. None for all.
    """
    cache = "cg" if nbytes == _WIDEST else "ca"  # nothing narrower may pass by the first cache
    text = f"cp.async.{cache}.shared.global [$0], [$1], {nbytes}"
    operands = [target, source]
    if present is None:
        _effect(f"{text};", "r,l", operands)
    else:
        _effect(f"{text}, $2;", "r,l,r", [*operands, present])


def commit_copies() -> None:
    """Close the group of copies that were begun since the last call."""
    _effect("cp.async.commit_group;", "", [])


def wait_for_copies(groups: int) -> None:
    """Wait until at most `groups` of the thread's last groups are under way."""
    _effect(f"cp.async.wait_group {groups};", "", [])


def load_matrices(address: ir.Value, *, transposed: bool) -> list[ir.Value]:
    """Load four 8x8 matrices of 16-bit elements, of which each thread names a row's address.

    Returns:
        Four i32s; of each matrix the thread gets two neighbours of row `lane / 4`, or of that
        column where `transposed`.
    """
    suffix = ".trans" if transposed else ""
    text = f"ldmatrix.sync.aligned.m8n8.x4{suffix}.shared.b16 {{$0, $1, $2, $3}}, [$4];"
    return _several(_i32(), 4, text, "=r,=r,=r,=r,r", [address], effects=True)


def multiply(
    kind: MmaKind, left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]
) -> list[ir.Value]:
    """Return `sums` plus the product of two fragments: four i32s and two."""
    result = "=r" if kind.is_integer else "=f"
    text = (
        f"{kind.instruction} {{$0, $1, $2, $3}}, {{$4, $5, $6, $7}}, {{$8, $9}}, "
        "{$10, $11, $12, $13};"
    )
    constraints = ",".join([result] * 4 + ["r"] * 6 + [result[1:]] * 4)
    return _several(sums[0].type, 4, text, constraints, [*left, *right, *sums], effects=False)


def rounded_tf32(word: ir.Value) -> ir.Value:
    """Return the bits of an f32 rounded to what tensor cores multiply."""
    return llvm.inline_asm(_i32(), [word], "cvt.rna.tf32.f32 $0, $1;", "=r,r")


def store_word(address: ir.Value, value: ir.Value) -> None:
    """Store a scalar, or a vector of two, in shared memory."""
    nbytes = _bytes(value.type)
    llvm.store(value, _pointer(address), alignment=nbytes)


def load_vector(address: ir.Value, lanes: int, element: ir.Type) -> ir.Value:
    """Load `lanes` neighbours of the block's shared memory, aligned to their size or 16 bytes."""
    kind = ir.VectorType.get([lanes], element)
    return llvm.load(kind, _pointer(address), alignment=min(_bytes(kind), _WIDEST))


def load_remote(address: ir.Value, rank: ir.Value, lanes: int, element: ir.Type) -> ir.Value:
    """As `load_vector`, from where a block of the cluster has the same address."""
    text = "mapa.shared::cluster.u32 $0, $1, $2;"
    there = llvm.inline_asm(_i32(), [address, rank], text, "=r,r,r")
    step = next(count for count in (4, 2, 1) if lanes % count == 0)
    letter = "r" if isinstance(element, ir.IntegerType) else "f"
    values: list[ir.Value] = []
    for first in range(0, lanes, step):
        results = ", ".join(f"${number}" for number in range(step))
        vector = f".v{step}" if step > 1 else ""
        text = f"ld.shared::cluster{vector}.b32 {{{results}}}, [${step}+{4 * first}];"
        if step == 1:
            text = text.replace("{", "").replace("}", "")
        constraints = ",".join([f"={letter}"] * step + ["r"])
        values += _several(element, step, text, constraints, [there], effects=True)
    return emit("vector.from_elements", values, ir.VectorType.get([lanes], element))


def cluster_barrier() -> None:
    """Wait for every thread of the cluster; what they wrote is visible after it."""
    _effect("barrier.cluster.arrive.release.aligned;", "", [])
    wait_for_cluster()


def arrive_at_cluster() -> None:
    """Tell the cluster that this thread has come so far; nothing that it wrote is published."""
    _effect("barrier.cluster.arrive.relaxed.aligned;", "", [])


def wait_for_cluster() -> None:
    """Wait until every thread of the cluster has arrived."""
    _effect("barrier.cluster.wait.acquire.aligned;", "", [])


def leave_cluster() -> None:
    """Wait until no thread of the cluster reads this block's memory any more.

    What was read has been used by then. Nothing that was written is for others to see: letting them
    would take as long as the stores to memory do.
    """
    arrive_at_cluster()
    wait_for_cluster()


def _several(
    kind: ir.Type,
    count: int,
    text: str,
    constraints: str,
    operands: Sequence[ir.Value],
    *,
    effects: bool,
) -> list[ir.Value]:
    if count == 1:
        return [_assembly(kind, text, constraints, operands, effects=effects)]
    struct = ir.Type.parse(f"!llvm.struct<({', '.join([str(kind)] * count)})>")
    found = _assembly(struct, text, constraints, operands, effects=effects)
    place = ir.DenseI64ArrayAttr.get
    return [
        emit("llvm.extractvalue", [found], kind, position=place([number]))
        for number in range(count)
    ]


def _assembly(
    kind: ir.Type, text: str, constraints: str, operands: Sequence[ir.Value], *, effects: bool
) -> ir.Value:
    return llvm.inline_asm(kind, list(operands), text, constraints, has_side_effects=effects)


def _effect(text: str, constraints: str, operands: Sequence[ir.Value]) -> None:
    llvm.inline_asm(None, list(operands), text, constraints, has_side_effects=True)


def _pointer(address: ir.Value) -> ir.Value:
    return emit("llvm.inttoptr", [address], ir.Type.parse(f"!llvm.ptr<{_SHARED}>"))


def _bytes(kind: ir.Type) -> int:
    if isinstance(kind, ir.VectorType):
        return int(kind.shape[0]) * _bytes(kind.element_type)
    return int(kind.width) // 8


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)
