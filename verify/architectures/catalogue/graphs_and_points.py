# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of graphs, point clouds and recommenders, written out."""

from __future__ import annotations

import itertools
from typing import Any

from verify.architectures.images import tokens
from verify.architectures.registry import Model, architecture

_OURS = "written out"


@architecture("dlrm", "recommender", _OURS)
def _dlrm() -> Model:
    """Embedding bags, a bottom network, pairwise products, a top network."""
    import torch
    from torch import nn

    class Recommender(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.Embedding(60 + 10 * i, 16) for i in range(5))
            self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
            self.top = nn.Sequential(nn.Linear(16 + 15, 32), nn.ReLU(), nn.Linear(32, 1))

        def forward(self, dense: Any, sparse: Any) -> Any:
            first = self.bottom(dense)
            parts = [table(sparse[:, i]).sum(1) for i, table in enumerate(self.tables)]
            features = torch.stack([first, *parts], 1)
            products = features @ features.transpose(1, 2)
            rows, columns = torch.tril_indices(6, 6, offset=-1)
            pairs = products[:, rows, columns]
            return self.top(torch.cat([first, pairs], 1)).sigmoid()

    inputs = {"dense": torch.randn(8, 13), "sparse": torch.randint(0, 60, (8, 5, 3))}
    return Model(Recommender(), inputs)


@architecture("deep-and-cross", "recommender", _OURS)
def _deep_and_cross() -> Model:
    import torch
    from torch import nn

    class DeepAndCross(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(200, 8)
            self.cross = nn.ModuleList(nn.Linear(48, 48) for _ in range(3))
            self.deep = nn.Sequential(nn.Linear(48, 32), nn.SELU(), nn.Linear(32, 16), nn.PReLU(16))
            self.head = nn.Linear(64, 1)

        def forward(self, fields: Any) -> Any:
            start = x = self.table(fields).flatten(1)
            for layer in self.cross:
                x = start * layer(x) + x
            return self.head(torch.cat([x, self.deep(start)], 1)).sigmoid()

    return Model(DeepAndCross(), {"fields": tokens(8, 6, 200)})


@architecture("graph-convolution", "graph network", _OURS)
def _graph_convolution() -> Model:
    """Messages along edges, summed by scatter."""
    import torch
    from torch import nn

    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 32)])
            self.head = nn.Linear(32, 7)

        def forward(self, nodes: Any, edges: Any) -> Any:
            source, target = edges[0], edges[1]
            ones = torch.ones_like(source, dtype=nodes.dtype)
            degree = torch.zeros_like(nodes[:, 0]).scatter_add(0, target, ones) + 1
            scale = (degree[source] * degree[target]).rsqrt()[:, None]
            for layer in self.layers:
                hidden = layer(nodes)
                messages = hidden[source] * scale
                index = target[:, None].expand_as(messages)
                nodes = torch.zeros_like(hidden).scatter_add(0, index, messages)
                nodes = (nodes + hidden / degree[:, None]).relu()
            return self.head(nodes)

    inputs = {"nodes": torch.randn(30, 16), "edges": torch.randint(0, 30, (2, 90))}
    return Model(Graph(), inputs)


@architecture("graph-attention", "graph network", _OURS)
def _graph_attention() -> Model:
    """Attention along edges: a softmax over the edges of each node, by scatter."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(16, 32, bias=False)
            self.left = nn.Parameter(torch.randn(4, 8))
            self.right = nn.Parameter(torch.randn(4, 8))
            self.head = nn.Linear(32, 7)

        def forward(self, nodes: Any, edges: Any) -> Any:
            source, target = edges[0], edges[1]
            heads = self.project(nodes).reshape(-1, 4, 8)
            left, right = (heads * self.left).sum(-1), (heads * self.right).sum(-1)
            scores = nn.functional.leaky_relu(left[source] + right[target], 0.2)
            index = target[:, None].expand_as(scores)
            start = torch.full_like(left, -1e9)
            largest = start.scatter_reduce(0, index, scores, "amax", include_self=True)
            weights = (scores - largest[target]).exp()
            total = torch.zeros_like(left).scatter_add(0, index, weights)
            weights = weights / (total[target] + 1e-9)
            messages = heads[source] * weights[..., None]
            where = target[:, None, None].expand_as(messages)
            gathered = torch.zeros_like(heads).scatter_add(0, where, messages)
            return self.head(nn.functional.elu(gathered.flatten(1)))

    inputs = {"nodes": torch.randn(30, 16), "edges": torch.randint(0, 30, (2, 90))}
    return Model(Attention(), inputs)


@architecture("pointnet", "point cloud", _OURS)
def _pointnet() -> Model:
    """Points are turned by a matrix that a small network computes, and pooled."""
    import torch
    from torch import nn

    def layers(*sizes: int) -> nn.Sequential:
        parts: list[nn.Module] = []
        for before, after in itertools.pairwise(sizes):
            parts += [nn.Conv1d(before, after, 1), nn.BatchNorm1d(after), nn.ReLU()]
        return nn.Sequential(*parts)

    class PointNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turn, self.turned = layers(3, 16, 64), nn.Linear(64, 9)
            self.near, self.far = layers(3, 32, 32), layers(32, 64, 128)
            self.head = layers(160, 64)
            self.last = nn.Conv1d(64, 6, 1)

        def forward(self, points: Any) -> Any:
            matrix = self.turned(self.turn(points).amax(2)).reshape(-1, 3, 3)
            turned = torch.bmm(points.transpose(1, 2), matrix + torch.eye(3)).transpose(1, 2)
            near = self.near(turned)
            far = self.far(near).amax(2, keepdim=True).expand(-1, -1, points.shape[2])
            return self.last(self.head(torch.cat([near, far], 1)))

    return Model(PointNet(), {"points": torch.randn(2, 3, 100)})


@architecture("dynamic-graph-cnn", "point cloud", _OURS)
def _dynamic_graph() -> Model:
    """The nearest neighbours of points by top-k, gathered and pooled."""
    import torch
    from torch import nn

    class EdgeConvolution(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Sequential(nn.Conv2d(6, 32, 1), nn.BatchNorm2d(32), nn.LeakyReLU(0.2))
            self.head = nn.Conv1d(32, 10, 1)

        def forward(self, points: Any) -> Any:
            places = points.transpose(1, 2)
            index = (-torch.cdist(places, places)).topk(8, -1).indices
            wide = index[..., None].expand(-1, -1, -1, 3)
            near = places[:, None].expand(-1, places.shape[1], -1, -1).gather(2, wide)
            centre = places[:, :, None].expand_as(near)
            edges = torch.cat([centre, near - centre], -1).permute(0, 3, 1, 2)
            return self.head(self.mix(edges).amax(-1)).amax(-1)

    return Model(EdgeConvolution(), {"points": torch.randn(2, 3, 40)})
