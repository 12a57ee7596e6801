# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sequential loops over tensors, for what a `linalg.generic` cannot say.

A scatter writes where its data tells it to, and a scan reads what it has just written. Both become
a nest of `scf.for` that carries its results, which bufferization turns into writes in place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant

Body = Callable[[list[Scalar], list[Tensor]], Sequence[Tensor]]
Carried = tuple[list[Tensor], list[Scalar]]
"""What an iteration hands to the next one."""
Step = Callable[[Scalar, list[Tensor], list[Scalar]], Carried]


def for_each(
    b: TensorBuilder,
    sizes: Sequence[int],
    state: Sequence[Tensor],
    body: Body,
    independent: Collection[int] = (),
) -> list[Tensor]:
    """Run `body` once for every index below `sizes`, in row-major order.

    Args:
        b: where to build.
        sizes: trip counts, from the outermost loop to the innermost.
        state: the tensors that the loops update.
        body: takes the indices and the current tensors and returns the updated ones.
        independent: loops whose iterations neither read nor write what another one writes.

    Returns:
        The tensors after the last iteration.
    """
    with b.insertion_point, b.location:
        return _nest(sizes, [], list(state), body, independent)


def nested(
    sizes: Sequence[int], state: Sequence[Tensor], body: Body, independent: Collection[int] = ()
) -> list[Tensor]:
    """As `for_each`, at the current insertion point; only inside a body."""
    return _nest(sizes, [], list(state), body, independent)


def _nest(
    sizes: Sequence[int],
    indices: list[Scalar],
    state: list[Tensor],
    body: Body,
    independent: Collection[int],
) -> list[Tensor]:
    number = len(indices)
    if number == len(sizes):
        return list(body(indices, state))

    def inside(i: Scalar, inner: list[Tensor]) -> list[Tensor]:
        return _nest(sizes, [*indices, i], inner, body, independent)

    return for_range(sizes[number], state, inside, parallel=number in independent)


def for_range(
    size: int,
    state: Sequence[Tensor],
    body: Callable[[Scalar, list[Tensor]], Sequence[Tensor]],
    *,
    parallel: bool = False,
) -> list[Tensor]:
    """One loop from 0 to `size` at the current insertion point; only inside a body.

    With `parallel`, no iteration reads or writes what another one writes.
    """
    bounds = [constant(n, "index").value for n in (0, size, 1)]
    types = [tensor.value.type for tensor in state]
    op = ir.Operation.create(
        "scf.for",
        results=types,
        operands=[*bounds, *(tensor.value for tensor in state)],
        attributes={"xyntra.parallel": ir.UnitAttr.get()} if parallel else {},
        regions=1,
    )
    location = op.location
    block = op.regions[0].blocks.append(
        ir.IndexType.get(), *types, arg_locs=[location] * (len(types) + 1)
    )
    with ir.InsertionPoint(block):
        index, *values = block.arguments
        inner = [Tensor(value, old.dtype) for value, old in zip(values, state, strict=True)]
        _yield(body(Scalar(index, "index"), inner))
    return [Tensor(value, old.dtype) for value, old in zip(op.results, state, strict=True)]


def carry_range(
    size: Scalar, tensors: Sequence[Tensor], scalars: Sequence[Scalar], body: Step
) -> Carried:
    """One loop from 0 to `size` that hands on scalars, too; only inside a body."""
    bounds = [constant(0, "index").value, size.value, constant(1, "index").value]
    values = _values(tensors, scalars)
    op = ir.Operation.create(
        "scf.for",
        results=[value.type for value in values],
        operands=[*bounds, *values],
        regions=1,
    )
    types = [ir.IndexType.get(), *(value.type for value in values)]
    block = op.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))

    def split(found: Sequence[ir.Value]) -> Carried:
        count = len(tensors)
        return (
            [Tensor(v, old.dtype) for v, old in zip(found[:count], tensors, strict=True)],
            [Scalar(v, old.dtype) for v, old in zip(found[count:], scalars, strict=True)],
        )

    with ir.InsertionPoint(block):
        index, *inner = block.arguments
        after = body(Scalar(index, "index"), *split(inner))
        ir.Operation.create("scf.yield", operands=_values(*after))
    return split(list(op.results))


def _values(tensors: Sequence[Tensor], scalars: Sequence[Scalar]) -> list[ir.Value]:
    return [*(tensor.value for tensor in tensors), *(scalar.value for scalar in scalars)]


def when(
    condition: Scalar, state: Sequence[Tensor], body: Callable[[], Sequence[Tensor]]
) -> list[Tensor]:
    """What `body` makes of `state` where `condition` holds, else `state`; only inside a body."""
    op = ir.Operation.create(
        "scf.if",
        results=[tensor.value.type for tensor in state],
        operands=[condition.value],
        regions=2,
    )
    with ir.InsertionPoint(op.regions[0].blocks.append()):
        _yield(body())
    with ir.InsertionPoint(op.regions[1].blocks.append()):
        _yield(state)
    return [Tensor(value, old.dtype) for value, old in zip(op.results, state, strict=True)]


def insert(value: Scalar, target: Tensor, indices: Sequence[Scalar]) -> Tensor:
    """`target` with one element replaced; the indices must be in bounds; only inside a body."""
    op = ir.Operation.create(
        "tensor.insert",
        results=[target.value.type],
        operands=[value.value, target.value, *(i.value for i in indices)],
    )
    return Tensor(op.results[0], target.dtype)


def _yield(state: Sequence[Tensor]) -> None:
    ir.Operation.create("scf.yield", operands=[tensor.value for tensor in state])
