# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations that `bench.cuda` measures: shapes, dtypes and what has to be done at least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from bench.cuda.convolutions import BATCHES, resnet_50
from bench.cuda.products import products

__all__ = ["HOST_MODEL", "ITEM_BYTES", "OPERATIONS", "TINY_MODEL", "Operation", "file_name"]

ITEM_BYTES = {"i32": 4, "f32": 4, "f16": 2, "bf16": 2, "i8": 1}
HOST_MODEL = "host-model.xyn"
"""The artifact of a small model of several kernels, with one input and one output."""
TINY_MODEL = "tiny-model.xyn"
"""The artifact of a model of one kernel that adds 1 to four numbers."""
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operation:
    """One row of the tables.

    Attributes:
        name: of the row.
        group: elementwise, rows, contractions, attention or convolutions.
        kind: which function; `bench.cuda.graphs` and `bench.cuda.torch_peers` know it.
        dtype: f32, f16 or bf16, of all arrays; or i8 of the inputs where the result is i32.
        inputs: shape of every input.
        output: shape of the result.
        flops: multiplications and additions of contractions; 0 where memory is the limit.
    """

    name: str
    group: str
    kind: str
    dtype: str
    inputs: tuple[Shape, ...]
    output: Shape
    flops: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that must be read and written."""
        read = ITEM_BYTES[self.dtype] * sum(map(prod, self.inputs))
        return read + ITEM_BYTES[self.result_dtype] * prod(self.output)

    @property
    def result_dtype(self) -> str:
        """The element type of the result."""
        return "i32" if self.dtype == "i8" else self.dtype


def _elementwise() -> Iterator[Operation]:
    for dtype, shape in (("f32", (16384, 4096)), ("bf16", (32768, 4096))):
        yield Operation(f"chain {dtype}", "elementwise", "chain", dtype, (shape,) * 4, shape)


def _rows() -> Iterator[Operation]:
    wide, narrow = (8192, 4096), (32768, 768)
    for kind, shape, dtypes in (
        ("softmax", wide, ("f32", "bf16")),
        ("softmax", (16384, 2048), ("bf16",)),
        ("softmax", (2048, 2048), ("f32",)),
        ("softmax", (512, 65536), ("f32", "bf16")),
        ("softmax", (16, 262144), ("f32",)),
        ("layer_norm", wide, ("f32", "bf16")),
        ("layer_norm", narrow, ("bf16",)),
        ("layer_norm", (128, 768), ("f16",)),
        ("rms_norm", wide, ("f32", "bf16")),
    ):
        row = (shape[-1],)
        inputs = {"softmax": (shape,), "layer_norm": (shape, row, row), "rms_norm": (shape, row)}
        for dtype in dtypes:
            name = f"{kind} {shape[0]}x{shape[1]} {dtype}"
            yield Operation(name, "rows", kind, dtype, inputs[kind], shape)


def _contractions() -> Iterator[Operation]:
    for m, n, k in (
        (4096, 4096, 4096), (8192, 8192, 8192), (8192, 3072, 768), (8192, 768, 3072),
        (128, 3072, 768), (1, 4096, 4096), (16, 4096, 4096), (1000, 777, 520),
    ):  # fmt: skip
        for kind, bias in (("matmul", ()), ("matmul_bias_gelu", ((n,),))):
            name = f"{kind} {m}x{n}x{k} bf16"
            shapes = ((m, k), (k, n), *bias)
            flops = 2 * m * n * k
            yield Operation(name, "contractions", kind, "bf16", shapes, (m, n), flops)
    cube = (4096, 4096)
    yield Operation(
        "matmul 4096x4096x4096 f32",
        "contractions",
        "matmul",
        "f32",
        (cube, cube),
        cube,
        2 * 4096**3,
    )
    cubes = (4096, 4096, 4096), (2048, 2048, 2048)
    for m, n, k in (*cubes, (512, 768, 3072), (128, 3072, 768)):
        name, shapes = f"integer_product {m}x{n}x{k} i8 nt", ((m, k), (n, k))
        yield Operation(
            name, "contractions", "integer_product", "i8", shapes, (m, n), 2 * m * n * k
        )
    for each in products():
        kind = f"product_{each.layout}"
        yield Operation(
            each.name, "contractions", kind, each.dtype, each.shapes, each.result, each.flops
        )


def _attention() -> Iterator[Operation]:
    for batch, heads, length, size in (
        (8, 16, 2048, 128), (4, 16, 8192, 128), (8, 16, 2048, 64), (4, 16, 8192, 64),
    ):  # fmt: skip
        for kind in ("attention", "causal_attention"):
            yield _attention_of(kind, batch, heads, length, size)
    for size in (64, 128):
        yield _attention_of("masked_attention", 8, 16, 2048, size)
    for size in (32, 80, 96, 256):
        yield _attention_of("attention", 8, 16, 2048, size)
    for kind in ("attention", "causal_attention"):
        yield _attention_of(kind, 4, 32, 2048, 128, groups=8)
    for batch in (1, 32):
        yield _attention_of("attention", batch, 12, 128, 64)
    for batch, heads, groups, length, size in (
        (1, 32, 8, 4096, 128), (1, 32, 8, 32768, 128), (8, 32, 8, 4096, 128),
        (32, 32, 8, 4096, 128), (8, 32, 32, 2048, 128), (1, 12, 12, 1024, 64),
        (32, 12, 12, 1024, 64), (16, 16, 16, 4096, 64),
    ):  # fmt: skip
        yield _attention_of("attention", batch, heads, length, size, groups, queries=1)


def _attention_of(
    kind: str,
    batch: int,
    heads: int,
    length: int,
    size: int,
    groups: int | None = None,
    queries: int | None = None,
) -> Operation:
    """Return attention of `heads` heads of queries to `groups` heads of keys and values.

    There are as many queries as keys, `length`, unless told.
    """
    count = length if queries is None else queries
    query, key = (batch, heads, count, size), (batch, groups or heads, length, size)
    mask = ((batch, 1, 1, length),) if kind == "masked_attention" else ()
    shared = f"/{groups}" if groups not in (None, heads) else ""
    few = "" if queries is None else f" t{length}"
    name = f"{kind} b{batch} h{heads}{shared} s{count}{few} d{size} bf16"
    flops = 4 * batch * heads * count * length * size // (2 if kind == "causal_attention" else 1)
    return Operation(name, "attention", kind, "bf16", (query, key, key, *mask), query, flops)


def _convolutions() -> Iterator[Operation]:
    for batch in BATCHES:
        for each in resnet_50():
            yield Operation(
                each.name(batch),
                "convolutions",
                each.kind,
                "f16",
                each.shapes(batch),
                each.result(batch),
                each.flops(batch),
            )


OPERATIONS: dict[str, Operation] = {
    each.name: each
    for group in (_elementwise, _rows, _contractions, _attention, _convolutions)
    for each in group()
}


def file_name(operation: Operation) -> str:
    """Return the name of an operation's artifact."""
    return operation.name.replace(" ", "_").replace("/", "-") + ".xyn"
