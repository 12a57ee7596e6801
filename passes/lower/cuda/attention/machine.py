# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of NVIDIA GPUs that attention needs, on scalars with a dtype.

Addresses of shared memory are uint32, of global memory uint64. Two 16-bit numbers share a uint32.
Names, operands and the layout of fragments are those of the PTX ISA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch_mlir.dialects import llvm, scf

from xyntra.dialects.dtypes import mlir_type
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant, emit
from xyntra.passes.lower.nests.memrefs import view_offset

Registers = list[Scalar]
_CONSTRAINTS = {"float32": "f", "uint32": "r", "int32": "r", "uint64": "l", "uint16": "h"}


def assembly(
    template: str, results: Sequence[str], operands: Sequence[Scalar], *, pure: bool = False
) -> Registers:
    """Emit PTX; `$0` and so on are the results, and then the operands.

    Args:
        template: the instructions.
        results: their dtypes.
        operands: what they read.
        pure: they touch no memory and may be left out or moved.
    """
    kinds = [mlir_type(dtype, ir.Context.current) for dtype in results]
    constraints = ["=" + _CONSTRAINTS[dtype] for dtype in results]
    constraints += [_CONSTRAINTS[operand.dtype] for operand in operands]
    if not pure:
        constraints.append("~{memory}")
    whole = None
    if len(kinds) == 1:
        whole = kinds[0]
    elif kinds:
        whole = ir.Type.parse(f"!llvm.struct<({', '.join(map(str, kinds))})>")
    values = [operand.value for operand in operands]
    text = ",".join(constraints)
    built = llvm.inline_asm(whole, values, template, text, has_side_effects=not pure)
    if len(kinds) < 2:
        return [Scalar(built, results[0])] if kinds else []
    parts = [llvm.extractvalue(kind, built, [number]) for number, kind in enumerate(kinds)]
    return [Scalar(part, dtype) for part, dtype in zip(parts, results, strict=True)]


def number(value: int, dtype: str = "int32") -> Scalar:
    """A constant."""
    return constant(value, dtype)


def real(value: float) -> Scalar:
    """A constant of f32."""
    return constant(value, "float32")


def fused(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """`a * b + c`, rounded once."""
    return a.math("fma", b, c)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger number; the other one where one is NaN."""
    return Scalar(emit("arith.maxnumf", [a.value, b.value], a.value.type), a.dtype)


def exp2(value: Scalar) -> Scalar:
    """A power of two, with a relative error of 2^-22; 0 where it would be subnormal."""
    return assembly("ex2.approx.ftz.f32 $0, $1;", ["float32"], [value], pure=True)[0]


def bounded(value: Scalar) -> Scalar:
    """The hyperbolic tangent, with an absolute error of 2^-21."""
    power = exp2(value * 2.8853900817779268)  # 2 / ln 2
    quotient = assembly("rcp.approx.ftz.f32 $0, $1;", ["float32"], [power + 1.0], pure=True)[0]
    return fused(quotient, real(-2.0), real(1.0))


def exchanged(value: Scalar, distance: int) -> Scalar:
    """The value of the lane whose number differs by the bit `distance`."""
    template = f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;"
    return assembly(template, [value.dtype], [value])[0]


def across(value: Scalar, lanes: int, combine: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """`value` combined over groups of `lanes` neighbouring lanes, in each of them."""
    distance = lanes // 2
    while distance:
        value = combine(value, exchanged(value, distance))
        distance //= 2
    return value


def packed(low: Scalar, high: Scalar, dtype: str) -> Scalar:
    """Two f32 rounded to `dtype`, in one register."""
    kind = {"float16": "f16x2", "bfloat16": "bf16x2"}[dtype]
    return assembly(f"cvt.rn.{kind}.f32 $0, $1, $2;", ["uint32"], [high, low], pure=True)[0]


def packed_pairs(values: Registers, dtype: str) -> Registers:
    """Neighbours of an even number of f32, rounded, two in a register."""
    return [packed(values[k], values[k + 1], dtype) for k in range(0, len(values), 2)]


def load_matrices(address: Scalar, *, transposed: bool = False) -> Registers:
    """Four matrices of 8 rows of 16 bytes; lane i gives the address of row i (`ldmatrix.x4`)."""
    middle = ".trans" if transposed else ""
    template = f"ldmatrix.sync.aligned.m8n8.x4{middle}.shared.b16 {{$0, $1, $2, $3}}, [$4];"
    return assembly(template, ["uint32"] * 4, [address])


def multiply(a: Registers, b: Registers, c: Registers, dtype: str) -> Registers:
    """`c` plus the product of fragments of 16 by 16 and 16 by 8 (`mma.m16n8k16`)."""
    kind = {"float16": "f16", "bfloat16": "bf16"}[dtype]
    template = (
        f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 "
        "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
    )
    return assembly(template, ["float32"] * 4, [*a, *b, *c], pure=True)


def load_shared(address: Scalar, count: int) -> Registers:
    """`count` neighbouring f32 of shared memory: 1, 2 or 4."""
    names = ", ".join(f"${i}" for i in range(count))
    width = {1: "", 2: ".v2", 4: ".v4"}[count]
    left = f"{{{names}}}" if count > 1 else names
    return assembly(f"ld.shared{width}.f32 {left}, [${count}];", ["float32"] * count, [address])


def load_cluster(address: Scalar, rank: Scalar, count: int) -> Registers:
    """As `load_shared`, from where a block of the cluster, a uint32, has the same address."""
    text = "mapa.shared::cluster.u32 $0, $1, $2;"
    there = assembly(text, ["uint32"], [address, rank], pure=True)
    names = ", ".join(f"${i}" for i in range(count))
    template = f"ld.shared::cluster.v{count}.f32 {{{names}}}, [${count}];"
    return assembly(template, ["float32"] * count, there)


def store_shared(address: Scalar, values: Sequence[Scalar]) -> None:
    """Write neighbouring registers to shared memory: 1, 2 or 4 of 32 bits, or one of 16."""
    count = len(values)
    bits = 16 if values[0].dtype == "uint16" else 32
    names = ", ".join(f"${i + 1}" for i in range(count))
    width = {1: "", 2: ".v2", 4: ".v4"}[count]
    right = f"{{{names}}}" if count > 1 else names
    assembly(f"st.shared{width}.b{bits} [$0], {right};", [], [address, *values])


def store_global(address: Scalar, values: Sequence[Scalar]) -> None:
    """Write four neighbouring registers of 32 bits, 16 bytes, to global memory."""
    assembly("st.global.v4.b32 [$0], {$1, $2, $3, $4};", [], [address, *values])


def copy_async(
    target: Scalar, source: Scalar, nbytes: int, valid: Scalar | None, *, lines: bool = False
) -> None:
    """Begin to copy 4, 8 or 16 bytes from global to shared memory.

    Args:
        target: where to.
        source: where from.
        nbytes: how many.
        valid: zeros take the place of what is behind so many bytes; None for all.
        lines: let memory give lines of 128 bytes to the second cache, from sm_90 on; a few percent
            faster where all of them are read.
    """
    how = "cg.shared.global" if nbytes == 16 else "ca.shared.global"
    hint = ".L2::128B" if lines and nbytes == 16 else ""
    template = f"cp.async.{how}{hint} [$0], [$1], {nbytes}"
    more = [] if valid is None else [valid]
    assembly(template + (", $2;" if more else ";"), [], [target, source, *more])


def commit_copies() -> None:
    """Make one group of the thread's copies since the last one."""
    assembly("cp.async.commit_group;", [], [])


def wait_copies(pending: int) -> None:
    """Wait until at most the last `pending` groups of the thread are under way."""
    assembly(f"cp.async.wait_group {pending};", [], [])


def warp_barrier() -> None:
    """Wait for the other lanes of the warp, and see what they wrote."""
    assembly("bar.warp.sync -1;", [], [])


def shared_address(pointer: ir.Value) -> Scalar:
    """The address of a pointer into shared memory."""
    return Scalar(llvm.ptrtoint(ir.IntegerType.get_signless(32), pointer), "uint32")


def global_address(memory: ir.Value, item_bytes: int) -> Scalar:
    """The address at which a memref of static layout starts."""
    kind = ir.IndexType.get()
    base = emit("memref.extract_aligned_pointer_as_index", [memory], kind)
    start = Scalar(base, "index").cast("int64").cast("uint64")
    first = view_offset(memory) * item_bytes
    return start + first if first else start


@contextmanager
def when(condition: Scalar) -> Iterator[None]:
    """Emit what follows under a condition."""
    built = scf.IfOp(condition.value)
    with ir.InsertionPoint(built.then_block):
        yield
        scf.YieldOp([])


def replaced_when(
    condition: Scalar, values: Registers, change: Callable[[Registers], Registers]
) -> Registers:
    """`values`, or what `change` makes of them where the condition holds."""
    built = scf.IfOp(condition.value, [each.value.type for each in values], has_else=True)
    with ir.InsertionPoint(built.then_block):
        scf.YieldOp([each.value for each in change(values)])
    with ir.InsertionPoint(built.else_block):
        scf.YieldOp([each.value for each in values])
    pairs = zip(built.results, values, strict=True)
    return [Scalar(result, each.dtype) for result, each in pairs]


def loop(
    count: Scalar, carried: Registers, body: Callable[[Scalar, Registers], Registers]
) -> Registers:
    """A loop from 0 to `count`, an int32, that is not unrolled; `body` renews what is carried."""
    zero, one = number(0), number(1)
    built = scf.ForOp(zero.value, count.value, one.value, [each.value for each in carried])
    annotation = ir.Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
    built.operation.attributes["llvm.loop_annotation"] = annotation
    dtypes = [each.dtype for each in carried]
    with ir.InsertionPoint(built.body):
        inside = [Scalar(*pair) for pair in zip(built.inner_iter_args, dtypes, strict=True)]
        renewed = body(Scalar(built.induction_variable, "int32"), inside)
        scf.YieldOp([each.value for each in renewed])
    return [Scalar(*pair) for pair in zip(built.results, dtypes, strict=True)]
