# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations stay in sets and dicts while they change."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

TEXT = """
func.func @f(%a: f32, %b: f32) -> f32 {
  %c = arith.addf %a, %a : f32
  return %c : f32
}"""


def test_an_operation_is_found_again_after_it_has_changed():
    with ir.Context():
        module = ir.Module.parse(TEXT)
        block = module.body.operations[0].regions[0].blocks[0]
        held = {view.operation for view in block.operations}
        views = {view: number for number, view in enumerate(block.operations)}
        add, end = block.operations
        add.operation.operands[1] = block.arguments[1]
        end.operation.operands[0] = block.arguments[0]
        add.operation.attributes["name"] = ir.StringAttr.get("sum")
        for number, view in enumerate(block.operations):
            assert view.operation in held
            assert views[view] == number
        assert hash(add) == hash(add.operation) != hash(end)
