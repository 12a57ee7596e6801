# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions of PTX are written in one place, with constraints that fit their operands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.assembly import assembly
from xyntra.passes.lower.cuda.ptx.copies import cp_async
from xyntra.passes.lower.cuda.ptx.warpgroups import wgmma_asm, wgmma_wait_group_asm

EMITTERS = Path("passes/lower/cuda")
LIBRARY = EMITTERS / "ptx"
# Inline assembly, and operations and attributes of the NVVM dialect. Names of the dialect and of
# passes over it, which lowering needs, have no dot behind them.
INSTRUCTION = re.compile(r"inline_asm|#?\bnvvm[.<]|\bimport\b.*\bnvvm\b")


def instructions(root: Path) -> Iterator[str]:
    """Yield where emitters outside of the library write instructions by themselves."""
    for path in sorted((root / EMITTERS).rglob("*.py")):
        if path.is_relative_to(root / LIBRARY):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if INSTRUCTION.search(line):
                yield f"{path.relative_to(root)}:{number}: {line.strip()}"


def test_only_the_library_writes_instructions(root: Path) -> None:
    found = list(instructions(root))
    if found:
        pytest.fail(f"these belong in {LIBRARY}:\n" + "\n".join(found), pytrace=False)


def test_the_library_is_where_it_is_looked_for(root: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (root / LIBRARY).glob("*.py")]
    assert sum("llvm.inline_asm(" in text for text in texts) == 1
    assert any("nvvm." in text for text in texts)


@pytest.mark.parametrize(
    "line",
    [
        'llvm.inline_asm(None, [], "griddepcontrol.wait;", "")',
        'emit("nvvm.shfl.sync", operands, word, kind=kind)',
        'ir.Attribute.parse("#nvvm<shfl_kind bfly>")',
        "from torch_mlir.dialects import arith, nvvm, scf",
    ],
)
def test_instructions_elsewhere_are_found(line: str, tmp_path: Path) -> None:
    (tmp_path / LIBRARY).mkdir(parents=True)
    (tmp_path / LIBRARY / "warps.py").write_text(line, encoding="utf-8")
    assert list(instructions(tmp_path)) == []
    (tmp_path / EMITTERS / "rows.py").write_text(f"\n{line}\n", encoding="utf-8")
    assert list(instructions(tmp_path)) == [f"{EMITTERS / 'rows.py'}:2: {line}"]


@pytest.fixture
def arguments() -> Iterator[list[ir.Value]]:
    """Emit into a function of an i1, i16, i32, i64, f32 and a pointer; yield these."""
    text = "llvm.func @f(%a: i1, %b: i16, %c: i32, %d: i64, %e: f32, %p: !llvm.ptr) { llvm.return }"
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            yield list(block.arguments)
        assert module.operation.verify()


def emitted(block: ir.Block) -> tuple[str, str, bool]:
    """Return text, constraints and side effects of the only assembly of a block."""
    (op,) = [
        each.operation for each in block.operations if each.operation.name == "llvm.inline_asm"
    ]
    attributes = op.attributes
    text, constraints = (
        ir.StringAttr(attributes[name]).value for name in ("asm_string", "constraints")
    )
    return text, constraints, "has_side_effects" in attributes


def test_constraints_fit_the_types(arguments: list[ir.Value]) -> None:
    assert assembly("text;", arguments) == []
    assert emitted(arguments[0].owner) == ("text;", "b,h,r,l,f,l,~{memory}", True)


def test_results_and_pure_instructions(arguments: list[ir.Value]) -> None:
    word, real = arguments[2], arguments[4]
    results = assembly("text;", [word], [real.type, word.type], pure=True)
    assert [each.type for each in results] == [real.type, word.type]
    assert emitted(arguments[0].owner) == ("text;", "=f,=r,r", False)


def test_a_wait_lets_values_pass_through_their_registers(arguments: list[ir.Value]) -> None:
    word, real = arguments[2], arguments[4]
    results = wgmma_wait_group_asm(0, [real, word])
    assert [each.type for each in results] == [real.type, word.type]
    text, constraints, effects = emitted(arguments[0].owner)
    assert text == "wgmma.wait_group.sync.aligned 0;"
    assert (constraints, effects) == ("=f,=r,0,1,~{memory}", True)


@pytest.mark.parametrize(
    ("has_sums", "in_registers", "operands", "constraints"),
    [
        (False, False, "{$0, $1, $2, $3}, $4, $5, p, 1, 1, 0, 0", "l,l"),
        (True, False, "{$0, $1, $2, $3}, $8, $9, p, 1, 1, 0, 0", "0,1,2,3,l,l"),
        (True, True, "{$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0", "0,1,2,3,r,r,r,r,l"),
        (False, True, "{$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, p, 1, 1, 0", "r,r,r,r,l"),
    ],
)
def test_operands_of_wgmma_are_numbered_behind_its_sums(
    has_sums: bool,
    in_registers: bool,
    operands: str,
    constraints: str,
    arguments: list[ir.Value],
) -> None:
    _, _, word, wide, real, _ = arguments
    left = [word] * 4 if in_registers else wide
    sums = [real] * 4 if has_sums else None
    assert len(wgmma_asm(sums, left, wide, 8, "bf16", b_k_major=True)) == 4
    text, found, _ = emitted(arguments[0].owner)
    assert f"m64n8k16.f32.bf16.bf16 {operands};" in text
    assert f"setp.ne.b32 p, {int(has_sums)}, 0;" in text
    assert found == f"=f,=f,=f,=f,{constraints},~{{memory}}"


@pytest.mark.parametrize(
    ("present", "wanted", "text"),
    [
        (False, False, "cp.async.ca.shared.global [$0], [$1], 8;"),
        (True, False, "cp.async.ca.shared.global [$0], [$1], 8, $2;"),
        (False, True, "@$2 cp.async.ca.shared.global [$0], [$1], 8;"),
        (True, True, "@$3 cp.async.ca.shared.global [$0], [$1], 8, $2;"),
    ],
)
def test_copies_number_the_operands_that_they_have(
    present: bool, wanted: bool, text: str, arguments: list[ir.Value]
) -> None:
    flag, _, word, wide, _, _ = arguments
    cp_async(word, wide, 8, word if present else None, wanted=flag if wanted else None)
    constraints = ["r", "l"] + ["r"] * present + ["b"] * wanted + ["~{memory}"]
    assert emitted(arguments[0].owner) == (text, ",".join(constraints), True)
