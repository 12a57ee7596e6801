# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells the stories of `verify.web.states` in fresh browsers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import xyntra
from verify.web.browser import browser
from verify.web.server import served
from verify.web.states import STORIES, Story, Visit

__all__ = ["export_small_model", "tell"]


def export_small_model(folder: Path) -> None:
    """Write a page of y = x @ w, with w of 3 by 4 and more than a kilobyte of other weights."""
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    table = np.zeros((400, 4), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("ReduceSum", ["t", "axes"], ["s"], keepdims=0),
        helper.make_node("Add", ["p", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [
            numpy_helper.from_array(weight, "w"),
            numpy_helper.from_array(table, "t"),
            numpy_helper.from_array(np.array([0]), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    xyntra.compile(model, target="webgpu").save_web(folder, title="A small model")


def tell(names: Sequence[str], pictures: Path | None) -> list[str]:
    """Tell stories; returns a line for each that went wrong.

    Args:
        names: of stories; all where there is none.
        pictures: where pictures of pages go.
    """
    wanted = [story for story in STORIES if not names or story.name in names]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        export_small_model(Path(folder))
        for flags, stories in groupby(wanted, key=lambda story: story.flags):
            with browser(flags) as started:
                failures += [
                    each for story in stories if (each := _told(story, started, folder, pictures))
                ]
    return failures


def _told(story: Story, started: Any, folder: str, pictures: Path | None) -> str:
    with served(Path(folder)) as site:
        context = started.new_context(viewport={"width": 1000, "height": 700})
        page = context.new_page()
        page.set_default_timeout(30_000)

        def shot(name: str) -> None:
            if pictures is not None:
                page.screenshot(path=pictures / f"{name}.png", full_page=True)

        try:
            story.act(Visit(context, page, site, Path(folder), shot))
        except Exception as error:
            shot(f"failed-{story.name}")
            return f"{story.name}: {type(error).__name__}: {str(error)[:600]}"
        finally:
            context.close()
    print(f"{story.name}: as it should be", flush=True)
    return ""
