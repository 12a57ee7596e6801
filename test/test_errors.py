# SPDX-License-Identifier: MIT OR Apache-2.0
"""Errors read well, survive pickling and dictionaries, and keep their class."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from xyntra import errors
from xyntra.errors import CompileError, MissingExtraError, ModelError, WorkerError, XyntraError

KINDS = [getattr(errors, name) for name in errors.__all__]


def full(kind: type[XyntraError] = ModelError) -> XyntraError:
    return kind(
        "model-truncated",
        "the file ends in the middle of a tensor",
        place="model.onnx, initializer 'w1'",
        cause="4096 bytes were declared, 100 remain",
        hint="download the file again",
    )


def test_text_has_one_line_for_each_part() -> None:
    assert str(full()) == (
        "error[model-truncated]: the file ends in the middle of a tensor\n"
        "  at: model.onnx, initializer 'w1'\n"
        "  because: 4096 bytes were declared, 100 remain\n"
        "  try: download the file again"
    )


def test_absent_parts_leave_no_line() -> None:
    assert str(XyntraError("a-b", "it broke")) == "error[a-b]: it broke"
    assert str(XyntraError("a-b", "it broke", hint="fix it")) == (
        "error[a-b]: it broke\n  try: fix it"
    )


def test_lines_after_the_first_are_indented() -> None:
    error = XyntraError("a-b", "it broke", place="in.mlir:3\n  %0 = foo\n  ^\n", cause="x\r\ny")
    assert str(error) == (
        "error[a-b]: it broke\n  at: in.mlir:3\n        %0 = foo\n        ^\n  because: x\n      y"
    )


def test_control_characters_are_escaped_and_letters_kept() -> None:
    text = str(XyntraError("a-b", "bad name", place="node 'Gr\u00f6\u00dfe\x1b[31m\x9b\x00'"))
    assert text.endswith("at: node 'Gr\u00f6\u00dfe\\x1b[31m\\x9b\\x00'")
    assert str(XyntraError("a-b", "\udcff")).encode() == b"error[a-b]: \\udcff"


def test_long_names_and_long_causes_are_cut() -> None:
    error = XyntraError("a-b", "it broke", place="n" * 5000, cause="line\n" * 99 + "last")
    text = str(error)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 400
    assert "… (70 more lines)" in text
    assert error.place == "n" * 5000


@pytest.mark.parametrize("kind", KINDS)
def test_pickle_and_copy_keep_class_and_parts(kind: type[XyntraError]) -> None:
    error = full(kind)
    error.add_note("while testing")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert again.to_dict() == error.to_dict()
        assert again.__notes__ == ["while testing"]


@pytest.mark.parametrize("kind", KINDS)
def test_dictionary_keeps_class_and_parts(kind: type[XyntraError]) -> None:
    error = full(kind)
    again = XyntraError.from_dict(json.loads(json.dumps(error.to_dict())))
    assert type(again) is kind
    assert str(again) == str(error)


def test_unknown_kind_becomes_the_base_class() -> None:
    again = XyntraError.from_dict({"kind": "FutureError", "code": "a-b", "message": "m"})
    assert type(again) is XyntraError
    assert (again.code, again.message, again.place) == ("a-b", "m", None)


@pytest.mark.parametrize(
    "change",
    [{"code": None}, {"message": 3}, {"kind": None}, {"hint": 1}, {"place": []}, {"code": "A B"}],
)
def test_malformed_dictionary_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        XyntraError.from_dict(full().to_dict() | change)


@pytest.mark.parametrize("code", ["", "Model", "a_b", "a--b", "-a", "a-", "a b", "a-b\n"])
def test_codes_are_kebab_case(code: str) -> None:
    with pytest.raises(ValueError, match="kebab-case"):
        XyntraError(code, "m")


def test_worker_errors_are_compile_errors() -> None:
    assert issubclass(WorkerError, CompileError)
    assert all(issubclass(kind, XyntraError) for kind in KINDS)


def test_missing_extra_names_the_command() -> None:
    error = MissingExtraError.for_extra("cuda", "cuda-core", purpose="the target 'cuda'")
    assert error.code == "missing-extra"
    assert error.message == "the target 'cuda' needs cuda-core, which is not installed"
    assert error.hint == "pip install 'xyntra[cuda]'"
    assert "cuda-core is needed" in str(MissingExtraError.for_extra("cuda", "cuda-core"))
