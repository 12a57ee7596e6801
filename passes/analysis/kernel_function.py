# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernel function of a module: finding it, and checking that it keeps the kernel contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError

TASK = "xyntra.task"
"""Integer attribute of a function that does a range of iterations of a kernel's loop: the least
number of these that one thread should do in a row."""
CONSTANT = "xyntra.constant"
"""Unit attribute of an argument that is known when the model is loaded."""
PREPARE = "xyntra.prepare"
"""Unit attribute of the function beside a kernel that brings its constants into another order."""
_ELEMENTS = frozenset(["f64", "f32", "f16", "bf16", "i1", "i8", "i16", "i32", "i64"])


def kernel_function(module: ir.Operation, kind: str = "func.func") -> ir.Operation:
    """Return the only function of `module` that has a body and is no task, an operation of `kind`.

    Nor does the function count that prepares the kernel's constants.

    Raises:
        CompileError: there is none or more than one.
    """
    operations = module.regions[0].blocks[0].operations
    functions = [op.operation for op in operations if op.operation.name == kind]
    found = [
        function
        for function in functions
        if len(function.regions[0].blocks)
        and TASK not in function.attributes
        and PREPARE not in function.attributes
    ]
    if len(found) != 1:
        raise CompileError("kernel-module", f"a kernel module holds one {kind}, not {len(found)}")
    return found[0]


def task_functions(module: ir.Operation, kind: str = "func.func") -> list[ir.Operation]:
    """Return the functions of `module` that do a range of iterations of the kernel's loops."""
    operations = [view.operation for view in module.regions[0].blocks[0].operations]
    return [op for op in operations if op.name == kind and TASK in op.attributes]


def private_bytes(kernel: ir.Operation) -> int:
    """Return how much memory of its own a thread needs that works on the kernel's tasks."""
    found = kernel.attributes
    return int(ir.IntegerAttr(found["xyntra.private"]).value) if "xyntra.private" in found else 0


def prepare_function(module: ir.Operation, kind: str = "func.func") -> ir.Operation | None:
    """Return the function of `module` that prepares the kernel's constants, if there is one."""
    for view in module.regions[0].blocks[0].operations:
        if view.operation.name == kind and PREPARE in view.operation.attributes:
            return view.operation
    return None


def constant_arguments(function: ir.Operation) -> frozenset[int]:
    """Return the numbers of the arguments that are known when the model is loaded."""
    if "arg_attrs" not in function.attributes:
        return frozenset()
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    return frozenset(number for number, each in enumerate(given) if CONSTANT in ir.DictAttr(each))


def function_name(function: ir.Operation) -> str:
    """Return the symbol name of a function."""
    return str(ir.StringAttr(function.attributes["sym_name"]).value)


def entry_block(function: ir.Operation) -> ir.Block:
    """Return the first block of a function's body."""
    return function.regions[0].blocks[0]


def terminator(block: ir.Block) -> ir.Operation:
    """Return the last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def inplace_pairs(function: ir.Operation) -> dict[int, int]:
    """Return the in-place results of a kernel: result number to argument number."""
    if "xyntra.inplace" not in function.attributes:
        return {}
    pairs = ir.ArrayAttr(function.attributes["xyntra.inplace"])
    return {_integer(pair, 0): _integer(pair, 1) for pair in pairs}


def operations_named(function: ir.Operation, *names: str) -> list[ir.Operation]:
    """Return the operations inside `function` that have one of `names`, in order."""
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(collect)
    return found


def direct_operations_named(function: ir.Operation, *names: str) -> list[ir.Operation]:
    """As `operations_named`, of the operations directly in the body of `function` alone."""
    operations = (view.operation for view in entry_block(function).operations)
    return [op for op in operations if op.name in names]


def set_signature(function: ir.Operation, results: Sequence[ir.Type]) -> None:
    """Give a function the type of its block arguments and `results`."""
    inputs = [argument.type for argument in entry_block(function).arguments]
    signature = ir.FunctionType.get(inputs, list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    attributes = function.attributes
    if "arg_attrs" in attributes:
        known = list(ir.ArrayAttr(attributes["arg_attrs"]))
        known += [ir.DictAttr.get({})] * (len(inputs) - len(known))
        attributes["arg_attrs"] = ir.ArrayAttr.get(known)
    if "res_attrs" in attributes:
        del attributes["res_attrs"]


@contextmanager
def kernel_named(function: ir.Operation) -> Iterator[None]:
    """Name the kernel in errors of what is done to it.

    Raises:
        CompileError: those of what is done; `kernel-lowering` for an error of MLIR's.
    """
    place = f"kernel '{function_name(function)}'"
    try:
        yield
    except CompileError as error:
        error.place = f"{place}\n{error.place}" if error.place else place
        raise
    except ir.MLIRError as error:
        message = "a kernel could not be lowered"
        raise CompileError("kernel-lowering", message, place=place, cause=str(error)) from error


def check_contract(function: ir.Operation) -> None:
    """Refuse a function that is not a kernel: static tensors of known elements, one block.

    Raises:
        CompileError: naming what is not as the contract says.
    """
    place = f"kernel '{function_name(function)}'"
    if len(function.regions[0].blocks) != 1:
        raise CompileError("kernel-blocks", "a kernel has exactly one block", place=place)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for kind in [*signature.inputs, *signature.results]:
        _check_type(kind, place)
    for result, argument in inplace_pairs(function).items():
        _check_inplace(signature, result, argument, place)


def check_buffers(function: ir.Operation) -> None:
    """Refuse a kernel that is not in the form that bufferization and `inplace-results` give it.

    Raises:
        CompileError: it has several blocks, returns something, or takes something else than memory
            of static shape.
    """
    place = f"kernel '{function_name(function)}'"
    if len(function.regions[0].blocks) != 1:
        raise CompileError("kernel-blocks", "a kernel has exactly one block", place=place)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    if signature.results:
        message = "a kernel on buffers returns nothing, but writes its results into arguments"
        raise CompileError("kernel-results", message, place=place)
    for kind in signature.inputs:
        if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
            message = f"{kind} is not a memref of static shape"
            raise CompileError("kernel-type", message, place=place)


def _check_type(kind: ir.Type, place: str) -> None:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise CompileError("kernel-type", f"{kind} is not a tensor of static shape", place=place)
    if str(kind.element_type) not in _ELEMENTS:
        raise CompileError("kernel-type", f"{kind} has an unsupported element type", place=place)


def _check_inplace(signature: ir.FunctionType, result: int, argument: int, place: str) -> None:
    in_range = result < len(signature.results) and argument < len(signature.inputs)
    if in_range and signature.results[result] == signature.inputs[argument]:
        return
    message = f"result {result} cannot be written into argument {argument}: the types differ"
    raise CompileError("kernel-inplace", message, place=place)


def _integer(pair: ir.Attribute, index: int) -> int:
    return int(ir.IntegerAttr(ir.ArrayAttr(pair)[index]).value)
