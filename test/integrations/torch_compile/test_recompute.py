# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention in training: its scores are not kept for the backward, and gradients are eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
aot = pytest.importorskip("xyntra.integrations.torch_compile.aot")
parts = pytest.importorskip("xyntra.integrations.torch_compile.parts")

Settings = dict[str, object]
Attention = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
_QUERIES, _KEYS = 12, 20
_MASK = torch.rand(_QUERIES, _KEYS, generator=torch.Generator().manual_seed(1)) > 0.4
_MASK[3] = False  # a query without keys


def causal(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=_MASK, scale=0.7)


def written_out(q: Any, k: Any, v: Any) -> Any:
    scores = (q @ k.transpose(2, 3)) / 3 + torch.where(_MASK, 0.0, -1e9)
    return scores.softmax(-1, dtype=torch.float32).to(q.dtype) @ v


def dropped(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.3)


def shown(q: Any, k: Any, v: Any) -> Any:
    probabilities = (q @ k.transpose(2, 3)).softmax(-1)
    return torch.cat([probabilities @ v, probabilities], -1)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Callable[..., Any]:
    """Return what compiles a function, and lists of what forwards return and of their kernels."""

    def make(function: Attention) -> tuple[Any, list[int], list[str]]:
        sizes: list[int] = []
        kinds: list[str] = []

        def cut(joint: Any, inputs: Any, **arguments: Any) -> Any:
            forward, backward = partition(joint, inputs, **arguments)
            (end,) = forward.graph.find_nodes(op="output")
            sizes.extend(node.meta["val"].numel() for node in end.args[0])
            return forward, backward

        def compile_source(*arguments: Any) -> Any:
            executable = compiling(*arguments)
            kinds.extend(kernel.kind for kernel in executable.kernels)
            return executable

        partition, compiling = aot.partition, parts.compile_source
        monkeypatch.setattr(aot, "partition", cut)
        monkeypatch.setattr(parts, "compile_source", compile_source)
        torch._dynamo.reset()
        call = torch.compile(function, backend=aot.backend, options=settings)
        return call, sizes, kinds

    return make


def _gradients(call: Any) -> list[Any]:
    torch.manual_seed(0)
    given = [torch.randn(2, 3, n, 8, requires_grad=True) for n in (_QUERIES, _KEYS, _KEYS)]
    torch.manual_seed(2)
    result = call(*given)
    result.sin().sum().backward()
    return [result.detach(), *(each.grad for each in given)]


@pytest.mark.parametrize("function", [causal, masked, written_out])
def test_scores_are_computed_again(function: Attention, compiled: Any) -> None:
    call, sizes, kinds = compiled(function)
    found = _gradients(call)
    assert max(sizes) < 2 * 3 * _QUERIES * _KEYS
    assert kinds.count("attention") == 1
    torch.testing.assert_close(found, _gradients(function), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [dropped, shown])
def test_what_else_reads_probabilities_keeps_them(function: Attention, compiled: Any) -> None:
    call, sizes, _ = compiled(function)
    found = _gradients(call)
    assert max(sizes) >= 2 * 3 * _QUERIES * _KEYS
    torch.testing.assert_close(found, _gradients(function), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_16_bits_on_matrix_units(
    dtype: Any, compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recompute = pytest.importorskip("xyntra.integrations.torch_compile.recompute")
    graphs: list[Any] = []
    narrow = recompute.narrow_products
    monkeypatch.setattr(recompute, "has_matrix_units", lambda _: True)
    monkeypatch.setattr(
        recompute, "narrow_products", lambda *given: (narrow(*given), graphs.append(given[0]))
    )
    torch.manual_seed(0)
    given = [torch.randn(2, 3, n, 8, dtype=dtype) for n in (_QUERIES, _KEYS, _KEYS)]
    call, _, _ = compiled(masked)
    errors = []
    exact = _results(masked, [each.double() for each in given])
    for function in (masked, call):
        pairs = zip(_results(function, given), exact, strict=True)
        errors.append([float((a.double() - b).abs().max() / b.abs().max()) for a, b in pairs])
    copies = graphs[0].find_nodes(op="call_function", target=torch.ops.aten._to_copy.default)
    rounded = [node.meta["val"] for node in copies if node.kwargs["dtype"] is dtype]
    assert sum(each.numel() == 2 * 3 * _QUERIES * _KEYS for each in rounded) == 2
    assert all(ours <= 2 * theirs + 1e-4 for theirs, ours in zip(*errors, strict=True)), errors


def _results(call: Any, given: Any) -> list[Any]:
    leaves = [each.clone().requires_grad_() for each in given]
    result = call(*leaves)
    result.double().sin().sum().backward()
    return [result.detach(), *(each.grad for each in leaves)]


def test_checkpoints_draw_the_same_numbers_again(compiled: Any) -> None:
    checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint

    def function(q: Any, k: Any, v: Any) -> Any:
        def inner(q: Any, k: Any, v: Any) -> Any:
            return torch.nn.functional.dropout(causal(q, k, v), 0.3)

        return checkpoint(inner, q, k, v, use_reentrant=False)

    found = _gradients(compiled(function)[0])
    torch.testing.assert_close(found, _gradients(function), rtol=1e-4, atol=1e-5)
