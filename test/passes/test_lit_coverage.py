# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every pass and op has its files in lit-tests, and no file there tests what does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from xyntra.dialects import ops
from xyntra.passes.registry import all_passes

LIT_TESTS = Path(__file__).resolve().parents[2] / "lit-tests"
GPUS = ("passes/lower/gpu", "passes/lower/cuda")
ENDINGS = (".mlir", "-reject.mlir")
_RUN = re.compile(r"^// RUN:.*$", re.MULTILINE)


def folders_of_passes() -> dict[str, str]:
    """Return, for every pass, the folder that its module is in: `passes/lower`."""
    modules = {each.name: each.__module__ for each in all_passes()}
    return {
        name: module.removeprefix("xyntra.").rpartition(".")[0].replace(".", "/")
        for name, module in modules.items()
        if module.startswith("xyntra.passes.")
    }


def names_of_ops() -> set[str]:
    """Return the ops of the dialect: `xyntra.softmax`."""
    found = set()
    for module in iter_modules(ops.__path__, f"{ops.__name__}."):
        for value in vars(import_module(module.name)).values():
            found.add(getattr(value, "OPERATION_NAME", ""))
    return {name for name in found if name.startswith("xyntra.")}


def lit_files(folder: str) -> dict[str, str]:
    """Return the texts of the tests below `folder`, by their paths in lit-tests."""
    paths = sorted((LIT_TESTS / folder).rglob("*.mlir"))
    return {path.relative_to(LIT_TESTS).as_posix(): path.read_text() for path in paths}


def expected_files(folders: Mapping[str, str]) -> dict[str, str]:
    """Return the files that the passes need, and the pass that each is for."""
    return {f"{folder}/{name}{e}": name for name, folder in folders.items() for e in ENDINGS}


def files_that_do_not_run(files: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """Return the files in which no RUN line has the flag of the file's pass."""
    return [
        path
        for path, name in expected.items()
        if path in files
        and not re.search(rf"--{name}(?![\w-])", "\n".join(_RUN.findall(files[path])))
    ]


def files_that_test_nothing(files: Mapping[str, str]) -> list[str]:
    """Return the files that neither check output nor expect an error."""
    return [
        path for path, text in files.items() if "FileCheck" not in text and "expected-" not in text
    ]


def untested_ops(names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return those of `names` that none of `texts` mentions."""
    whole = "\n".join(texts)
    return sorted(name for name in names if f'"{name}"' not in whole)


def test_every_pass_has_a_test_of_what_it_does_and_one_of_what_it_refuses() -> None:
    missing = sorted(expected_files(folders_of_passes()).keys() - lit_files("passes").keys())
    assert not missing, f"missing in lit-tests: {', '.join(missing)}"


def test_every_test_of_a_pass_is_of_one_that_exists() -> None:
    prefixes = tuple(f"{folder}/{name}" for name, folder in folders_of_passes().items())
    stray = [path for path in lit_files("passes") if not _is_of(path, prefixes + emitters())]
    assert not stray, f"of no pass or emitter in that folder: {', '.join(stray)}"


def test_every_emitter_for_gpus_has_a_test() -> None:
    tested = tuple(
        f"{path.removesuffix('.mlir')}-" for folder in GPUS for path in lit_files(folder)
    )
    emitting = [name for name in emitters() if not name.startswith(f"{GPUS[0]}/emit/")]
    missing = [name for name in emitting if _emits(name) and not f"{name}-".startswith(tested)]
    assert not missing, f"missing in lit-tests: {', '.join(missing)}"


def emitters() -> tuple[str, ...]:
    """Return the modules of code for GPUs, without ending, which tests may be named after."""
    root = LIT_TESTS.parent
    found = sorted(path for folder in GPUS for path in (root / folder).rglob("*.py"))
    return tuple(path.relative_to(root).with_suffix("").as_posix() for path in found)


def _emits(module: str) -> bool:
    """Tell whether a module emits launches by itself."""
    text = (LIT_TESTS.parent / f"{module}.py").read_text(encoding="utf-8")
    return (
        re.search(r"^def emit_\w+\([^)]*\) -> (LaunchShape|CudaLaunch):", text, re.MULTILINE)
        is not None
    )


def _is_of(path: str, prefixes: tuple[str, ...]) -> bool:
    """Tell whether a file is named after a pass, or after one and what it tests of it."""
    return any(path == f"{prefix}.mlir" or path.startswith(f"{prefix}-") for prefix in prefixes)


def test_every_test_of_a_pass_runs_it() -> None:
    idle = files_that_do_not_run(lit_files("passes"), expected_files(folders_of_passes()))
    assert not idle, f"do not run their pass: {', '.join(idle)}"


def test_every_op_occurs_in_a_valid_and_in_a_refused_form() -> None:
    files = lit_files("dialects")
    for is_refusal in (False, True):
        texts = [text for path, text in files.items() if path.endswith(ENDINGS[1]) == is_refusal]
        missing = untested_ops(names_of_ops(), texts)
        assert not missing, f"ops that no {'-reject ' * is_refusal}test has: {', '.join(missing)}"


def test_every_test_of_the_dialect_has_an_op_of_it() -> None:
    names = names_of_ops()
    stray = [
        path
        for path, text in lit_files("dialects").items()
        if len(untested_ops(names, [text])) == len(names)
    ]
    assert not stray, f"of no op: {', '.join(stray)}"


def test_every_file_checks_something() -> None:
    assert not files_that_test_nothing(lit_files("."))


def test_folders_mirror_the_modules() -> None:
    folders = folders_of_passes()
    assert folders["expand-math"] == "passes/math"
    assert folders["verify-kernels"] == "passes"
    assert "xyntra.softmax" in names_of_ops()


def test_faults_are_found() -> None:
    expected = expected_files({"one": "passes/a"})
    assert list(expected) == ["passes/a/one.mlir", "passes/a/one-reject.mlir"]
    files = {
        "passes/a/one.mlir": "// RUN: %xyntra-opt %s --one-more | FileCheck %s\n// --one\n",
        "passes/a/one-reject.mlir": "// RUN: %xyntra-opt %s --one=x=1\n",
    }
    assert files_that_do_not_run(files, expected) == ["passes/a/one.mlir"]
    assert files_that_test_nothing(files) == ["passes/a/one-reject.mlir"]
    assert untested_ops(["xyntra.a", "xyntra.ab"], ['"xyntra.ab"()']) == ["xyntra.a"]
