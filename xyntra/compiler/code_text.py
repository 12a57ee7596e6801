# SPDX-License-Identifier: MIT OR Apache-2.0
"""The text of a model below the level of kernel functions: writing it and reading it.

A module says the level and the target, and holds `main`, a declaration of every kernel with what
the plan needs of it, and the code of kernel `NAME` as a module `NAME.code` of its own:

    module attributes {xyntra.level = "stages", xyntra.target = "cuda:sm_90a", …} {
      func.func @main(…) … { … call @row_1(…) … }
      func.func private @row_1(…) -> … attributes {xyntra.kernel = …, xyntra.flops = 9 : i64, …}
      module @row_1.code { … }
    }

At a level whose code is no MLIR, such as `ptx`, these modules hold the launches alone, and the code
follows behind all MLIR, in a section for each kernel that begins with the line `// ptx NAME`.
Locations are those of `main`: the
code of kernels has none, so that messages can name lines of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects import KernelFacts
from xyntra.errors import CompileError, ModelError
from xyntra.passes.analysis.kernel_function import (
    check_buffers,
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    operations_named,
)
from xyntra.plan.build import FLOPS, SOURCE, source_of
from xyntra.plan.costs.flops import count_flops
from xyntra.targets.table import CODE_LEVELS, TARGETS, backend_named

__all__ = ["Code", "CodeText", "declare_kernels", "erase_code", "read_code", "write_code"]

LEVEL = "xyntra.level"
TARGET = "xyntra.target"
OPERATIONS = "xyntra.operations"
_CODE = ".code"
_ASSEMBLY = "|".join(filter(None, (entry.assembly for entry in TARGETS.values())))
_SECTION = re.compile(rf"^// (?:{_ASSEMBLY}) ([\w.$-]+)\n", re.MULTILINE)
_FIRST_SECTION = re.compile(rb"^// (?:" + _ASSEMBLY.encode() + rb") ", re.MULTILINE)
_END = re.compile(r"^\}", re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """The code of one kernel.

    Attributes:
        mlir: a module.
        assembly: at a level whose code is no MLIR, such as PTX.
        lines: of its stages, at the level `stages`; 0 where that is not known.
    """

    mlir: str
    assembly: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class CodeText:
    """A text that has been read.

    Attributes:
        module: `main`, the declarations of kernels, and their code.
        level: one of `CODE_LEVELS`.
        target: what the code was made for.
        operations: of the model before fusion.
        kernels: the code by kernel.
    """

    module: ir.Operation
    level: str
    target: str
    operations: int
    kernels: Mapping[str, Code]


def declare_kernels(module: ir.Operation, names: Sequence[str]) -> ir.Operation:
    """Return a copy of a module at the level of kernels in which these have no bodies.

    Args:
        module: `main` and kernel functions.
        names: of the kernels that are kept.
    """
    copy: ir.Operation = module.clone().operation
    block = copy.regions[0].blocks[0]
    found = [op for op in _operations(copy) if KernelFacts.of(op) is not None]
    for op in found:
        if function_name(op) in names:
            _declare(op, block)
    for op in found:
        op.erase()
    return copy


def _declare(kernel: ir.Operation, block: ir.Block) -> None:
    attributes = {name: kernel.attributes[name] for name in kernel.attributes}
    word = ir.IntegerType.get_signless(64, kernel.context)
    attributes[FLOPS] = ir.IntegerAttr.get(word, count_flops(kernel))
    attributes[SOURCE] = ir.StringAttr.get(source_of(kernel), kernel.context)
    with kernel.location, ir.InsertionPoint(block):
        ir.Operation.create("func.func", attributes=attributes, regions=1)


def write_code(
    module: ir.Operation, level: str, target: str, operations: int, kernels: Mapping[str, Code]
) -> bytes:
    """Return the text of a model; `module` cannot be used afterwards.

    Args:
        module: `main` and declarations; code that it holds is left out.
        level: of the code.
        target: what it is for.
        operations: of the model before fusion.
        kernels: the code by kernel.
    """
    module.attributes[LEVEL] = ir.StringAttr.get(level, module.context)
    module.attributes[TARGET] = ir.StringAttr.get(target, module.context)
    word = ir.IntegerType.get_signless(64, module.context)
    module.attributes[OPERATIONS] = ir.IntegerAttr.get(word, operations)
    erase_code(module)
    text = str(module.get_asm(enable_debug_info=True)).rstrip("\n") + "\n"
    end = next(_END.finditer(text)).start()
    parts = [text[:end], *(_module(name, code) for name, code in kernels.items()), text[end:]]
    parts += [f"\n// {level} {name}\n{e.assembly}" for name, e in kernels.items() if e.assembly]
    return "".join(parts).encode()


def _module(name: str, code: Code) -> str:
    """Return the module of a kernel under its name, indented by the module around it."""
    head, brace, rest = code.mlir.strip().partition("{")
    named = re.sub(r"^module( @[\w.$-]+)?", f"module @{name}{_CODE}", head)
    return "".join(f"  {line}\n" for line in f"{named}{brace}{rest}".splitlines())


def read_code(text: bytes, *, trusted: bool, target: str) -> CodeText | None:
    """Read what `write_code` has written, in the current context; None for any other text.

    Args:
        text: MLIR, with sections of assembly.
        trusted: whether its author may run code here.
        target: what is compiled for.

    Raises:
        ModelError: it does not parse, is not of this form, or is not trusted.
    """
    if LEVEL.encode() not in text:
        return None
    mlir, sections = _split(text)
    try:
        module = ir.Module.parse(mlir).operation
    except ir.MLIRError as error:
        raise ModelError("mlir-invalid", "the MLIR does not parse", cause=str(error)) from None
    level = _text_of(module, LEVEL)
    if level is None:
        return None
    if level not in CODE_LEVELS:
        raise _invalid(f"there is no level '{level}'", hint=f"there are {', '.join(CODE_LEVELS)}")
    if not trusted:
        raise _untrusted(level)
    made_for = _text_of(module, TARGET) or ""
    if made_for != target:
        raise _other_target(made_for, target)
    scheduled = backend_named(target).target.scheduled
    operations = module.attributes.get(OPERATIONS, None)
    count = int(operations.value) if isinstance(operations, ir.IntegerAttr) else 0
    return CodeText(module, level, target, count, _kernels(module, sections, level, scheduled))


def _split(text: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the MLIR, and the assembly of every kernel."""
    found = _FIRST_SECTION.search(text)
    if found is None:
        return text, {}
    first = found.start()
    try:
        rest = text[first:].decode()
    except UnicodeDecodeError:
        raise _invalid("the assembly is no text") from None
    _, *parts = _SECTION.split(rest)
    return text[:first], dict(zip(parts[::2], parts[1::2], strict=True))


def _kernels(
    module: ir.Operation, sections: Mapping[str, str], level: str, scheduled: str
) -> dict[str, Code]:
    declared = {function_name(op): op for op in _declarations(module)}
    found: dict[str, Code] = {}
    last = next(reversed(list(sections)), None)
    for op in _operations(module):
        if op.name == "builtin.module":
            name = function_name(op).removesuffix(_CODE) if "sym_name" in op.attributes else ""
            if name not in declared:
                raise _invalid(f"no kernel is declared for the module '{name}{_CODE}'")
            _check_pointers(declared[name], op)
            lines = _stage_lines(op, scheduled) if level == "stages" else ()
            assembly = _own(sections.get(name, ""), last=name == last)
            found[name] = Code(op.get_asm(use_local_scope=True), assembly, lines)
        elif op.name != "func.func":
            raise _invalid(f"'{op.name}' at the top level is not supported")
    for name in declared:
        if name not in found:
            raise _invalid(f"kernel '{name}' has no code", hint=f"module @{name}{_CODE} holds it")
    return found


def _check_pointers(declared: ir.Operation, code: ir.Operation) -> None:
    """Check that code takes the tensors of its declaration, then the slots that it says it needs.

    Raises:
        ModelError: it takes other memory, or there is not one function of that name.
    """
    # It loads half of the lowering for GPUs, for which models that come as others do must not wait.
    from xyntra.passes.lower.gpu.launching.outline import SCRATCH, scratch_slots

    name = function_name(declared)
    try:
        function = kernel_function(code)
        check_buffers(function)
    except CompileError as error:
        raise _invalid(f"the code of kernel '{name}' is none: {error.message}") from None
    type_ = ir.FunctionType(ir.TypeAttr(declared.attributes["function_type"]).value)
    given = inplace_pairs(declared)
    tensors = [*type_.inputs, *(t for n, t in enumerate(type_.results) if n not in given)]
    taken = [argument.type for argument in entry_block(function).arguments]
    slots = scratch_slots(function) if SCRATCH in function.attributes else ()
    wanted = [tuple(ir.RankedTensorType(each).shape) for each in tensors]
    found = [tuple(ir.MemRefType(each).shape) for each in taken]
    if function_name(function) != name or found != wanted + [(size,) for size in slots]:
        raise _invalid(
            f"the code of kernel '{name}' takes other memory than its declaration says",
            hint=f"a function @{name} of memory of the shapes {wanted}",
        )


def _own(section: str, *, last: bool) -> str:
    """Return the text of a section without the empty line ahead of the next one."""
    return section if last else section.removesuffix("\n")


def _stage_lines(kernel: ir.Operation, name: str) -> tuple[int, ...]:
    places = [op.location for op in operations_named(kernel, name)]
    return tuple(each.start_line if isinstance(each, ir.FileLineColLoc) else 0 for each in places)


def _declarations(module: ir.Operation) -> Iterator[ir.Operation]:
    for op in _operations(module):
        if op.name != "func.func" or KernelFacts.of(op) is None:
            continue
        if len(op.regions[0].blocks):
            raise _invalid(f"kernel '{function_name(op)}' has a body beside its code")
        yield op


def erase_code(module: ir.Operation) -> None:
    """Leave `main` and the declarations."""
    for op in _operations(module):
        if op.name == "builtin.module":
            op.erase()


def _operations(module: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in module.regions[0].blocks[0].operations]


def _text_of(module: ir.Operation, name: str) -> str | None:
    found = module.attributes.get(name, None)
    return str(found.value) if isinstance(found, ir.StringAttr) else None


def _invalid(message: str, hint: str | None = None) -> ModelError:
    return ModelError("code-invalid", message, hint=hint)


def _untrusted(level: str) -> ModelError:
    return ModelError(
        "untrusted-code",
        f"this text holds machine-level code: it is at the level '{level}'",
        cause="such code can read and write any memory, like a program",
        hint="pass --trust-code, or trust_code=True, if you trust its author",
    )


def _other_target(made_for: str, target: str) -> ModelError:
    return ModelError(
        "code-target",
        f"the text holds code for '{made_for}'",
        cause=f"the target is '{target}'",
        hint="leave out the target, or compile the model for it again",
    )
