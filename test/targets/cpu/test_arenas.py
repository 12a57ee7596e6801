# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of calls: the largest so far, shared by programs of all sizes."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import make_model

import xyntra
from xyntra.targets.cpu import arenas
from xyntra.targets.cpu.arenas import Arenas, CallArena, Owner


def test_an_arena_is_used_again_until_a_call_needs_more() -> None:
    pool: Arenas[str] = Arenas()
    first = pool.take(100)
    pool.give(first)
    assert pool.take(60) is first
    second = pool.take(10)  # while the first is in use
    assert second is not first
    pool.give(first)
    larger = pool.take(101)
    assert larger.nbytes == 101
    assert first.address % 64 == larger.address % 64 == 0


def test_tables_live_as_long_as_their_program_and_their_arena() -> None:
    class Tables:
        pass

    arena: CallArena[Tables] = CallArena(64)
    owners = [Owner(), Owner()]
    for owner in owners:
        assert arena.tables(owner) is None
        arena.keep(owner, Tables())
    kept = [arena.tables(owner) for owner in owners]
    assert None not in kept
    assert kept[0] is not kept[1]
    seen = [weakref.ref(each) for each in kept if each is not None]
    del kept, owners[0], owner
    gc.collect()
    assert seen[0]() is None
    assert arena.tables(owners[0]) is seen[1]()
    del arena
    gc.collect()
    assert seen[1]() is None


def _chain() -> onnx.ModelProto:
    node = onnx.helper.make_node
    held = {"w": np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8}
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "w"], ["b"])]
    nodes.append(node("MatMul", ["b", "w"], ["y"]))
    return make_model(nodes, {"x": ["n", 64]}, ["y"], held)


def test_memory_follows_the_largest_call_whatever_sizes_there_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []
    allocate = arenas.allocate

    def counted(nbytes: int) -> Any:
        taken.append(nbytes)
        return allocate(nbytes)

    monkeypatch.setattr(arenas, "allocate", counted)
    settings = {"cache": False}
    exe = xyntra.compile(_chain(), target="cpu", dims={"n": range(1, 4097)}, config=settings)
    taken.clear()

    def call(n: int) -> None:
        x = np.random.default_rng(n).standard_normal((n, 64)).astype(np.float32)
        w = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8
        np.testing.assert_allclose(exe(x), x @ w @ w @ w, rtol=1e-3, atol=1e-4)

    for n in (4, 300, 17, *range(1, 60), 300):
        call(n)
    assert len(taken) == 2
    assert taken[1] < 4096 * 64 * 4
    threads = [threading.Thread(target=call, args=(n,)) for n in (5, 250, 290)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(taken) <= 2 + len(threads)
    assert max(taken) == taken[1]
