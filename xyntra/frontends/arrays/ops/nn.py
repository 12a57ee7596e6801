# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations of neural networks, by the importers of PyTorch's operators."""

from __future__ import annotations

from typing import Any

from xyntra.dialects import named
from xyntra.frontends.arrays.lowering import args, by_aten, lowers, tensor
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.torch.program import AtenTensor


def _type(operand: Any) -> AtenTensor:
    return AtenTensor(operand.dtype, tuple(operand.shape))


@lowers("conv")
def convolution(node: AtenNode) -> Any:
    return by_aten(
        node,
        "convolution",
        input=tensor(node, 0),
        weight=tensor(node, 1),
        bias=None,
        stride=list(node["stride"]),
        padding=list(node["padding"]),
        dilation=list(node["dilation"]),
        transposed=node["transposed"],
        output_padding=list(node["output_padding"]),
        groups=node["groups"],
    )


def _gradient(node: AtenNode, which: int) -> Any:
    upstream, x, weight = (tensor(node, place) for place in range(3))
    results: list[Any] = [None, None, None]
    results[which] = AtenTensor(node.dtype, node.shape)
    found = by_aten(
        node,
        "convolution_backward",
        results,
        grad_output=upstream,
        input=x,
        weight=weight,
        bias_sizes=None,
        stride=list(node["stride"]),
        padding=list(node["padding"]),
        dilation=list(node["dilation"]),
        transposed=node["transposed"],
        output_padding=list(node["output_padding"]),
        groups=node["groups"],
        output_mask=[which == 0, which == 1, False],
    )
    return found[which]


@lowers("conv_input_gradient")
def convolution_input_gradient(node: AtenNode) -> Any:
    return _gradient(node, 0)


@lowers("conv_weight_gradient")
def convolution_weight_gradient(node: AtenNode) -> Any:
    return _gradient(node, 1)


@lowers("gelu")
def gelu(node: AtenNode) -> Any:
    return named.gelu(node.b, tensor(node, 0), node["approximate"])


@lowers("silu")
def silu(node: AtenNode) -> Any:
    return named.silu(node.b, tensor(node, 0))


@lowers("attention")
def attention(node: AtenNode) -> Any:
    given = [node.b.tensor(each) for each in args(node)]
    return by_aten(
        node,
        "scaled_dot_product_attention",
        query=given[0],
        key=given[1],
        value=given[2],
        attn_mask=given[3] if len(given) > 3 else None,
        dropout_p=0.0,
        is_causal=node["causal"],
        scale=node["scale"],
        enable_gqa=node["grouped"],
    )


@lowers("max_pool")
def max_pool(node: AtenNode) -> Any:
    x = tensor(node, 0)
    results = [AtenTensor(node.dtype, node.shape), None]
    return by_aten(node, "max_pool2d_with_indices", results, self=x, **_window(node))[0]


@lowers("max_pool_gradient")
def max_pool_gradient(node: AtenNode) -> Any:
    """By the places of maxima, which are found again."""
    upstream, x = tensor(node, 0), tensor(node, 1)
    window = _window(node)
    types = [_type(upstream), AtenTensor("int64", tuple(upstream.shape))]
    places = by_aten(node, "max_pool2d_with_indices", types, self=x, **window)[1]
    return by_aten(
        node,
        "max_pool2d_with_indices_backward",
        grad_output=upstream,
        self=x,
        indices=places,
        **window,
    )


def _window(node: AtenNode) -> dict[str, Any]:
    names = ("kernel_size", "stride", "padding", "dilation")
    return {**{name: list(node[name]) for name in names}, "ceil_mode": False}


@lowers("avg_pool")
def average_pool(node: AtenNode) -> Any:
    return by_aten(node, "avg_pool2d", self=tensor(node, 0), **_average(node))


@lowers("avg_pool_gradient")
def average_pool_gradient(node: AtenNode) -> Any:
    return by_aten(
        node,
        "avg_pool2d_backward",
        grad_output=tensor(node, 0),
        self=tensor(node, 1),
        **_average(node),
    )


def _average(node: AtenNode) -> dict[str, Any]:
    names = ("kernel_size", "stride", "padding")
    fields = {name: list(node[name]) for name in names}
    counted = node["count_include_pad"]
    return {**fields, "ceil_mode": False, "count_include_pad": counted, "divisor_override": None}
