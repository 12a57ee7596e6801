# SPDX-License-Identifier: MIT OR Apache-2.0
"""The list of operators agrees with what the files of importers register."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from new_process import printed_by

from xyntra.frontends.onnx import node as nodes
from xyntra.frontends.onnx import ops
from xyntra.frontends.onnx.node import Node, find_handler, handles, supported_operators


def test_every_file_registers_what_is_listed_and_nothing_else() -> None:
    for module in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        importlib.import_module(module.name)
    assert sorted(nodes._HANDLERS) == supported_operators()


def test_all_importers_can_be_loaded_ahead() -> None:
    script = (
        "from xyntra.frontends.onnx import node; node.load_importers();"
        "print(sorted(node._HANDLERS) == node.supported_operators())"
    )
    found = printed_by(script)
    assert found.strip() == "True"


def test_every_operator_listed_has_an_importer() -> None:
    assert len(supported_operators()) > 200
    for domain, name in supported_operators():
        assert find_handler(domain, name) is nodes._HANDLERS[domain, name]


def test_an_operator_that_is_not_listed_cannot_be_registered() -> None:
    def handler(node: Node) -> None: ...

    with pytest.raises(ValueError, match=r"::NoSuchOperator is imported by .*lists None"):
        handles("NoSuchOperator")(handler)
    assert find_handler("", "NoSuchOperator") is None


def test_an_operator_cannot_be_registered_in_another_file() -> None:
    def handler(node: Node) -> None: ...

    with pytest.raises(ValueError, match=r"::Relu is imported by .*lists elementwise.simple"):
        handles("Relu")(handler)


def test_only_the_file_of_the_operator_is_loaded() -> None:
    script = (
        "import sys; from xyntra.frontends.onnx import importer; from xyntra.frontends.onnx.node "
        "import find_handler; find_handler('', 'Relu');"
        "print(*(name for name in sys.modules if '.onnx.ops.' in name or '.folding.' in name))"
    )
    found = printed_by(script).split()
    loaded = {name.partition(".onnx.")[2] for name in found}
    rooms = {"ops.elementwise", "folding.fold", "folding.mask_weights", "folding.record"}
    assert loaded == {*rooms, "ops.elementwise.simple", "ops.elementwise.precision"}
