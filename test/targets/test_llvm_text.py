# SPDX-License-Identifier: MIT OR Apache-2.0
"""Constants survive the way from MLIR's LLVM through text into llvmlite's LLVM, bit by bit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.llvm_backend import llvm
from xyntra.targets.llvm_text import constant_bits, to_llvm22

FORMATS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
LLVM_NAMES = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def translate(text: str) -> str:
    """LLVM 24's text of a module in the LLVM dialect."""
    from torch_mlir.dialects.llvm import translate_module_to_llvmir

    with make_context():
        return translate_module_to_llvmir(ir.Module.parse(text).operation)


def through_text(kind: str, patterns: np.ndarray) -> np.ndarray:
    """Print an array of constants, read it with LLVM 22, compile it, and look at the memory."""
    count = len(patterns)
    data = patterns.tobytes().hex().upper()
    if len(set(patterns.tolist())) == 1:
        data = data[: patterns.itemsize * 2]
    printed = translate(f"""
    llvm.mlir.global external constant @values(dense<"0x{data}"> : tensor<{count}x{kind}>)
      : !llvm.array<{count} x {kind}>""")
    library = ObjectLibrary({"values": compile_object(printed, opt_level=0)})
    memory = ctypes.string_at(library.address("values"), patterns.nbytes)
    return np.frombuffer(memory, patterns.dtype)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_16_bit_constant(kind):
    patterns = np.arange(1 << 16, dtype=np.uint16)
    np.testing.assert_array_equal(through_text(kind, patterns), patterns)


def special(kind: str) -> list[int]:
    """Zeros, infinities, NaNs with payloads, subnormals and the ends of the range."""
    width = FORMATS[kind]().itemsize * 8
    fraction = {"f32": 23, "f64": 52}[kind]
    infinity = ((1 << (width - 1 - fraction)) - 1) << fraction
    positive = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, infinity - 1, infinity]
    positive += [infinity | payload for payload in (1, 1 << (fraction - 1), (1 << fraction) - 1)]
    return positive + [pattern | (1 << (width - 1)) for pattern in positive]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_special_constants(kind):
    patterns = np.array(special(kind), FORMATS[kind])
    np.testing.assert_array_equal(through_text(kind, patterns), patterns)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_constants(kind, data):
    width = FORMATS[kind]().itemsize * 8
    pattern = st.integers(0, (1 << width) - 1)
    patterns = np.array(data.draw(st.lists(pattern, min_size=2, max_size=64)), FORMATS[kind])
    np.testing.assert_array_equal(through_text(kind, patterns), patterns)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_random_constants(kind):
    width = FORMATS[kind]().itemsize
    patterns = np.frombuffer(np.random.default_rng(1).bytes(width * 4096), FORMATS[kind])
    np.testing.assert_array_equal(through_text(kind, patterns), patterns)


@pytest.mark.parametrize(
    ("kind", "literal", "bits"),
    [
        ("float", "1.000000e+00", 0x3F800000),
        ("float", "-0.0", 0x80000000),
        ("float", "f0x7FC00001", 0x7FC00001),
        ("float", "+snan(0x1)", 0x7F800001),
        ("float", "-nan(0x1)", 0xFFC00001),
        ("float", "1.0e-46", 0),
        ("float", "1e39", 0x7F800000),
        # Rounding to double first would make this a tie, and the tie even: 0x4B800000.
        ("float", "16777217.0000000000000000001", 0x4B800001),
        ("half", "6.5520e+4", 0x7C00),
        ("half", "65519.999", 0x7BFF),
        ("half", "2.98023223876953125e-8", 0),
        ("half", "2.98023223876953126e-8", 1),
        ("bfloat", "+inf", 0x7F80),
        ("double", "-qnan", 0xFFF8000000000000),
    ],
)
def test_literals(kind, literal, bits):
    assert constant_bits(kind, literal) == bits


def test_only_constants_change():
    text = (
        'source_filename = "float 1.5"\n'
        'define float @"f 2.5"(float %a) { ; float 3.5\n'
        "  %x4.5 = fadd float %a, 1.5\n"
        '  call void asm "float 5.5", ""()\n'
        "  ret float %x4.5\n"
        "}\n"
        "declare float @llvm.sqrt.f32(float) #9\n"
        "declare float @sqrtf(float)\n"
    )
    changed = to_llvm22(text)
    assert "fadd float %a, 0x3FF8000000000000" in changed
    assert changed.replace("0x3FF8000000000000", "1.5") == text.replace(
        "declare float @llvm.sqrt.f32(float) #9\n", ""
    )
    llvm().parse_assembly(changed)


@pytest.mark.parametrize("kind", FORMATS)
def test_constants_inside_functions(kind):
    body = f"""
    llvm.func @f(%a: {kind}, %v: vector<4x{kind}>, %c: i1) -> {kind} {{
      %half = llvm.mlir.constant(0.1 : {kind}) : {kind}
      %inf = llvm.mlir.constant(0x{special_infinity(kind)} : {kind}) : {kind}
      %splat = llvm.mlir.constant(dense<-0.3> : vector<4x{kind}>) : vector<4x{kind}>
      %mixed = llvm.mlir.constant(dense<[0.7, -0.0, 1.0e-5, 3.0]> : vector<4x{kind}>)
        : vector<4x{kind}>
      %i = llvm.mlir.constant(0 : i32) : i32
      %s = llvm.fadd %v, %splat : vector<4x{kind}>
      %t = llvm.fmul %s, %mixed : vector<4x{kind}>
      %e = llvm.extractelement %t[%i : i32] : vector<4x{kind}>
      %x = llvm.select %c, %half, %inf : i1, {kind}
      %y = llvm.fadd %x, %e : {kind}
      llvm.cond_br %c, ^one(%half : {kind}), ^one(%y : {kind})
    ^one(%p: {kind}):
      %q = llvm.intr.fma(%p, %half, %a) : ({kind}, {kind}, {kind}) -> {kind}
      llvm.return %q : {kind}
    }}"""
    module = llvm().parse_assembly(to_llvm22(translate(body)))
    module.verify()
    assert LLVM_NAMES[kind] in str(module)


def special_infinity(kind: str) -> str:
    return {"f16": "7C00", "bf16": "7F80", "f32": "7F800000", "f64": "7FF0000000000000"}[kind]
