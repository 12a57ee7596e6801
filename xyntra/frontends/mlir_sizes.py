# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives the `?` dimensions of an MLIR function sizes, and with them all tensors inside.

The arguments get static types. MLIR's canonicalization carries these through the operations, as far
as they decide the shapes of their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch_mlir import ir

from xyntra.errors import InputError, ModelError, UnsupportedError
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.diagnostics import Diagnostic, PipelineError
from xyntra.passes.manager import run_pipeline

__all__ = ["DIMS", "give_sizes"]

DIMS = "xyntra.dims"
"""Array attribute of an argument: the names of its dimensions; "" for one without."""
_MOST = 2**31 - 1

Sizes = Mapping[str, int]


def give_sizes(
    module: ir.Module,
    find: Callable[[], ir.Operation],
    names: Sequence[str],
    shapes: Mapping[str, Sequence[int]],
    dims: Sizes,
) -> None:
    """Make the tensors of a function static.

    Args:
        module: holds the function, and those that it calls.
        find: returns the function, whose operations are replaced.
        names: of its arguments; "" for weights.
        shapes: sizes of arguments by name or `#position`.
        dims: sizes of dimensions: by the names that arguments give them in `xyntra.dims`, or by
            place, such as "x[0]".

    Raises:
        InputError: `unknown-dimension`, `dims` names one that is none; `free-dimension`, a
            dimension has no size; `shape-mismatch`, a size is out of range, or two contradict each
            other.
        ModelError: `mlir-invalid`, the function cannot have these sizes.
    """
    main = find()
    arguments = list(main.regions[0].blocks[0].arguments)
    declared = _declared(main, names)
    _check_names(declared, dims)
    given = _positioned(shapes, names)
    types = [
        _sized_type(argument.type, name, declared.get(name, []), given.get(name), dims)
        for argument, name in zip(arguments, names, strict=True)
    ]
    _drop_names(main)
    if types == [argument.type for argument in arguments]:
        return
    _set_types(main, types)
    del main, arguments
    try:
        run_pipeline(module, "inline-calls,canonicalize,cse")
        while _settle_branches(find()):
            run_pipeline(module, "canonicalize")
    except PipelineError as error:
        raise ModelError(
            "mlir-invalid",
            f"the function cannot have inputs of the types {', '.join(map(str, types))}",
            place=next((each.place for each in error.diagnostics), error.place),
            cause=error.cause or error.message,
        ) from None
    _set_results(find())


def _declared(main: ir.Operation, names: Sequence[str]) -> dict[str, list[str]]:
    """Return what the `?` dimensions of each argument are called; "" for static ones."""
    arguments = main.regions[0].blocks[0].arguments
    attributes = _attributes(main, len(arguments))
    found = {}
    for argument, name, own in zip(arguments, names, attributes, strict=True):
        if not name or not isinstance(argument.type, ir.RankedTensorType):
            continue
        called = _names(own, argument.type.rank, name)
        found[name] = [
            (called[axis] or f"{name}[{axis}]") if argument.type.is_dynamic_dim(axis) else ""
            for axis in range(argument.type.rank)
        ]
    return found


def _attributes(main: ir.Operation, count: int) -> list[ir.DictAttr | None]:
    if "arg_attrs" not in main.attributes:
        return [None] * count
    return [ir.DictAttr(each) for each in ir.ArrayAttr(main.attributes["arg_attrs"])]


def _names(attributes: ir.DictAttr | None, rank: int, place: str) -> list[str]:
    if attributes is None or DIMS not in attributes:
        return [""] * rank
    held = attributes[DIMS]
    names = [str(ir.StringAttr(each).value) for each in held] if _are_texts(held) else []
    if len(names) != rank:
        raise ModelError(
            "mlir-invalid",
            f"'{DIMS}' of '{place}' holds no name for each of its {rank} dimensions",
            hint=f'{DIMS} = ["batch", ""]',
        )
    return names


def _are_texts(held: ir.Attribute) -> bool:
    return isinstance(held, ir.ArrayAttr) and all(isinstance(n, ir.StringAttr) for n in held)


def _drop_names(main: ir.Operation) -> None:
    """Forget the names of dimensions."""
    if "arg_attrs" not in main.attributes:
        return
    kept = [
        ir.DictAttr.get({each.name: each.attr for each in ir.DictAttr(own) if each.name != DIMS})
        for own in ir.ArrayAttr(main.attributes["arg_attrs"])
    ]
    with main.context:
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)


def _check_names(declared: Mapping[str, Sequence[str]], dims: Sizes) -> None:
    known = [each for names in declared.values() for each in names if each]
    for name in dims:
        if name not in known:
            free = ", ".join(dict.fromkeys(known))
            raise InputError(
                "unknown-dimension",
                f"the function has no free dimension '{name}'",
                cause=f"its free dimensions are {free}" if free else "its shapes are static",
            )


def _positioned(
    shapes: Mapping[str, Sequence[int]], names: Sequence[str]
) -> dict[str, Sequence[int]]:
    """Return shapes by name."""
    inputs = [name for name in names if name]
    positions = {f"#{position}": name for position, name in enumerate(inputs)}
    return {positions.get(name, name): shape for name, shape in shapes.items()}


def _sized_type(
    kind: ir.Type,
    name: str,
    declared: Sequence[str],
    given: Sequence[int] | None,
    dims: Sizes,
) -> ir.Type:
    if not any(declared):
        return kind
    tensor = ir.RankedTensorType(kind)
    sizes = list(tensor.shape)
    if given is not None and len(given) != len(sizes):
        raise InputError(
            "shape-mismatch",
            f"input '{name}' was given the shape {tuple(given)}",
            cause=f"the function declares {kind}",
        )
    for axis, called in enumerate(declared):
        if not called:
            continue
        size = dims.get(called, given[axis] if given is not None else None)
        if size is None:
            raise _without_size(name, kind, called)
        if given is not None and size != given[axis]:
            raise InputError(
                "shape-mismatch",
                f"'{called}' is {size} by dims=, but {given[axis]} by the shape of '{name}'",
                cause="a named dimension has one size everywhere",
            )
        if not 0 <= size <= _MOST:
            raise InputError(
                "shape-mismatch", f"the size {size} is out of range", place=f"dimension '{called}'"
            )
        sizes[axis] = size
    return ir.RankedTensorType.get(sizes, tensor.element_type, tensor.encoding)


def _without_size(name: str, kind: ir.Type, called: str) -> InputError:
    return InputError(
        "free-dimension",
        "the function has free dimensions that need a size",
        place=f"input '{name}': {kind}",
        hint=f"dims={{{called!r}: 128}}, or {{{called!r}: range(1, 513)}} for all sizes to 512\n"
        f"--dim '{called}=128', or '{called}=1:512'",
    )


def _set_types(main: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Give the arguments types, which what reads them sees through casts."""
    block = main.regions[0].blocks[0]
    for argument, kind in zip(block.arguments, types, strict=True):
        known = argument.type
        if known != kind:
            argument.set_type(kind)
            with ir.InsertionPoint.at_block_begin(block), main.location:
                cast = ir.Operation.create("tensor.cast", results=[known], operands=[argument])
            argument.replace_all_uses_except(cast.result, cast)
    results = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(types), results))


def _settle_branches(main: ir.Operation) -> bool:
    """Let branches give what their casts hide, where all agree on it; tells whether any does."""
    found = False
    for op in operations_named(main, "scf.if"):
        ends = [list(region.blocks[0].operations)[-1] for region in op.regions]
        for number, result in enumerate(op.results):
            values = [_uncast(end.operands[number]) for end in ends]
            kinds = {str(value.type): value.type for value in values}
            if len(kinds) != 1 or str(result.type) in kinds:
                continue
            known, (kind,) = result.type, kinds.values()
            for end, value in zip(ends, values, strict=True):
                end.operands[number] = value
            result.set_type(kind)
            with ir.InsertionPoint.after(op), op.location:
                cast = ir.Operation.create("tensor.cast", results=[known], operands=[result])
            result.replace_all_uses_except(cast.result, cast)
            found = True
    return found


def _uncast(value: ir.Value) -> ir.Value:
    owner = value.owner
    is_cast = not isinstance(owner, ir.Block) and owner.name == "tensor.cast"
    return owner.operands[0] if is_cast else value


def _set_results(main: ir.Operation) -> None:
    """Return what has static types without the casts that hide them.

    Raises:
        UnsupportedError: `mlir-unsupported`, a result's size is not decided by those of the inputs.
    """
    block = main.regions[0].blocks[0]
    leaving = block.operations[len(block.operations) - 1].operation
    for number, value in enumerate(leaving.operands):
        leaving.operands[number] = value = _uncast(value)
        if isinstance(value.type, ir.RankedTensorType) and not value.type.has_static_shape:
            raise UnsupportedError(
                "mlir-unsupported",
                f"the sizes of the inputs do not decide that of result {number}, {value.type}",
                place=Diagnostic.at(leaving.location, "").place,
            )
    results = [value.type for value in leaving.operands]
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kind.inputs, results))
