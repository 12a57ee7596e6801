# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contexts, what importing the dialect costs, and exceptions in verifiers."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from xyntra.dialects import load, make_context
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.silu import SiluOp
from xyntra.dialects.verify import verifier

SILU = '"xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>'


def parse(body: str) -> ir.Module:
    return ir.Module.parse(f"func.func @f(%x: tensor<4xf32>) {{ {body}\n return }}")


def test_context_knows_the_dialect_and_has_no_threads() -> None:
    context = make_context()
    assert context.is_dialect_loaded("xyntra")
    assert context.get_num_threads() == 1
    assert not context.allow_unregistered_dialects


def test_load_twice_is_load_once() -> None:
    context = make_context()
    load(context)
    with context:
        assert parse(f"%0 = {SILU}").operation.verify()


def test_contexts_are_independent() -> None:
    for context in [make_context() for _ in range(3)]:
        with context:
            module = parse(f"%0 = {SILU}")
            view = module.body.operations[0].regions[0].blocks[0].operations[0]
            assert isinstance(view, SiluOp)


def test_unregistered_dialects_on_request() -> None:
    with make_context(allow_unregistered_dialects=True):
        parse('"other.op"() : () -> ()')
    with make_context(), pytest.raises(ir.MLIRError):
        parse('"other.op"() : () -> ()')


def test_import_loads_no_mlir() -> None:
    assert not loaded_by("import xyntra.dialects") & {"torch_mlir", "numpy"}


def test_seeing_linalg_ops_loads_neither_their_classes_nor_numpy() -> None:
    text = (
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
        " %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>"
        " return %0 : tensor<4xf32> }"
    )
    script = f"""
from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
with make_context():
    module = ir.Module.parse({text!r})
    block = module.body.operations[0].regions[0].blocks[0]
    assert block.operations[0].operation.name == "linalg.exp"
"""
    loaded = loaded_by(script)
    assert "xyntra.dialects.bindings.linalg" in loaded
    upstream = {"torch_mlir.dialects.linalg", "torch_mlir.dialects._linalg_ops_gen"}
    assert not loaded & {*upstream, "numpy"}


def test_numpy_can_be_imported_afterwards() -> None:
    assert "numpy" in loaded_by("import xyntra.dialects.mlir\nimport numpy\nnumpy.zeros(1)")


def loaded_by(script: str) -> set[str]:
    end = "\nimport sys; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", script + end], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


def test_an_exception_in_a_verifier_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(op: Any) -> None:
        raise LookupError("missing")

    monkeypatch.setattr(SiluOp, "verify_region_invariants", staticmethod(verifier(crash)))
    with make_context(), pytest.raises(ir.MLIRError) as caught:
        parse(f"%0 = {SILU}")
    (diagnostic,) = caught.value.error_diagnostics
    assert diagnostic.message == "'xyntra.silu' op could not be verified: LookupError: missing"
