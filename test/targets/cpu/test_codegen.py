# SPDX-License-Identifier: MIT OR Apache-2.0
"""Object code: what it may import, what it depends on, and loading it."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from xyntra.errors import CompileError
from xyntra.targets.cpu.codegen import compile_object, host_key, target_key
from xyntra.targets.cpu.device import host_device
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.object_symbols import check_imports, undefined_symbols

CALLS_MATH = """
declare double @erf(double)
define double @f(double %x) {
  %y = call double @erf(double %x)
  %z = call double @llvm.pow.f64(double %y, double %x)
  ret double %z
}
declare double @llvm.pow.f64(double, double)
"""


def returning(value: int) -> str:
    return f"define i64 @f() {{ ret i64 {value} }}"


def call(library: ObjectLibrary, name: str, result: type, *arguments: object) -> object:
    kinds = [ctypes.c_double] * len(arguments)
    return ctypes.CFUNCTYPE(result, *kinds)(library.address(name))(*arguments)


def test_functions_of_the_c_library_are_found():
    library = ObjectLibrary({"f": compile_object(CALLS_MATH, opt_level=2)})
    assert call(library, "f", ctypes.c_double, 0.75) == pytest.approx(math.erf(0.75) ** 0.75)


def test_undefined_symbols_are_read_from_the_object():
    assert undefined_symbols(compile_object(CALLS_MATH, opt_level=2)) == ["erf", "pow"]
    assert undefined_symbols(compile_object(returning(1), opt_level=2)) == []


@pytest.mark.parametrize(
    ("body", "symbol"),
    [
        (
            "declare void @abort_now()\ndefine void @f() { call void @abort_now() ret void }",
            "abort_now",
        ),
        ("define fp128 @f(fp128 %a) { %b = fdiv fp128 %a, %a ret fp128 %b }", "__divtf3"),
    ],
)
def test_an_unknown_import_is_an_error_of_the_compilation(body, symbol):
    with pytest.raises(CompileError, match=symbol) as caught:
        compile_object(body, opt_level=1)
    assert caught.value.code == "missing-symbol"


def test_strength_reduction_is_left_out_of_one_module_alone():
    text = """
define double @f(ptr %p, i64 %n, i64 %m) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %sum = phi double [0.0, %entry], [%more, %loop]
  %twice = mul i64 %i, %m
  %at = getelementptr double, ptr %p, i64 %twice
  %x = load double, ptr %at
  %more = fadd double %sum, %x
  %next = add i64 %i, 1
  %stops = icmp eq i64 %next, %n
  br i1 %stops, label %end, label %loop
end:
  ret double %more
}"""
    before = compile_object(text)
    assert compile_object(text, reduce_strength=False) != before
    assert compile_object(text) == before


def test_loops_are_unrolled_where_there_are_few_or_short_ones():
    # Each a chain of additions in order, which LLVM cannot vectorise.
    one = """
define double @f{0}(ptr %p) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %sum = phi double [0.0, %entry], [%more, %loop]
  %at = getelementptr double, ptr %p, i64 %i
  %x = load double, ptr %at
  %more = fadd double %sum, %x
  %next = add i64 %i, 1
  %stops = icmp eq i64 %next, 24
  br i1 %stops, label %end, label %loop
end:
  ret double %more
}}"""
    texts = ["".join(one.format(each) for each in range(count)) for count in (2, 4, 12, 48)]
    two, four, twelve, many = (len(compile_object(text)) for text in texts)
    unrolled = (four - two) // 2
    assert twelve > two + 10 * unrolled * 3 // 4
    assert many < two + 46 * unrolled * 3 // 4
    values = np.arange(24.0)
    for text in texts[0], texts[3]:
        library = ObjectLibrary({"f0": compile_object(text)})
        at = values.ctypes.data
        assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(library.address("f0"))(at) == 276
    aggressive = len(compile_object(texts[3], opt_level=3))
    assert aggressive > many


def test_text_that_is_not_llvm_ir_is_refused():
    with pytest.raises(CompileError, match="expected"):
        compile_object("define banana", opt_level=1)


def test_a_module_that_does_not_verify_is_refused():
    with pytest.raises(CompileError):
        compile_object("define i32 @f() { ret i64 0 }", opt_level=1)


@pytest.mark.parametrize("code", [b"", b"\x7fELF\x02\x01 and then nonsense", b"MZ nonsense"])
def test_damaged_code_does_not_load(code):
    with pytest.raises(CompileError):
        ObjectLibrary({"f": code})


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_truncated_code_does_not_load(share):
    code = compile_object(CALLS_MATH, opt_level=2)
    with pytest.raises(CompileError):
        ObjectLibrary({"f": code[: int(len(code) * share)]})


def test_a_missing_symbol_is_a_typed_error():
    with pytest.raises(CompileError):
        ObjectLibrary({"g": compile_object(returning(1), opt_level=1)})


def test_libraries_do_not_share_names():
    first = ObjectLibrary({"f": compile_object(returning(1), opt_level=1)})
    second = ObjectLibrary({"f": compile_object(returning(2), opt_level=1)})
    assert call(first, "f", ctypes.c_int64) == 1
    assert call(second, "f", ctypes.c_int64) == 2
    del first
    assert call(second, "f", ctypes.c_int64) == 2


def test_a_library_outlives_many_that_come_and_go():
    kept = ObjectLibrary({"f": compile_object(returning(5), opt_level=1)})
    code = compile_object(returning(6), opt_level=1)
    for _ in range(100):
        assert call(ObjectLibrary({"f": code}), "f", ctypes.c_int64) == 6
    assert call(kept, "f", ctypes.c_int64) == 5


def test_an_empty_library_loads():
    ObjectLibrary({})


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError):
        ObjectLibrary({"f": compile_object(returning(1), opt_level=1)}).address("g")


def test_many_objects_load_fast():
    codes = {
        f"f{i}": compile_object(returning(i).replace("@f", f"@f{i}"), opt_level=0)
        for i in range(300)
    }
    start = time.perf_counter()
    library = ObjectLibrary(codes)
    assert time.perf_counter() - start < 5
    assert [call(library, f"f{i}", ctypes.c_int64) for i in (0, 7, 299)] == [0, 7, 299]


def test_code_depends_on_nothing_but_its_source(tmp_path):
    script = (
        "import sys; from xyntra.targets.cpu.codegen import compile_object;"
        "sys.stdout.buffer.write(compile_object(sys.stdin.read(), opt_level=2))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=CALLS_MATH.encode(),
            cwd=folder,
            env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for folder, seed in (("/", "1"), (tmp_path, "2"))
    }
    assert len(outputs) == 1
    assert str(tmp_path).encode() not in outputs.pop()


def test_vector_instructions_of_this_processor_are_used():
    body = """
    define void @f(ptr noalias %a, ptr noalias %b) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %n, %loop ]
      %p = getelementptr float, ptr %a, i64 %i
      %q = getelementptr float, ptr %b, i64 %i
      %x = load float, ptr %p, align 4
      %y = fadd float %x, %x
      store float %y, ptr %q, align 4
      %n = add i64 %i, 1
      %d = icmp eq i64 %n, 4096
      br i1 %d, label %end, label %loop
    end:
      ret void
    }"""
    library = ObjectLibrary({"f": compile_object(body, opt_level=2)})
    a, b = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("f"))
    function(a.ctypes.data, b.ctypes.data)
    assert (b == 2).all()
    assert len(compile_object(body, opt_level=2)) > len(compile_object(body, opt_level=1))


def test_the_device_describes_this_machine():
    device = host_device()
    assert device.vector_bits in (128, 256, 512)
    assert 1 <= device.cores <= (os.cpu_count() or 1)
    assert 0 < device.l1_bytes <= device.l2_bytes
    assert device.name in host_key()
    assert host_key() in target_key()


def test_imports_are_checked_against_the_allowed():
    check_imports(compile_object(CALLS_MATH, opt_level=2))
