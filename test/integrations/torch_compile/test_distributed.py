# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two processes that train one model with DistributedDataParallel, on the CPU through gloo.

Run as a program, the file is one of them: `test_distributed.py RANK FOLDER`.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
compiling = pytest.importorskip("xyntra.integrations.torch_compile")
nn = torch.nn

_RANKS = 2
_STEPS = 3


class Net(nn.Module):  # type: ignore[misc, name-defined]
    """Products for two of DDP's buckets, and buffers that it broadcasts."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(12, 520), nn.BatchNorm1d(520)
        self.last = nn.Linear(520, 520)

    def forward(self, x: Any) -> Any:
        return self.last(nn.functional.gelu(self.norm(self.first(x))))


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no processes")
def test_two_processes_follow_eager_ones(tmp_path: Path) -> None:
    commands = [[sys.executable, __file__, str(rank), str(tmp_path)] for rank in range(_RANKS)]
    started = [subprocess.Popen(each, stderr=subprocess.PIPE, text=True) for each in commands]
    try:
        errors = [each.communicate(timeout=120)[1] for each in started]
    finally:
        for each in started:
            each.kill()
    assert [each.returncode for each in started] == [0] * _RANKS, "\n".join(errors)
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(_RANKS)]
    for each in found:
        assert each["within"]["graphs"] == 1  # Dynamo would leave out what DDP itself holds
        assert each["within"]["apart"] < 1e-5
        assert each["parts"] >= 2  # DDP's buckets cut the graph: each has a part for its results
        assert each["apart"] < 1e-5
        assert each["alone"] > 1e-4  # gradients of one process alone are others
    assert found[0]["sum"] == found[1]["sum"]  # both processes hold the same parameters


def _train(rank: int, folder: Path) -> dict[str, Any]:
    """Train a model and its compiled copy on the data of a rank; return how far they are apart."""
    torch.manual_seed(0)
    plain = Net()
    pairs = [plain, copy.deepcopy(plain)]
    eager, other = (nn.parallel.DistributedDataParallel(m, bucket_cap_mb=1) for m in pairs)
    parts: list[int] = []

    def counted(module: Any, inputs: Any) -> Any:
        options = {"fallback": False, "isolate": False, "jobs": 1, "cache_dir": f"{folder}/{rank}"}
        call = compiling.backend(module, inputs, options=options)
        parts.append(0)
        place = len(parts) - 1

        def run(*arguments: Any) -> Any:
            parts[place] += 1
            return call(*arguments)

        return run

    step = torch.compile(other, backend=counted)
    steps = [torch.optim.SGD(each.parameters(), 0.05) for each in pairs]
    torch.manual_seed(rank + 5)
    apart = alone = 0.0
    for _ in range(_STEPS):
        x = torch.randn(6, 12)
        for call, optimizer in zip((eager, step), steps, strict=True):
            optimizer.zero_grad()
            call(x).square().mean().backward()
        single = copy.deepcopy(plain)
        single.zero_grad()
        single(x).square().mean().backward()
        grads = [[p.grad for p in each.parameters()] for each in (*pairs, single)]
        apart = max(apart, _difference(grads[0], grads[1]))
        alone = max(alone, _difference(grads[0], grads[2]))
        for optimizer in steps:
            optimizer.step()
    buffers = [list(each.buffers()) for each in pairs]
    apart = max(apart, _difference(*buffers))
    total = sum(p.double().sum().item() for p in pairs[1].parameters())
    used = sum(count > 0 for count in parts)
    return {"parts": used, "apart": apart, "alone": alone, "sum": total}


def _train_within(rank: int, folder: Path) -> dict[str, Any]:
    """Compare gradients of a module of PyTorch's own that is compiled before DDP holds it."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.Linear(16, 3))
    inner, graphs = copy.deepcopy(plain), []

    def counted(module: Any, inputs: Any) -> Any:
        options = {"fallback": False, "isolate": False, "jobs": 1, "cache_dir": f"{folder}/{rank}"}
        graphs.append(module)
        return compiling.backend(module, inputs, options=options)

    torch.manual_seed(rank + 9)
    x = torch.randn(6, 12)
    for module in (plain, torch.compile(inner, backend=counted)):
        nn.parallel.DistributedDataParallel(module)(x).square().mean().backward()
    grads = [[p.grad for p in each.parameters()] for each in (plain, inner)]
    return {"graphs": len(graphs), "apart": _difference(*grads)}


def _difference(one: list[Any], other: list[Any]) -> float:
    return max((a - b).abs().max().item() for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    own_rank, shared = int(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{shared}/meeting", rank=own_rank, world_size=_RANKS
    )
    result = _train(own_rank, shared)
    result["within"] = _train_within(own_rank, shared)
    (shared / f"{own_rank}.json").write_text(json.dumps(result))
    torch.distributed.barrier()  # gloo aborts a process whose peer leaves first
    torch.distributed.destroy_process_group()
