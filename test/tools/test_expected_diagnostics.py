# SPDX-License-Identifier: MIT OR Apache-2.0
"""`--verify-diagnostics`: what the comments mean, and that each of them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from xyntra.passes.diagnostics import Diagnostic, Severity
from xyntra.tools.expected_diagnostics import check_expected
from xyntra.tools.opt import run


def at(line: int, message: str = "boom", severity: Severity = "error") -> Diagnostic:
    return Diagnostic(severity, message, f'"-":{line}:1', "-", line, 1)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("op // expected-error {{boom}}", 1),
        ("\n// expected-error@+1 {{boom}}\nop", 3),
        ("op\n\n// expected-error @-2 {{boom}}", 1),
        ("// expected-error@below {{boom}}\nop", 2),
        ("op\n// expected-error @above {{boom}}", 1),
        ("// expected-error @unknown {{boom}}", 0),
        ("// expected-error@below {{b}}\n// expected-warning@below {{w}}\nop", 3),
        ("op\n// expected-warning@above {{w}}\n// expected-error@above {{oo}}", 1),
    ],
)
def test_places(source: str, line: int) -> None:
    error = at(line) if line else Diagnostic("error", "boom")
    found = [error, at(line, "w", "warning")] if "warning" in source else [error]
    assert check_expected(source, found) == []
    moved = at(line + 1)
    complaints = check_expected(source, [moved, *found[1:]])
    assert complaints[0] == f"{line + 1}: unexpected error: boom"
    assert "was not produced" in complaints[1]


@pytest.mark.parametrize("severity", ["error", "warning", "note", "remark"])
def test_severities(severity: Severity) -> None:
    source = f"op // expected-{severity} {{{{boom}}}}"
    assert check_expected(source, [at(1, severity=severity)]) == []
    other: Severity = "remark" if severity != "remark" else "error"
    assert len(check_expected(source, [at(1, severity=other)])) == 2


def test_one_comment_matches_one_diagnostic() -> None:
    source = "op // expected-error {{boom}}"
    assert check_expected(source, [at(1), at(1)]) == ["1: unexpected error: boom"]
    assert check_expected(source, []) == ['1: expected error "boom" was not produced']


def test_text_is_a_part_of_the_message_and_no_pattern() -> None:
    assert check_expected("op // expected-error {{got [0-9]}}", [at(1, "we got [0-9]!")]) == []
    assert check_expected("op // expected-error {{got [0-9]}}", [at(1, "we got 5")]) != []


def test_patterns() -> None:
    source = "op // expected-error-re {{took (about) {{[0-9]+}} ms}}"
    assert check_expected(source, [at(1, "it took (about) 12 ms")]) == []
    assert check_expected(source, [at(1, "it took (about) some ms")]) != []
    assert check_expected(source, [at(1, "it took about 12 ms")]) != []


def test_notes_are_diagnostics_too() -> None:
    note = at(2, "defined here", "note")
    error = Diagnostic("error", "boom", '"-":1:1', "-", 1, 1, (note,))
    source = "op // expected-error {{boom}}\n"
    assert check_expected(source, [error]) == ["2: unexpected note: defined here"]
    assert check_expected(source + "op // expected-note {{defined here}}", [error]) == []


def test_the_note_that_repeats_the_op_is_ignored() -> None:
    note = at(1, "see current operation: op", "note")
    error = Diagnostic("error", "boom", '"-":1:1', "-", 1, 1, (note,))
    assert check_expected("op // expected-error {{boom}}", [error]) == []


def test_diagnostics_of_other_files_are_outside() -> None:
    other = Diagnostic("error", "boom", '"a.onnx":1:1', "a.onnx", 1, 1)
    assert check_expected("op // expected-error @unknown {{boom}}", [other]) == []
    assert check_expected("op // expected-error {{boom}}", [other]) != []


def test_the_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "func.func @f(%x: tensor<?xf32>) {{\n  // expected-error @below {{{{{}}}}}\n"
        '  %0 = "xyntra.silu"(%x) : (tensor<?xf32>) -> tensor<?xf32>\n  return\n}}\n'
    )
    path = tmp_path / "in.mlir"
    flags = ["--verify-diagnostics", "--split-input-file", "--decompose-named-ops", str(path)]
    both = text.format("dynamic shape") + "// -----\n" + text.format("dynamic shape")
    path.write_text(both)
    assert run(flags) == 0
    assert capsys.readouterr().err == ""
    path.write_text(both + "// -----\n" + text.format("another message"))
    assert run(flags) == 1
    err = capsys.readouterr().err
    assert f"{path}:15: unexpected error: 'xyntra.silu' has a dynamic shape" in err
    assert f'{path}:14: expected error "another message" was not produced' in err
    path.write_text(text.format("dynamic shape"))
    assert run(["--verify-diagnostics", str(path)]) == 1
    assert "was not produced" in capsys.readouterr().err
