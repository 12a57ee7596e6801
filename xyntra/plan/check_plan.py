# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that the numbers of a plan fit each other, before anything is computed with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf, prod
from typing import Any, get_args

from xyntra.dialects.dtypes import ELEMENT_TYPES, item_bytes
from xyntra.dialects.kinds import KINDS
from xyntra.errors import is_code
from xyntra.passes.precision.weight_part import WeightPart
from xyntra.plan.memory import ALIGNMENT
from xyntra.plan.plan import (
    WHOLE_KINDS,
    Buffer,
    BufferKind,
    KernelCode,
    Plan,
    Port,
    Requirement,
    SizedDimension,
    Step,
    TensorType,
)

__all__ = ["PlanError", "check_plan", "is_dtype", "is_shape"]

_NAME = re.compile(r"\w{1,400}", re.ASCII)
_MOST_BYTES = 1 << 48
_KNOWN = ("parameter", "constant", "prepared")


class PlanError(ValueError):
    """A plan contradicts itself."""


def check_plan(plan: Plan) -> None:
    """Check `plan`, whose fields may hold anything that JSON can.

    Raises:
        PlanError: saying what does not fit.
    """
    _require(_is_count(plan.operations), "the number of operations is no count")
    _require(all(isinstance(each, str) for each in plan.fallbacks), "a fallback is no text")
    precisions = [text for entry in plan.precisions for text in entry]
    _require(all(isinstance(each, str) for each in precisions), "a precision is no text")
    for number, buffer in enumerate(plan.buffers):
        _check_buffer(buffer, f"buffer {number}")
        _check_part(plan, buffer, f"buffer {number}")
    _check_ports(plan, plan.inputs, "input", "state")
    _check_ports(plan, plan.outputs, "output", "state")
    flags = [requirement.flag for requirement in plan.requirements]
    for number, requirement in enumerate(plan.requirements):
        _check_requirement(plan, requirement, f"requirement {number}")
    for number, sized in enumerate(plan.sizes):
        _check_size(plan, sized, f"size {number}")
    computed = [*flags, *(sized.count for sized in plan.sizes)]
    _check_homes(plan, plan.inputs, "input", "state")
    _check_homes(plan, [*plan.outputs, *computed], "output", "state")
    for name, kernel in plan.kernels.items():
        _require(_NAME.fullmatch(name) is not None, f"{name!r} is no name of a kernel")
        _check_kernel(kernel, f"kernel '{name}'")
    for number, step in enumerate(plan.steps):
        _check_step(plan, step, f"step {number}")
    _check_order(plan)
    settled = [isinstance(name, str) and name not in plan.sources for name in plan.settled]
    _require(all(settled), "a weight that is said to be settled is there, or has no text as name")


def is_dtype(value: object) -> bool:
    """Tell whether `value` is the name of a dtype that tensors have."""
    return isinstance(value, str) and value in ELEMENT_TYPES and value != "index"


def is_shape(value: object) -> bool:
    """Tell whether `value` is a shape of a tensor that memory may hold."""
    return (
        isinstance(value, (tuple, list))
        and all(map(_is_count, value))
        and prod(size for size in value if size) < _MOST_BYTES
    )


def _require(condition: object, message: str) -> None:
    if not condition:
        raise PlanError(message)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST_BYTES


def _check_buffer(buffer: Buffer, place: str) -> None:
    _require(buffer.kind in get_args(BufferKind), f"{place} is of no known kind")
    _require(_is_count(buffer.nbytes), f"{place} has no size")
    _require(isinstance(buffer.name, str), f"{place} has a name that is no text")
    _require(
        bool(buffer.name) <= (buffer.kind == "parameter"), f"{place} has a name, but no weight"
    )
    is_rounded = buffer.rounded_to in ("float16", "bfloat16") and buffer.kind == "parameter"
    _require(buffer.rounded_to == "" or is_rounded, f"{place} is rounded to no shorter type")
    is_part = bool(buffer.source) and WeightPart.read(buffer.part) is not None
    is_part = is_part and buffer.kind == "parameter"
    _require(isinstance(buffer.source, str), f"{place} is part of what has no text as name")
    _require((buffer.source, buffer.part) == ("", "") or is_part, f"{place} is part of no weight")
    held = buffer.nbytes if buffer.kind == "constant" else 0
    _require(len(buffer.data) == held, f"{place} holds {len(buffer.data)} bytes, not {held}")


def _check_part(plan: Plan, buffer: Buffer, place: str) -> None:
    if buffer.kind != "part":
        numbers = (buffer.whole, buffer.offset)
        _require(all(type(each) is int and each == 0 for each in numbers), f"{place} is no part")
        return
    whole = _buffer(plan, buffer.whole, place)
    _require(whole.kind in WHOLE_KINDS, f"{place} is part of a buffer of kind {whole.kind!r}")
    _require(_is_count(whole.nbytes) and _is_count(buffer.offset), f"{place} has no place")
    fits = buffer.offset % ALIGNMENT == 0 and buffer.offset + buffer.nbytes <= whole.nbytes
    _require(fits and buffer.nbytes, f"{place} does not lie in buffer {buffer.whole}")


def _check_ports(plan: Plan, ports: Sequence[Port], *kinds: BufferKind) -> None:
    kind = kinds[0]
    for port in ports:
        place = f"{kind} {port.name!r}"
        _require(isinstance(port.name, str), f"{place} has a name that is no text")
        _require(
            all(isinstance(each, str) for each in port.fixed_by), f"{place} is fixed by no text"
        )
        _require(isinstance(port.copied, str), f"{place} is copied for no text")
        _require(isinstance(port.apart, str), f"{place} lies apart for no text")
        _require(is_dtype(port.dtype) and is_shape(port.shape), f"{place} is no tensor")
        buffer = _buffer(plan, port.buffer, place)
        _require(buffer.kind in kinds, f"{place} lies in a buffer of kind '{buffer.kind}'")
        is_state = kind == "output" and buffer.kind == "state"
        _require(is_state or not port.copied, f"{place} is copied over no input")
        own = kind == "output" and not is_state
        _require(own or not port.apart, f"{place} lies apart, and is no output of its own")
        _require(buffer.nbytes == port.nbytes, f"{place} does not fill its buffer")
    names = {port.name for port in ports}
    _require(len(names) == len(ports), f"two {kind}s have one name")


def _check_requirement(plan: Plan, requirement: Requirement, place: str) -> None:
    texts = [requirement.code, requirement.message]
    texts += [requirement.place, requirement.cause, requirement.hint]
    _require(all(isinstance(text, str) for text in texts), f"{place} has a text that is none")
    _require(is_code(requirement.code), f"{place} has no code of an error")
    flag = requirement.flag
    is_boolean = (flag.name, flag.dtype, flag.shape, flag.fixed_by) == ("", "bool", (), ())
    _require(is_boolean, f"{place} is no boolean")
    _check_ports(plan, [flag], "output")


def _check_size(plan: Plan, sized: SizedDimension, place: str) -> None:
    known = _is_count(sized.output) and sized.output < len(plan.outputs)
    _require(known, f"{place} is of no output")
    rank = len(plan.outputs[sized.output].shape)
    _require(_is_count(sized.dimension) and sized.dimension < rank, f"{place} is of no dimension")
    count = sized.count
    is_number = (count.name, count.dtype, count.shape, count.fixed_by) == ("", "int64", (), ())
    _require(is_number, f"{place} is no number")
    _check_ports(plan, [count], "output")


def _check_homes(plan: Plan, ports: Sequence[Port], *kinds: BufferKind) -> None:
    """Check that each buffer of some kinds is that of one port."""
    used, kind = {port.buffer for port in ports}, kinds[0]
    _require(len(used) == len(ports), f"two {kind}s have one buffer")
    there = {number for number, buffer in enumerate(plan.buffers) if buffer.kind in kinds}
    _require(there == used, f"the buffers of kind '{kind}' are not those of the {kind}s")


def _buffer(plan: Plan, number: object, place: str) -> Buffer:
    if type(number) is not int or not 0 <= number < len(plan.buffers):
        raise PlanError(f"{place} has buffer {number!r}, of {len(plan.buffers)}")
    return plan.buffers[number]


def _check_kernel(kernel: KernelCode, place: str) -> None:
    _require(kernel.kind in KINDS, f"{place} is of no known kind")
    sizes = (kernel.scratch, kernel.private, kernel.prepared)
    _require(all(map(_is_count, sizes)), f"{place} has no sizes of memory")
    _require(
        type(kernel.flops) is int and kernel.flops >= 0, f"{place} has no number of operations"
    )
    known = kernel.tuned is None or (type(kernel.tuned) is float and 0 <= kernel.tuned < inf)
    _require(known, f"{place} took a time that is none")
    _require(type(kernel.packaged) is bool, f"{place} has no origin of its schedules")
    texts = [kernel.source, *kernel.schedules]
    _require(all(isinstance(each, str) for each in texts), f"{place} has a text that is none")
    for kind in (*kernel.arguments, *kernel.results):
        _require(is_dtype(kind.dtype) and is_shape(kind.shape), f"{place} has a type that is none")
    results, arguments = ([pair[end] for pair in kernel.inplace] for end in (0, 1))
    _require(_are_distinct(results, len(kernel.results)), f"{place} has wrong in-place results")
    _require(_are_distinct(arguments, len(kernel.arguments)), f"{place} reuses wrong arguments")
    for result, argument in kernel.inplace:
        equal = kernel.results[result] == kernel.arguments[argument]
        _require(equal, f"{place} reuses an argument of another type")
    constants = list(kernel.constants)
    _require(_are_distinct(constants, len(kernel.arguments)), f"{place} has wrong constants")


def _are_distinct(numbers: list[Any], limit: int) -> bool:
    right = all(type(number) is int and 0 <= number < limit for number in numbers)
    return right and len(set(numbers)) == len(numbers)


def _check_step(plan: Plan, step: Step, place: str) -> None:
    _require(isinstance(step.kernel, str), f"{place} has no kernel")
    _require(step.kernel in plan.kernels, f"{place} launches {step.kernel!r}, which is not there")
    _require(all(isinstance(node, str) for node in step.nodes), f"{place} has no names of nodes")
    kernel = plan.kernels[step.kernel]
    _check_buffers(plan, step.inputs, kernel.arguments, f"{place}, inputs")
    _check_buffers(plan, step.outputs, kernel.results, f"{place}, outputs")
    reused = dict(kernel.inplace)
    read = [plan.home(each) for each in step.inputs]
    for number, output in enumerate(step.outputs):
        kind = plan.buffers[output].kind
        if number in reused:
            is_alone = read.count(output) == 1 and kind in ("temporary", "state")
            fits = is_alone and step.inputs[reused[number]] == output
            _require(fits, f"{place} overwrites a buffer that is not its to overwrite")
        else:
            _require(output not in read, f"{place} overwrites what it reads")
            allowed = ("prepared",) if step.once else ("temporary", "output", "state")
            _require(kind in allowed, f"{place} writes a buffer of kind '{kind}'")
    _require(len(set(step.outputs)) == len(step.outputs), f"{place} writes a buffer twice")
    fixed = range(len(step.inputs)) if step.once else kernel.constants if kernel.prepared else ()
    for number in fixed:
        kind = plan.buffers[step.inputs[number]].kind
        _require(kind in _KNOWN, f"{place} needs input {number} at load")


def _check_buffers(
    plan: Plan, buffers: Sequence[object], types: Sequence[TensorType], place: str
) -> None:
    _require(
        len(buffers) == len(types), f"{place}: {len(buffers)} buffers for {len(types)} tensors"
    )
    for number, kind in zip(buffers, types, strict=True):
        nbytes = prod(kind.shape) * item_bytes(kind.dtype)
        fits = _buffer(plan, number, place).nbytes == nbytes
        _require(fits, f"{place}: buffer {number} does not hold {kind}")


def _check_order(plan: Plan) -> None:
    """Check that everything is written before it is read, by one step: at load, then in a call."""
    written = {
        number
        for number, buffer in enumerate(plan.buffers)
        if buffer.kind in ("input", "state", "parameter", "constant")
    }
    states = {number for number, buffer in enumerate(plan.buffers) if buffer.kind == "state"}
    for once in (True, False):
        for number, step in enumerate(plan.steps):
            if step.once == once:
                known = written.issuperset(map(plan.home, step.inputs))
                _require(known, f"step {number} reads what no step before it has written")
                reused = {step.outputs[result] for result, _ in plan.kernels[step.kernel].inplace}
                again = written.intersection(step.outputs) - reused - states
                _require(not again, f"step {number} writes what a step before it has written")
                written.update(step.outputs)
    results = {port.buffer for port in plan.results}
    _require(results <= written, "an output is not written")
    writes = [number for step in plan.steps for number in step.outputs if number in states]
    _require(sorted(writes) == sorted(states), "an input is not overwritten by one step")
