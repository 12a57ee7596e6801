# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds linalg-on-tensors IR the way one writes numpy.

Frontends and rewrites use a `TensorBuilder` instead of raw operations: `b.map(lambda x, y: x * y,
a, c)` is a broadcast product, `b.einsum("mk,kn->mn", a, w)` a matrix product. All shapes are
static. Constants of one element are inlined into the bodies that use them; operands broadcast
through indexing maps, so nothing is materialised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal, TypeGuard, Union

from torch_mlir import ir

from xyntra.dialects.dtypes import default_dtype, mlir_type
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import ShapeError, broadcast_map, broadcast_shapes
from xyntra.dialects.tensors.reassociation import corresponding_groups
from xyntra.dialects.tensors.reductions import Reduction, combine, identity_of

if TYPE_CHECKING:
    import numpy as np

Body = Callable[..., "Scalar | Sequence[Scalar]"]
Iterator = Literal["parallel", "reduction"]


@dataclass(frozen=True)
class Tensor:
    """A ranked tensor of static shape with the dtype that tells signed from unsigned."""

    value: ir.Value
    dtype: str

    @classmethod
    def of(cls, value: ir.Value) -> Tensor:
        """Return a value of the IR as a tensor whose integers, if any, are signed."""
        return cls(value, default_dtype(ir.RankedTensorType(value.type).element_type))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return tuple(ir.RankedTensorType(self.value.type).shape)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


Operand = Union[Tensor, "np.ndarray"]  # numpy itself is loaded by those who hold arrays
"""A tensor of the program, or an array known at compile time."""


class TensorBuilder:
    """Emits operations before `insertion_point`, each with the current `location`.

    Attributes:
        stored: called with arrays known at compile time that become tensors of the program.
    """

    def __init__(
        self,
        insertion_point: ir.InsertionPoint,
        location: ir.Location,
        stored: Callable[[np.ndarray], None] = lambda _: None,
    ) -> None:
        self.insertion_point = insertion_point
        self.location = location
        self.stored = stored

    @property
    def context(self) -> ir.Context:
        """The MLIR context of everything built."""
        return self.location.context

    def tensor_type(self, shape: Sequence[int], dtype: str) -> ir.RankedTensorType:
        """The MLIR type of a tensor.

        Raises:
            ShapeError: a dimension is not one that 64 bits hold.
        """
        if any(not 0 <= size < 1 << 63 for size in shape):
            raise ShapeError(f"{list(shape)} is not the shape of a tensor")
        return ir.RankedTensorType.get(shape, mlir_type(dtype, self.context), loc=self.location)

    def emit(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Create any operation at the insertion point."""
        return ir.Operation.create(
            name,
            results=list(results),
            operands=list(operands),
            attributes=attributes or {},
            regions=regions,
            loc=self.location,
            ip=self.insertion_point,
        )

    def constant(self, array: np.ndarray) -> Tensor:
        """An `arith.constant` holding `array`; equal elements are stored once."""
        from xyntra.dialects.dense import dense_attribute  # loads numpy

        dtype = array.dtype.name
        type_ = self.tensor_type(array.shape, dtype)
        with self.location:
            attribute = dense_attribute(array, type_, dtype)
        op = self.emit("arith.constant", [], [type_], {"value": attribute})
        return Tensor(op.results[0], dtype)

    def tensor(self, operand: Operand) -> Tensor:
        """`operand` as a tensor of the program."""
        if isinstance(operand, Tensor):
            return operand
        self.stored(operand)
        return self.constant(operand)

    def empty(self, shape: Sequence[int], dtype: str) -> ir.Value:
        """A tensor with undefined contents, the destination of an operation."""
        return self.emit("tensor.empty", [], [self.tensor_type(shape, dtype)]).results[0]

    def generic(
        self,
        inputs: Sequence[tuple[Tensor, ir.AffineMap]],
        outputs: Sequence[tuple[ir.Value, str, ir.AffineMap]],
        iterators: Sequence[Iterator],
        body: Body,
    ) -> list[Tensor]:
        """A `linalg.generic`.

        Args:
            inputs: tensors with the maps that read them.
            outputs: initial values with their dtypes and maps.
            iterators: the kind of every loop.
            body: takes one scalar an input and one an output (the running value), and returns
                the new value of each output.
        """
        maps = [map_ for _, map_ in inputs] + [map_ for *_, map_ in outputs]
        dtypes = [tensor.dtype for tensor, _ in inputs] + [dtype for _, dtype, _ in outputs]
        values = [tensor.value for tensor, _ in inputs] + [value for value, *_ in outputs]
        with self.location:
            attributes = {
                "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
                "iterator_types": ir.Attribute.parse(
                    f"[{', '.join(f'#linalg.iterator_type<{kind}>' for kind in iterators)}]"
                ),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
            }
        results = [value.type for value, *_ in outputs]
        op = self.emit("linalg.generic", values, results, attributes, regions=1)
        self._fill_body(op, dtypes, body)
        pairs = zip(op.results, outputs, strict=True)
        return [Tensor(result, dtype) for result, (_, dtype, _) in pairs]

    def _fill_body(self, op: ir.Operation, dtypes: Sequence[str], body: Body) -> None:
        types = [mlir_type(dtype, self.context) for dtype in dtypes]
        block = op.regions[0].blocks.append(*types, arg_locs=[self.location] * len(types))
        with ir.InsertionPoint(block), self.location:
            pairs = zip(block.arguments, dtypes, strict=True)
            result = body(*(Scalar(argument, dtype) for argument, dtype in pairs))
            scalars = [result] if isinstance(result, Scalar) else list(result)
            ir.Operation.create("linalg.yield", operands=[scalar.value for scalar in scalars])

    def identity(self, rank: int) -> ir.AffineMap:
        """The identity map of `rank` dimensions."""
        return ir.AffineMap.get_identity(rank, self.context)

    def map(
        self, body: Body, *operands: Operand, dtype: str, shape: Sequence[int] | None = None
    ) -> Tensor:
        """Apply `body` to every element, operands broadcast by numpy's rule.

        Arrays with one element reach `body` as scalar constants.

        Args:
            body: one `Scalar` an operand -> a `Scalar` of `dtype`.
            operands: tensors or arrays.
            dtype: element type of the result.
            shape: result shape, where the operands alone do not say it.
        """
        domain = broadcast_shapes(*(op.shape for op in operands), *([shape] if shape else []))
        tensors = [self.tensor(op) for op in operands if not _is_number(op)]

        def with_constants(*scalars: Scalar) -> Scalar | Sequence[Scalar]:
            loaded = iter(scalars)
            return body(
                *(
                    constant(op.item(), op.dtype.name) if _is_number(op) else next(loaded)
                    for op in operands
                )
            )

        with self.location:
            inputs = [(tensor, broadcast_map(tensor.shape, domain)) for tensor in tensors]
        output = (self.empty(domain, dtype), dtype, self.identity(len(domain)))
        return self.generic(inputs, [output], ["parallel"] * len(domain), with_constants)[0]

    def fill(self, shape: Sequence[int], dtype: str, value: float | int) -> ir.Value:
        """A tensor whose elements all are `value`."""
        with self.insertion_point, self.location:
            number = constant(value, dtype)  # outside of the body, where canonicalization puts it
        return self.map(lambda: number, dtype=dtype, shape=shape).value

    def view(
        self, source: Tensor, shape: Sequence[int], index: Callable[..., list[ir.AffineExpr]]
    ) -> Tensor:
        """Read `source` at affine positions.

        Args:
            source: the tensor to read.
            shape: shape of the result.
            index: takes one affine dimension for each result dimension and returns the affine
                position to read in each dimension of `source`.
        """
        with self.location:
            dims = [ir.AffineDimExpr.get(i) for i in range(len(shape))]
            read = ir.AffineMap.get(len(shape), 0, index(*dims))
        output = (self.empty(shape, source.dtype), source.dtype, self.identity(len(shape)))
        body: Body = lambda x, _: x  # noqa: E731
        return self.generic([(source, read)], [output], ["parallel"] * len(shape), body)[0]

    def transpose(self, source: Tensor, permutation: Sequence[int]) -> Tensor:
        """Dimension `i` of the result is dimension `permutation[i]` of `source`."""
        if list(permutation) == list(range(source.rank)):
            return source
        shape = [source.shape[axis] for axis in permutation]
        inverse = [list(permutation).index(axis) for axis in range(source.rank)]
        return self.view(source, shape, lambda *d: [d[position] for position in inverse])

    def broadcast_to(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """`source` repeated to `shape` by numpy's rule."""
        if tuple(shape) == source.shape:
            return source
        return self.map(lambda x, *_: x, source, dtype=source.dtype, shape=shape)

    def slice(
        self, source: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
    ) -> Tensor:
        """Elements `starts + i * steps` of every dimension; steps may be negative."""
        if tuple(sizes) == source.shape and all(step == 1 for step in steps):
            return source
        if 0 in sizes:  # MLIR refuses a slice that starts where an empty dimension ends
            return Tensor(self.empty(sizes, source.dtype), source.dtype)
        spec = list(zip(starts, sizes, steps, strict=True))
        lowest = [start + min(0, step * (n - 1)) if n else 0 for start, n, step in spec]
        fields = {"offsets": lowest, "sizes": sizes, "strides": [abs(step) for step in steps]}
        attributes: dict[str, ir.Attribute] = {
            f"static_{name}": ir.DenseI64ArrayAttr.get(list(values), self.context)
            for name, values in fields.items()
        }
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0], self.context)
        type_ = self.tensor_type(sizes, source.dtype)
        op = self.emit("tensor.extract_slice", [source.value], [type_], attributes)
        return self.flip(Tensor(op.results[0], source.dtype), [step < 0 for step in steps])

    def flip(self, source: Tensor, reversed_: Sequence[bool]) -> Tensor:
        """`source` with the order of elements reversed along the dimensions that are marked."""
        if not any(reversed_):
            return source
        last = [size - 1 for size in source.shape]
        return self.view(
            source,
            source.shape,
            lambda *d: [
                end - x if back else x for x, end, back in zip(d, last, reversed_, strict=True)
            ],
        )

    def pad(
        self, source: Tensor, low: Sequence[int], high: Sequence[int], value: float | int
    ) -> Tensor:
        """`source` with `low` elements of `value` before it and `high` after, per dimension."""
        if not any(low) and not any(high):
            return source
        shape = [a + n + z for a, n, z in zip(low, source.shape, high, strict=True)]
        attributes: dict[str, ir.Attribute] = {
            "static_low": ir.DenseI64ArrayAttr.get(list(low), self.context),
            "static_high": ir.DenseI64ArrayAttr.get(list(high), self.context),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0], self.context),
        }
        type_ = self.tensor_type(shape, source.dtype)
        op = self.emit("tensor.pad", [source.value], [type_], attributes, regions=1)
        indices = [ir.IndexType.get(self.context)] * source.rank
        block = op.regions[0].blocks.append(*indices, arg_locs=[self.location] * source.rank)
        with ir.InsertionPoint(block), self.location:
            filler = constant(value, source.dtype)
            ir.Operation.create("tensor.yield", operands=[filler.value])
        return Tensor(op.results[0], source.dtype)

    def reshape(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """Return the elements in row-major order under another shape; never copies."""
        if tuple(shape) == source.shape:
            return source
        if prod(tuple(shape)) != prod(source.shape):
            raise ShapeError(f"shape {source.shape} has not as many elements as {tuple(shape)}")
        if 0 in (source.rank, len(shape)):
            name = "tensor.collapse_shape" if source.rank else "tensor.expand_shape"
            return self._reassociate(name, source, shape, [])
        groups = corresponding_groups(source.shape, shape)
        middle = [prod(source.shape[d] for d in old) for old, _ in groups]
        if len(middle) < source.rank:
            old_groups = [old for old, _ in groups]
            source = self._reassociate("tensor.collapse_shape", source, middle, old_groups)
        if len(middle) < len(shape):
            new_groups = [new for _, new in groups]
            source = self._reassociate("tensor.expand_shape", source, shape, new_groups)
        return source

    def _reassociate(
        self, name: str, source: Tensor, shape: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> Tensor:
        i64 = ir.IntegerType.get_signless(64, self.context)
        arrays = [
            ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in group], self.context)
            for group in groups
        ]
        attributes: dict[str, ir.Attribute] = {
            "reassociation": ir.ArrayAttr.get(arrays, self.context)
        }
        if name == "tensor.expand_shape":
            attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(list(shape), self.context)
        op = self.emit(name, [source.value], [self.tensor_type(shape, source.dtype)], attributes)
        return Tensor(op.results[0], source.dtype)

    def reduce(
        self,
        source: Tensor,
        axes: Sequence[int],
        kind: Reduction,
        *,
        keepdims: bool = True,
        accumulator: str | None = None,
        element: Callable[[Scalar], Scalar] | None = None,
    ) -> Tensor:
        """Combine the elements along `axes`.

        Args:
            source: the tensor to reduce.
            axes: non-negative dimensions.
            kind: how two values combine.
            keepdims: leave reduced dimensions with size 1.
            accumulator: dtype to accumulate in and to return; default is the source's.
            element: applied to each element, in the accumulator's dtype, before it is combined.
        """
        dtype = accumulator or source.dtype
        if dtype == "bfloat16":  # which has no arithmetic: every step would be rounded
            wide = self.reduce(
                source, axes, kind, keepdims=keepdims, accumulator="float32", element=element
            )
            return self.map(lambda x: x.cast(dtype), wide, dtype=dtype)
        kept = [d for d in range(source.rank) if d not in axes]
        initial = self.fill([source.shape[d] for d in kept], dtype, identity_of(kind, dtype))
        with self.location:
            write = ir.AffineMap.get(source.rank, 0, [ir.AffineDimExpr.get(d) for d in kept])
        iterators: list[Iterator] = [
            "reduction" if d in axes else "parallel" for d in range(source.rank)
        ]

        def body(x: Scalar, running: Scalar) -> Scalar:
            value = x.cast(dtype)
            return combine(kind, running, element(value) if element else value)

        read = self.identity(source.rank)
        result = self.generic([(source, read)], [(initial, dtype, write)], iterators, body)[0]
        if not keepdims:
            return result
        return self.reshape(result, [1 if d in axes else n for d, n in enumerate(source.shape)])

    def einsum(self, equation: str, a: Tensor, b: Tensor, accumulator: str | None = None) -> Tensor:
        """A contraction of two tensors, as in `einsum("bmk,bkn->bmn", a, b)`.

        Letters that the result lacks are summed over. A dimension of size 1 broadcasts.

        Args:
            equation: letters of both operands and of the result.
            a: first factor.
            b: second factor.
            accumulator: dtype to multiply and accumulate in and to return; default that of `a`.
        """
        left, right, out = equation.replace("->", ",").split(",")
        dtype = accumulator or a.dtype
        letters = out + "".join(c for c in dict.fromkeys(left + right) if c not in out)
        sizes: dict[str, int] = {}
        for c, size in [*zip(left, a.shape, strict=True), *zip(right, b.shape, strict=True)]:
            sizes[c] = size if sizes.get(c, 1) == 1 else sizes[c]
        with self.location:
            maps = [
                _letters_map(letters, operand, shape, sizes)
                for operand, shape in ((left, a.shape), (right, b.shape))
            ]
            write = _letters_map(letters, out, [sizes[c] for c in out], sizes)
        initial = self.fill([sizes[c] for c in out], dtype, 0)
        iterators: list[Iterator] = ["parallel" if c in out else "reduction" for c in letters]
        return self.generic(
            [(a, maps[0]), (b, maps[1])],
            [(initial, dtype, write)],
            iterators,
            lambda x, y, running: running + x.cast(dtype) * y.cast(dtype),
        )[0]

    def index(self, dimension: int) -> Scalar:
        """The loop index of `dimension`; only inside a body."""
        i64 = ir.IntegerType.get_signless(64)
        op = ir.Operation.create(
            "linalg.index",
            results=[ir.IndexType.get()],
            attributes={"dim": ir.IntegerAttr.get(i64, dimension)},
        )
        return Scalar(op.results[0], "index")

    def extract(self, source: Tensor, indices: Sequence[Scalar]) -> Scalar:
        """The element of `source` at `indices`, which must be in bounds; only inside a body."""
        element = ir.RankedTensorType(source.value.type).element_type
        operands = [source.value, *(i.value for i in indices)]
        op = ir.Operation.create("tensor.extract", results=[element], operands=operands)
        return Scalar(op.results[0], source.dtype)


def _is_number(operand: Operand) -> TypeGuard[np.ndarray]:
    return not isinstance(operand, Tensor) and operand.size == 1


def _letters_map(
    letters: str, operand: str, shape: Sequence[int], sizes: dict[str, int]
) -> ir.AffineMap:
    """Reads an operand over the iteration space `letters`, whose sizes are `sizes`."""
    expressions = [
        ir.AffineDimExpr.get(letters.index(c)) if size == sizes[c] else ir.AffineConstantExpr.get(0)
        for c, size in zip(operand, shape, strict=True)
    ]
    return ir.AffineMap.get(len(letters), 0, expressions)
