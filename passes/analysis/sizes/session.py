# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what is known while one kernel with sizes is lowered at one sample of them.

The kernel takes an array of sizes as its last input. `value` is the code of a size: an element of
that array, loaded where the kernel begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit, size_code
from xyntra.dialects.sizes import Bounds, Expr, ProductLimit, constant, parse
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import PREPARE, entry_block
from xyntra.passes.analysis.sizes.size import Size, facts

__all__ = [
    "MOST_SIZES",
    "SIZE",
    "SIZES",
    "Guard",
    "SizeSession",
    "not_free",
    "session",
    "size_value",
    "sized",
    "sized_strides",
]

MOST_SIZES = 128
"""Elements of the array of sizes of a kernel."""
SIZES = "xyntra.sizes"
"""Integer attribute of a kernel: the number of the argument that is the array of its sizes."""
SIZE = "xyntra.size"
"""String attribute of the operation whose result is a size: its expression."""

Guard = tuple[str, str, str]
""""<" or "<=", and the expressions of which it has to hold."""


def not_free(message: str) -> CompileError:
    """Return the error for a kernel that cannot have free sizes as it is lowered."""
    return CompileError("kernel-not-free", message)


@dataclass
class SizeSession:
    """The lowering of one kernel at one sample.

    Attributes:
        kernel: its function.
        numbers: the expressions of the numbers that are sizes at this sample.
        sample: the sizes of the symbols.
        hints: their usual sizes, which estimates are made for.
        ranges: their least and largest sizes.
        guards: what has been taken for granted, in order.
        sizes: the expressions of the elements of the array of sizes.
        values: the code of sizes, by their expressions.
        is_estimate: whether numbers that are sizes are read as usual ones: nothing but a choice of
            schedules is made with them.
        limit: what the product of all symbols is at most, of code that is for small sizes alone.
    """

    kernel: ir.Operation
    numbers: Mapping[int, Expr]
    sample: Mapping[str, int]
    hints: Mapping[str, int]
    ranges: Mapping[str, Bounds]
    guards: dict[Guard, None] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    values: dict[str, ir.Value] = field(default_factory=dict)
    is_estimate: bool = False
    limit: ProductLimit | None = None

    def __post_init__(self) -> None:
        """Note the limit among the guards."""
        if self.limit is not None:
            self.guard("<=", self.limit.product, constant(self.limit.most))

    def hint(self, size: Expr) -> int:
        """Return the value for usual sizes."""
        return size.at(self.hints)

    def bounds(self, size: Expr, *, several: bool = False) -> Bounds:
        """Return the least and the largest value; with `several`, of symbols that are not 1."""
        if not several:
            return size.bounds(self.ranges, self.limit)
        ranges = {name: (max(2, low), max(2, high)) for name, (low, high) in self.ranges.items()}
        return size.bounds(ranges, self.limit)

    def expression(self, number: int) -> Expr | None:
        """Return the expression of a number of the IR; None for one that is no size."""
        return self.numbers.get(number)

    def guard(self, kind: str, left: Expr, right: Expr) -> None:
        """Note what has to hold."""
        self.guards[kind, str(left), str(right)] = None

    def value(self, size: Size) -> ir.Value:
        """Return a size as an index.

        Raises:
            CompileError: `kernel-not-free`, it is asked for where the model is loaded.
        """
        text = str(size.expression)
        if _around(ir.InsertionPoint.current.block, PREPARE):
            raise not_free(f"what is prepared of a weight has the size {text}")
        found = self.values.get(text)
        if found is None:
            found = self.values[text] = self._load(text)
        return found

    def _load(self, text: str) -> ir.Value:
        if text not in self.sizes:
            if len(self.sizes) == MOST_SIZES:
                raise not_free(f"it has more than {MOST_SIZES} sizes")
            self.sizes.append(text)
        kernel = self.kernel
        block = entry_block(kernel)
        array = block.arguments[ir.IntegerAttr(kernel.attributes[SIZES]).value]
        kinds = ir.IndexType.get(), ir.IntegerType.get_signless(64)
        with ir.InsertionPoint.at_block_begin(block), kernel.location:
            number = ir.IntegerAttr.get(kinds[0], self.sizes.index(text))
            place = emit("arith.constant", [], kinds[0], value=number)
            word = emit("memref.load", [array, place], kinds[1])
            return emit("arith.index_cast", [word], kinds[0], **{SIZE: ir.StringAttr.get(text)})

    def forget_values(self) -> None:
        """Make values anew from now on: passes may have replaced those that there are."""
        self.values.clear()


session: ContextVar[SizeSession | None] = ContextVar("session", default=None)


@contextmanager
def lowering(current: SizeSession) -> Iterator[None]:
    """Let numbers that are sizes in `current` be read as such."""
    tokens = session.set(current), facts.set(current), size_code.set(size_value)
    try:
        yield
    finally:
        session.reset(tokens[0])
        facts.reset(tokens[1])
        size_code.reset(tokens[2])


def sized(number: int) -> int:
    """Return a number of the IR, as a size where it is one."""
    current = session.get()
    if current is None:
        return number
    found = current.numbers.get(number)
    if found is None:
        return number
    return current.hint(found) if current.is_estimate else Size(number, found)


def sized_strides(kind: ir.MemRefType) -> list[int]:
    """Return the strides of a memref, as sizes where they are such."""
    strides, _ = kind.get_strides_and_offset()
    if session.get() is None:
        return list(strides)
    if kind.layout != ir.AffineMapAttr.get(ir.AffineMap.get_identity(kind.rank)):
        return [sized(each) for each in strides]
    steps = [1] * kind.rank
    for axis in reversed(range(kind.rank - 1)):
        steps[axis] = steps[axis + 1] * sized(kind.shape[axis + 1])
    return steps


def size_of(value: ir.Value) -> int | None:
    """Return the size that `value` holds; None where it holds something else."""
    current = session.get()
    owner = value.owner
    if current is None or isinstance(owner, ir.Block) or SIZE not in owner.operation.attributes:
        return None
    text = ir.StringAttr(owner.operation.attributes[SIZE]).value
    expression = parse(text)
    return Size(expression.at(current.sample), expression)


def size_value(number: int) -> ir.Value | None:
    """Return the code of a size; None for a number."""
    current = session.get()
    if current is None or not isinstance(number, Size):
        return None
    return current.value(number)


def _around(block: ir.Block, attribute: str) -> bool:
    """Tell whether `block` is in a function with an attribute."""
    op = block.owner.operation
    while op.name != "func.func":
        op = op.parent.operation
    return attribute in op.attributes
