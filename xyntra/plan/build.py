# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the plan from the kernel level: `main` calls kernel functions, all else is views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from torch_mlir import ir

from xyntra.dialects import KernelFacts
from xyntra.dialects.aliases import APART, COPIED
from xyntra.dialects.dtypes import default_dtype, item_bytes
from xyntra.dialects.requires import read_requirement, requirements_of
from xyntra.dialects.result_sizes import read_size, sizes_of
from xyntra.errors import CompileError, UnsupportedError
from xyntra.passes.analysis.kernel_function import constant_arguments
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.analysis.parts import part_of
from xyntra.passes.analysis.states import states_of
from xyntra.passes.analysis.views import RESHAPES, origin_of
from xyntra.passes.fallbacks import fallbacks_of
from xyntra.passes.precision.report import PART, QUANTIZED_FROM, ROUNDED, precisions_of
from xyntra.plan.costs.cost_attributes import boundaries_of, cost_of, unfused_of
from xyntra.plan.costs.flops import count_flops
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

PARAMETERS = "xyntra.parameters"
"""Module attribute that names the model file which holds the weights."""

FLOPS = "xyntra.flops"
"""Attribute of a kernel function without a body: operations of one launch."""
SOURCE = "xyntra.source"
"""Attribute of a kernel function without a body: the text that it had with one."""

_KNOWN = ("parameter", "constant", "prepared")


def build_plan(module: ir.Operation, operations: int) -> Plan:
    """The plan of `module`, without the scratch sizes that only lowering knows.

    Args:
        module: one function `main` and the kernels that it calls, which need no bodies if they say
            in attributes what is known of these.
        operations: number of compute operations before fusion, for reports.

    Raises:
        CompileError: `main` holds something that is neither a call, a view nor a constant.
    """
    symbols = [view.operation for view in module.regions[0].blocks[0].operations]
    functions = [op for op in symbols if op.name == "func.func"]
    kernels = {
        ir.StringAttr(op.attributes["sym_name"]).value: op for op in functions if KernelFacts.of(op)
    }
    mains = [op for op in functions if KernelFacts.of(op) is None and len(op.regions[0].blocks)]
    if len(mains) != 1:
        raise CompileError("no-main", f"the module has {len(mains)} functions beside its kernels")
    if len(mains[0].regions[0].blocks) != 1:
        raise UnsupportedError(
            "control-flow-unsupported",
            "functions with branches are not supported",
            place=f"function '{ir.StringAttr(mains[0].attributes['sym_name']).value}'",
        )
    builder = _PlanBuilder(mains[0], {name: _inplace_pairs(op) for name, op in kernels.items()})
    used = {step.kernel for step in builder.steps}
    return Plan(
        inputs=tuple(builder.inputs),
        outputs=tuple(builder.outputs),
        buffers=tuple(builder.buffers),
        steps=tuple(builder.steps),
        kernels={name: _kernel_code(op) for name, op in kernels.items() if name in used},
        operations=operations,
        parameter_file=_parameter_file(module),
        unfused=unfused_of(module),
        fallbacks=fallbacks_of(module),
        precisions=precisions_of(module),
        requirements=tuple(builder.requirements),
        sizes=tuple(builder.sized()),
    )


def _parameter_file(module: ir.Operation) -> str:
    name = module.attributes.get(PARAMETERS, None)
    return str(name.value) if isinstance(name, ir.StringAttr) else ""


def _kernel_code(function: ir.Operation) -> KernelCode:
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    is_declared = not len(function.regions[0].blocks)
    return KernelCode(
        kind=KernelFacts.from_attribute(function.attributes["xyntra.kernel"]).kind,
        flops=_declared_flops(function) if is_declared else count_flops(function),
        scratch=0,
        inplace=_inplace_pairs(function),
        source=_declared_source(function) if is_declared else source_of(function),
        arguments=tuple(map(_tensor_type, type_.inputs)),
        results=tuple(map(_tensor_type, type_.results)),
        constants=tuple(sorted(constant_arguments(function))),
    )


def source_of(function: ir.Operation) -> str:
    """The text of a kernel function by itself, as the plan keeps it."""
    text: str = function.get_asm(use_local_scope=True)
    return text


def _declared_flops(function: ir.Operation) -> int:
    found = function.attributes.get(FLOPS, None)
    return int(found.value) if isinstance(found, ir.IntegerAttr) else 0


def _declared_source(function: ir.Operation) -> str:
    found = function.attributes.get(SOURCE, None)
    return str(found.value) if isinstance(found, ir.StringAttr) else source_of(function)


def _tensor_type(type_: ir.Type) -> TensorType:
    tensor = ir.RankedTensorType(type_)
    return TensorType(default_dtype(tensor.element_type), tuple(tensor.shape))


def _inplace_pairs(function: ir.Operation) -> tuple[tuple[int, int], ...]:
    if "xyntra.inplace" not in function.attributes:
        return ()
    pairs = ir.ArrayAttr(function.attributes["xyntra.inplace"])
    return tuple((pair[0].value, pair[1].value) for pair in map(ir.ArrayAttr, pairs))


class _PlanBuilder:
    def __init__(self, main: ir.Operation, reused: dict[str, tuple[tuple[int, int], ...]]) -> None:
        self.reused = reused
        self.buffers: list[Buffer] = []
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.requirements: list[Requirement] = []
        self._counts: list[tuple[str, int, Port]] = []
        self.steps: list[Step] = []
        self.homes: dict[ir.Value, int] = {}
        self.parts: dict[Buffer, int] = {}
        block = main.regions[0].blocks[0]
        self.returned = _returned(block)
        self.states = states_of(main)
        self.latest: dict[int, ir.Value] = {}
        attributes = _dictionaries(main, "arg_attrs", len(block.arguments))
        for position, (argument, given) in enumerate(zip(block.arguments, attributes, strict=True)):
            self._argument(argument, given, position)
        self.inputs = [
            replace(port, fixed_by=fixed_by)
            for port, fixed_by in zip(self.inputs, _fixed_by(main), strict=True)
        ]
        for view in block.operations:
            self._operation(view.operation, main)

    def _argument(self, value: ir.Value, given: dict[str, str], position: int) -> None:
        type_ = ir.RankedTensorType(value.type)
        if "xyntra.parameter" in given:
            rounded_to = given["xyntra.dtype"] if ROUNDED in given else ""
            name, nbytes = given["xyntra.parameter"], tensor_bytes(type_)
            source, part = given.get(QUANTIZED_FROM, ""), given.get(PART, "")
            buffer = Buffer("parameter", nbytes, name, b"", rounded_to, source, part)
            self.homes[value] = self._add(buffer)
            return
        is_state = value in self.states.values()
        kind: BufferKind = "state" if is_state else "input"
        self.homes[value] = self._add(Buffer(kind, tensor_bytes(type_)))
        name = given.get("xyntra.input", f"input{position}")
        self.inputs.append(self._port(name, given, type_, self.homes[value]))

    def _port(
        self, name: str, given: dict[str, str], type_: ir.RankedTensorType, buffer: int
    ) -> Port:
        dtype = given.get("xyntra.dtype") or default_dtype(type_.element_type)
        return Port(name, dtype, tuple(type_.shape), buffer)

    def _add(self, buffer: Buffer) -> int:
        self.buffers.append(buffer)
        return len(self.buffers) - 1

    def _operation(self, op: ir.Operation, main: ir.Operation) -> None:
        if op.name == "func.call":
            self._call(op)
        elif op.name in RESHAPES:
            self.homes[op.results[0]] = self.homes[op.operands[0]]
        elif op.name == "tensor.extract_slice":
            self.homes[op.results[0]] = self._part(op)
        elif op.name == "arith.constant":
            data = constant_bytes(op.attributes["value"])
            self.homes[op.results[0]] = self._add(Buffer("constant", len(data), data=data))
        elif op.name == "func.return":
            self._return(op, main)
        elif op.name != "tensor.empty":
            raise CompileError(
                "not-a-kernel",
                f"'{op.name}' was not put into a kernel",
                place=", ".join(source_nodes(op.location)),
            )

    def _part(self, op: ir.Operation) -> int:
        """Return the buffer of a slice, which lies in that of its operand."""
        part, home = part_of(op), self.homes[op.operands[0]]
        start = self.buffers[home].offset
        if self.buffers[home].kind == "part":
            home = self.buffers[home].whole
        if part is None or self.buffers[home].kind not in WHOLE_KINDS:
            raise CompileError(
                "not-a-kernel",
                "a slice is no part of a buffer that a kernel could be called with",
                place=", ".join(source_nodes(op.location)),
                hint="put it into the kernels that read it",
            )
        buffer = Buffer("part", part.nbytes, whole=home, offset=start + part.offset)
        if buffer not in self.parts:
            self.parts[buffer] = self._add(buffer)
        return self.parts[buffer]

    def _call(self, op: ir.Operation) -> None:
        inputs = tuple(self.homes[value] for value in op.operands)
        for value in op.operands:
            self._check_latest(value)
        once = all(self.buffers[i].kind in _KNOWN for i in inputs)
        once = once and not any(result in self.returned for result in op.results)
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        if callee not in self.reused:
            raise CompileError("not-a-kernel", f"function '{callee}' is called, but is no kernel")
        reused = dict(self.reused[callee])
        outputs = []
        for number, result in enumerate(op.results):
            if number in reused:
                self.homes[result] = inputs[reused[number]]
                self._check_reused(self.homes[result], result, callee)
                outputs.append(self.homes[result])
                continue
            if result in self.states:
                self.homes[result] = self.homes[self.states[result]]
                self._overwrite(self.homes[result], result)
                outputs.append(self.homes[result])
                continue
            nbytes = tensor_bytes(ir.RankedTensorType(result.type))
            kind: BufferKind = "prepared" if once else "temporary"
            if result in self.returned:
                kind = "output"
            outputs.append(self._add(Buffer(kind, nbytes)))
            self.homes[result] = outputs[-1]
        nodes = tuple(source_nodes(op.location))
        self.steps.append(
            Step(callee, inputs, tuple(outputs), nodes, once, cost_of(op), boundaries_of(op))
        )

    def _overwrite(self, buffer: int, result: ir.Value) -> None:
        """Note that from here on, the buffer of an input holds an output."""
        if buffer in self.latest:
            raise CompileError("illegal-fusion", "two kernels write where one input lies")
        self.latest[buffer] = result

    def _check_latest(self, value: ir.Value) -> None:
        """Refuse to read an input that has been overwritten."""
        written = self.latest.get(self.homes[value])
        if written is not None and origin_of(value) != written:
            raise CompileError(
                "illegal-fusion",
                "an input is read after an output was written where it lies",
                hint="move the reader before the kernel that writes it",
            )

    def _check_reused(self, buffer: int, result: ir.Value, callee: str) -> None:
        kind = self.buffers[buffer].kind
        if kind == "state" and self.homes[self.states.get(result, result)] == buffer:
            self._overwrite(buffer, result)
        elif kind != "temporary":
            raise CompileError(
                "illegal-fusion", f"kernel '{callee}' overwrites a buffer of kind '{kind}'"
            )

    def _return(self, op: ir.Operation, main: ir.Operation) -> None:
        attributes = _dictionaries(main, "res_attrs", len(op.operands))
        required, sizes = dict(requirements_of(main)), dict(sizes_of(main))
        for value in self.states.values():
            if self.homes[value] not in self.latest:
                raise CompileError("result-not-written", "no kernel writes an output in place")
        written: set[int] = set()
        for position, (value, given) in enumerate(zip(op.operands, attributes, strict=True)):
            home = self.homes[value]
            if self.buffers[home].kind not in ("output", "state") or home in written:
                raise CompileError(
                    "result-not-written", f"no kernel writes result {position} alone"
                )
            written.add(home)
            if position in required:
                flag = Port("", "bool", (), home)
                texts = read_requirement(required[position])
                self.requirements.append(Requirement(flag, **texts))
                continue
            if position in sizes:
                count = Port("", "int64", (), home)
                self._counts.append((*read_size(sizes[position]), count))
                continue
            name = given.get("xyntra.output", f"output{position}")
            port = self._port(name, given, ir.RankedTensorType(value.type), home)
            self.outputs.append(
                replace(port, copied=given.get(COPIED, ""), apart=given.get(APART, ""))
            )

    def sized(self) -> Iterator[SizedDimension]:
        """The dimensions of outputs that have a size of their own.

        Raises:
            CompileError: `size-of-nothing`, there is no such output or dimension.
            UnsupportedError: other outputs are written where inputs lie.
        """
        if self._counts and self.states:
            raise UnsupportedError(
                "aliases-unsupported",
                f"output '{self._counts[0][0]}' is as large as a call finds",
                cause="outputs are written where inputs lie in models whose sizes are known",
                hint="leave out aliases",
            )
        numbers = {port.name: number for number, port in enumerate(self.outputs)}
        for name, dimension, count in self._counts:
            number = numbers.get(name, -1)
            if number < 0 or not 0 <= dimension < len(self.outputs[number].shape):
                raise CompileError("size-of-nothing", f"there is no output '{name}' to be sized")
            yield SizedDimension(number, dimension, count)


def _returned(block: ir.Block) -> set[ir.Value]:
    """Values whose buffers the caller provides: what is returned, looking through views."""
    return {origin_of(value) for value in list(block.operations)[-1].operands}


def tensor_bytes(type_: ir.RankedTensorType) -> int:
    """Bytes of a tensor of static shape."""
    elements: int = prod(type_.shape)
    return elements * item_bytes(default_dtype(type_.element_type))


def _fixed_by(main: ir.Operation) -> list[tuple[str, ...]]:
    """For each input, what gave its sizes; empty where nothing says so."""
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs
    if "arg_attrs" not in main.attributes:
        return [()] * len(types)
    found = []
    for type_, given in zip(types, ir.ArrayAttr(main.attributes["arg_attrs"]), strict=True):
        entries = {entry.name: entry.attr for entry in ir.DictAttr(given)}
        if "xyntra.parameter" in entries:
            continue
        names = [str(each.value) for each in _strings(entries.get("xyntra.fixed_by"))]
        fits = len(names) == ir.RankedTensorType(type_).rank
        found.append(tuple(names) if fits else ())
    return found


def _strings(attribute: ir.Attribute | None) -> list[ir.StringAttr]:
    if not isinstance(attribute, ir.ArrayAttr):
        return []
    return [each for each in attribute if isinstance(each, ir.StringAttr)]


def _dictionaries(function: ir.Operation, name: str, count: int) -> list[dict[str, str]]:
    if name not in function.attributes:
        return [{} for _ in range(count)]
    return [
        {
            entry.name: entry.attr.value
            for entry in dictionary
            if isinstance(entry.attr, ir.StringAttr)
        }
        for dictionary in map(ir.DictAttr, ir.ArrayAttr(function.attributes[name]))
    ]


def constant_bytes(attribute: ir.Attribute) -> bytes:
    """The elements of a dense constant in row-major order."""
    type_ = ir.RankedTensorType(ir.DenseElementsAttr(attribute).type)
    if str(type_.element_type) == "bf16":
        return _bfloat16_bytes(attribute, type_)
    array: np.ndarray[Any, Any] = np.array(attribute)
    return array.tobytes()


def _bfloat16_bytes(attribute: ir.Attribute, type_: ir.RankedTensorType) -> bytes:
    # The bindings give no buffer for bf16; the printed form holds every element exactly.
    text = str(attribute)
    body = text[len("dense<") : text.rindex("> :")]
    if body.startswith('"0x'):
        return bytes.fromhex(body[3:-1])
    items = re.findall(r"0x[0-9A-Fa-f]+|[-+0-9.][-+0-9.eE]*", body)
    bits = [_bfloat16_bits(item) for item in items]
    return np.array(bits * prod(type_.shape) if len(bits) == 1 else bits, np.uint16).tobytes()


def _bfloat16_bits(item: str) -> int:
    if item.startswith("0x"):
        return int(item, 16)
    return int(np.array(float(item), ml_dtypes.bfloat16).view(np.uint16))


def nodes_of(steps: Sequence[Step], kernel: str) -> list[str]:
    """Source nodes of every launch of `kernel`, for messages about it."""
    return list(
        dict.fromkeys(node for step in steps if step.kernel == kernel for node in step.nodes)
    )
