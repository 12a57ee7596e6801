# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels compile in child processes, once each, and trouble comes back as a typed error."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xyntra.cache import DiskCache
from xyntra.compiler.kernels import parallel
from xyntra.compiler.kernels.kernel import kernel_key
from xyntra.compiler.kernels.parallel import compile_kernels
from xyntra.errors import CompileError, WorkerError
from xyntra.targets.kernel import CompiledKernel, KernelSource

FORKED = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def source(name: str, size: int = 8) -> KernelSource:
    kind = f"tensor<{size}xf32>"
    text = f"""
    func.func @{name}(%a: {kind}) -> {kind} {{
      %e = tensor.empty() : {kind}
      %r = linalg.negf ins(%a: {kind}) outs(%e: {kind}) -> {kind}
      return %r : {kind}
    }}"""
    return KernelSource(name, text, (f"node '{name}'",))


@pytest.fixture
def replaced(monkeypatch):
    """Let the children run another function instead of the compiler."""

    def replace(function):
        monkeypatch.setattr(parallel, "compile_kernel", function)

    return replace


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order(jobs):
    compiled = compile_kernels([source(f"k{i}", 8 + i) for i in range(5)], jobs=jobs)
    assert [f"k{i}".encode() in kernel.code for i, kernel in enumerate(compiled)] == [True] * 5


def test_nothing_to_do():
    assert compile_kernels([]) == []


@FORKED
@pytest.mark.usefixtures("forks")
def test_kernels_that_take_long_come_first(replaced, tmp_path):
    def record(kernel):
        with open(tmp_path / "log", "a") as log:
            log.write(kernel.name + "\n")
        return CompiledKernel(b"", 0)

    replaced(record)
    names = ["data_0", "elementwise_1_of_a_longer_text", "attention_2"]
    compile_kernels([source(name) for name in names], jobs=1)
    assert (tmp_path / "log").read_text().split() == list(reversed(names))


@FORKED
@pytest.mark.usefixtures("forks")
def test_equal_kernels_compile_once(replaced, tmp_path):
    def record(kernel):
        with open(tmp_path / "log", "a") as log:
            log.write(kernel.name + "\n")
        return CompiledKernel(kernel.mlir.encode(), 3)

    replaced(record)
    same = KernelSource("a", "text")
    compiled = compile_kernels([same, KernelSource("b", "other"), same], jobs=2)
    assert [kernel.code for kernel in compiled] == [b"text", b"other", b"text"]
    assert sorted((tmp_path / "log").read_text().split()) == ["a", "b"]


def test_the_cache_is_asked_before_lowering(replaced, tmp_path):
    cache = DiskCache(tmp_path / "cache", 1 << 20)
    first = compile_kernels([source("k")], cache=cache)
    replaced(lambda kernel: pytest.fail("compiled again"))
    assert compile_kernels([source("k")], cache=cache) == first


def test_another_option_is_another_entry():
    one = KernelSource("k", "text", opt_level=1)
    two = KernelSource("k", "text", opt_level=2)
    assert kernel_key(one) != kernel_key(two)
    assert kernel_key(one) == kernel_key(KernelSource("k", "text", ("n",), 1))


def test_a_kernel_survives_its_bytes():
    kernel = CompiledKernel(b"code", 1 << 40)
    assert CompiledKernel.from_bytes(kernel.to_bytes()) == kernel


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("func.func @k(", "kernel-text"),
        ("module {}", "kernel-module"),
        ("func.func @k(%a: tensor<?xf32>) { return }", "kernel-type"),
        ("func.func @k(%a: tensor<4xcomplex<f32>>) { return }", "kernel-type"),
        ("func.func @k(%a: memref<4xf32>) { return }", "kernel-type"),
    ],
)
def test_what_is_not_a_kernel_is_refused_by_name(text, code):
    with pytest.raises(CompileError) as caught:
        compile_kernels([source("fine"), KernelSource("bad", text, ("node 'n'",))], jobs=2)
    assert caught.value.code == code
    assert caught.value.place == "kernel 'bad'\nfrom node 'n'"


@FORKED
@pytest.mark.usefixtures("forks")
def test_a_crash_names_the_kernel_and_quotes_the_library(replaced):
    def crash(kernel):
        if kernel.name == "bad":
            os.write(2, b"LLVM ERROR: Cannot select\n")
            os.kill(os.getpid(), signal.SIGSEGV)
        return CompiledKernel(b"", 0)

    replaced(crash)
    with pytest.raises(WorkerError) as caught:
        compile_kernels(
            [KernelSource("good", "a"), KernelSource("bad", "b", ("node 'n'",))], jobs=1
        )
    assert caught.value.place == "kernel 'bad'\nfrom node 'n'"
    assert "SIGSEGV" in caught.value.message
    assert caught.value.cause == "LLVM ERROR: Cannot select"


@FORKED
@pytest.mark.usefixtures("forks")
def test_a_process_that_exits_is_a_crash(replaced):
    replaced(lambda kernel: os._exit(3))
    with pytest.raises(WorkerError, match="exit status 3"):
        compile_kernels([KernelSource("k", "a")])


@FORKED
@pytest.mark.usefixtures("forks")
def test_a_kernel_that_takes_too_long_is_named(replaced):
    def hang(kernel):
        time.sleep(60 if kernel.name == "slow" else 0)
        return CompiledKernel(b"", 0)

    replaced(hang)
    start = time.monotonic()
    with pytest.raises(WorkerError, match="too long") as caught:
        compile_kernels([KernelSource("fast", "a"), KernelSource("slow", "b")], jobs=2, timeout=0.5)
    assert "'slow'" in (caught.value.place or "")
    assert time.monotonic() - start < 20


@FORKED
@pytest.mark.usefixtures("forks")
def test_an_unexpected_exception_becomes_a_compile_error(replaced):
    def fail(kernel):
        raise ZeroDivisionError("by hand")

    replaced(fail)
    with pytest.raises(CompileError, match="ZeroDivisionError: by hand"):
        compile_kernels([KernelSource("k", "a")])


@FORKED
@pytest.mark.usefixtures("forks")
def test_large_answers_do_not_block(replaced):
    replaced(lambda kernel: CompiledKernel(kernel.name.encode() * (1 << 22), 0))
    sources = [KernelSource(f"{i}", f"{i}") for i in range(6)]
    compiled = compile_kernels(sources, jobs=3)
    assert [kernel.code[:1] for kernel in compiled] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert {len(kernel.code) for kernel in compiled} == {1 << 22}


@FORKED
@pytest.mark.usefixtures("forks")
def test_no_child_is_left_behind(replaced):
    before = children()
    replaced(lambda kernel: os.abort())
    with pytest.raises(WorkerError):
        compile_kernels([KernelSource(f"{i}", f"{i}") for i in range(4)], jobs=4)
    assert children() <= before


def children() -> set[str]:
    """The children of this process, those included that have ended and were not waited for."""
    folder = Path("/proc")
    if not (folder / "self" / "stat").exists():
        pytest.skip("this system does not list processes in /proc")
    found = set()
    for path in folder.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just gone
            parent = path.read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(path.parent.name)
    return found


def test_without_fork_kernels_compile_here(monkeypatch):
    monkeypatch.delattr(os, "fork", raising=False)
    assert compile_kernels([source("k")], jobs=4)[0].code


_IN_A_DAEMONIC_PROCESS = """
import multiprocessing

def compiled():
    import xyntra
    x = "tensor<8xf32>"
    text = f"func.func @main(%a: {x}) -> {x} {{ %e = tensor.empty() : {x} " \\
        f"%r = linalg.negf ins(%a: {x}) outs(%e: {x}) -> {x} return %r : {x} }}"
    settings = {"cache": False, "isolate": False}
    assert len(xyntra.compile(text, target="cpu", config=settings).kernels) == 1

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=compiled, daemon=True)
    process.start()
    process.join(100)
    raise SystemExit(process.exitcode)
"""


@FORKED
@pytest.mark.usefixtures("forks")
def test_a_daemonic_process_compiles_without_children(tmp_path):
    """multiprocessing's pools have such workers, and lets none of them have children."""
    script = tmp_path / "daemonic.py"
    script.write_text(_IN_A_DAEMONIC_PROCESS)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
