# SPDX-License-Identifier: MIT OR Apache-2.0
"""Registering, finding and configuring passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest
from new_process import printed_by

from xyntra.dialects.mlir import ir
from xyntra.errors import ConfigError
from xyntra.passes import registry
from xyntra.passes.options import describe_options, make_pass
from xyntra.passes.registry import all_passes, find_pass, help_of, register_pass


@pytest.fixture(autouse=True)
def _forget_the_sample() -> Iterator[None]:
    yield
    registry._registered.pop(Sample.name, None)


@dataclass(frozen=True)
class Sample:
    """Does nothing.

    And says more.
    """

    name: ClassVar[str] = "sample-pass"
    count: int = 3
    ratio: float = 0.5
    text: str = "x"
    enabled: bool = False
    mode: Literal["fast", "exact"] = "fast"
    tile_sizes: tuple[int, ...] = (8,)
    limit: int | None = None

    def run(self, module: ir.Operation) -> None:
        """Leave `module` as it is."""


def test_found_by_name() -> None:
    assert register_pass(Sample) is Sample
    assert find_pass("sample-pass") is Sample
    assert help_of(Sample) == "Does nothing."


def test_every_pass_is_found_under_its_own_name() -> None:
    names = [cls.name for cls in all_passes()]
    assert "decompose-named-ops" in names
    assert names == sorted(names)
    for name in names:
        assert find_pass(name).name == name
        assert make_pass(find_pass(name)) == find_pass(name)()


def test_only_the_pass_asked_for_is_imported() -> None:
    script = (
        "import sys; from xyntra.passes.registry import find_pass; find_pass('verify-kernels');"
        "print(*(name for name in sys.modules if name.startswith('xyntra.passes.')))"
    )
    found = printed_by(script).split()
    assert "xyntra.passes.verify_kernels" in found
    assert not [name for name in found if name.startswith("xyntra.passes.lower")]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("decompose-named-opps", "did you mean 'decompose-named-ops'?"),
        ("decompose", "did you mean 'decompose-named-ops'?"),
        ("canonicalise", "did you mean 'canonicalize'?"),
        ("registry", None),
        ("zzzz", None),
    ],
)
def test_unknown_pass(name: str, hint: str | None) -> None:
    with pytest.raises(ConfigError, match=f"there is no pass '{name}'") as caught:
        find_pass(name)
    if name != "registry":
        assert caught.value.hint == hint


def broken_classes() -> Iterator[Any]:
    def run(self: object, module: ir.Operation) -> None:
        pass

    def make(frozen: bool = True, **members: Any) -> type[Any]:
        body = {"name": "a-pass", "run": run, "__doc__": "Help.", "__annotations__": {}, **members}
        return dataclass(frozen=frozen)(type("Broken", (), body))

    yield pytest.param(make(name="Not Kebab"), "a kebab-case `name`", id="name")
    yield pytest.param(make(frozen=False), "a frozen dataclass", id="not-frozen")
    yield pytest.param(make(run=None), "a method `run`", id="no-run")
    yield pytest.param(make(__doc__=None), "a docstring", id="no-docstring")
    options = make(__annotations__={"size": int})
    yield pytest.param(options, "a default for every option", id="no-default")
    elsewhere = make(__module__="xyntra.passes.lower.other")
    yield pytest.param(elsewhere, r"to be in a_pass\.py", id="wrong-file")
    taken = make(name="decompose-named-ops")
    yield pytest.param(taken, "xyntra.passes.lower.tensor.decompose_named_ops has", id="taken")
    yield pytest.param(type("Plain", (), {"name": "a-pass"}), "a frozen dataclass", id="plain")


@pytest.mark.parametrize(("cls", "message"), list(broken_classes()))
def test_malformed_passes(cls: type[Any], message: str) -> None:
    find_pass("decompose-named-ops")
    with pytest.raises(TypeError, match=message):
        register_pass(cls)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Sample()),
        ("count=-2 ratio=1e3", Sample(count=-2, ratio=1000.0)),
        ("count=4,text=a=b", Sample(count=4, text="a=b")),
        ("enabled", Sample(enabled=True)),
        ("count=1,enabled,mode=exact", Sample(count=1, enabled=True, mode="exact")),
        ("enabled=true", Sample(enabled=True)),
        ("enabled=0", Sample(enabled=False)),
        ("tile-sizes=1,2,3", Sample(tile_sizes=(1, 2, 3))),
        ("tile-sizes=1,2 count=7", Sample(tile_sizes=(1, 2), count=7)),
        ("tile-sizes=1,2,count=7", Sample(tile_sizes=(1, 2), count=7)),
        ("tile-sizes=", Sample(tile_sizes=())),
        ("limit=5", Sample(limit=5)),
    ],
)
def test_options(text: str, wanted: Sample) -> None:
    assert make_pass(Sample, text) == wanted


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("cuont=3", "pass 'sample-pass' has no option 'cuont'", "did you mean 'count'?"),
        ("tile_sizes=3", "has no option 'tile_sizes'", "did you mean 'tile-sizes'?"),
        ("zzz", "has no option 'zzz'", "it has count, ratio, text, enabled, mode"),
        ("count=x", "option 'count' of pass 'sample-pass' is an integer, got 'x'", None),
        ("count=1.5", "is an integer, got '1.5'", None),
        ("count", "is an integer, got 'true'", None),
        ("ratio=x", "is a number, got 'x'", None),
        ("enabled=maybe", "is true or false, got 'maybe'", None),
        ("mode=slow", "is one of fast, exact, got 'slow'", None),
        ("tile-sizes=1,x", "is a list, each an integer, got '1,x'", None),
        ("limit=x", "is an integer, got 'x'", None),
        ("count=1 count=2", "was given 'count' twice", None),
    ],
)
def test_bad_options(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        make_pass(Sample, text)
    assert (caught.value.hint or "").startswith(hint or "")


def test_options_are_described() -> None:
    described = {name: (kind, default) for name, kind, default in describe_options(Sample)}
    assert described["tile-sizes"] == ("a list, each an integer", (8,))
    assert described["mode"] == ("one of fast, exact", "fast")
    assert "name" not in described
