# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares a model under torch.compile(backend="xyntra") with eager PyTorch."""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from torch import nn

from verify.torch_compile.models import CASES, LARGE, Batch
from xyntra.integrations.torch_compile import backend

__all__ = ["Row", "Timing", "check"]

Row = dict[str, Any]
_FAR = 20
"""How much further from float64 than eager float32 a result may be."""
_APART = {None: 1e-3, torch.bfloat16: 5e-2, torch.float16: 5e-2}
"""How far the losses of some steps may come apart, by the dtype of autocast."""
_WARM, _TIMED = 5, 20


def check(name: str, device: str, steps: int, autocast: torch.dtype | None) -> tuple[Row, Timing]:
    """Compare one model; return what was found, and what times its steps.

    "status" says whether it is right.

    Args:
        name: of the model.
        device: where it runs.
        steps: of training.
        autocast: the dtype of autocast; None for none.
    """
    run = _run(name, device, autocast)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        row = run.compared(steps)
    named = {str(each.message) for each in caught if "PyTorch runs" in str(each.message)}
    row["fallbacks"] = sorted(text.removeprefix("xyntra: PyTorch runs ") for text in named)
    counters = torch._dynamo.utils.counters
    row["graphs"], row["breaks"] = counters["stats"]["unique_graphs"], len(counters["graph_break"])
    return row, Timing(run)


def _run(name: str, device: str, autocast: torch.dtype | None) -> _Run:
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    model, batch = {**CASES, **LARGE}[name]()
    return _Run(model.to(device), (batch[0].to(device), batch[1].to(device)), autocast)


class _Run:
    def __init__(self, model: nn.Module, batch: Batch, autocast: torch.dtype | None) -> None:
        self.model, self.batch, self.autocast = model, batch, autocast
        if autocast is not None:  # masks cannot be drawn again in float64, nor bounds be as tight
            for each in model.modules():
                if isinstance(each, nn.Dropout):
                    each.p = 0.0
        self.exact, self.ours = copy.deepcopy(model).double(), copy.deepcopy(model)
        torch._dynamo.reset()
        self.call = torch.compile(self.ours, backend=backend)

    def compared(self, steps: int) -> Row:
        """Compare results, gradients and losses."""
        sides = (self.model, self.exact, self.ours)
        _note("compiles for inference")
        start = time.perf_counter()
        for each in sides:
            each.eval()
        with torch.no_grad():
            ours = [self._cast(lambda: self.call(self.batch[0]))]
            first = self.seconds(start)
            theirs = [self._cast(lambda: self.model(self.batch[0]))]
            inference = _worst(ours, theirs, [self.exact(_in_double(self.batch)[0])])
        for each in sides:
            each.train()
        has_dropout = any(isinstance(m, nn.Dropout) and m.p for m in self.model.modules())
        _note("compiles for training")
        begun = time.perf_counter()
        found = self._gradients(self.call, self.ours)
        ready = self.seconds(begun)
        _note("compares gradients and losses")
        eager = self._gradients(self.model, self.model)
        exact = self.exact, _in_double(self.batch)
        reference = eager if has_dropout else _gradients(exact[0], *exact)
        training = _worst(found, eager, [t.double() for t in reference])
        mine, theirs_ = self._follow(self.call, steps), self._follow(self.model, steps)
        apart, eager_apart = _apart(mine, theirs_), 0.0
        if not has_dropout:  # near either is right: eager's kernels may be the ones that are far
            true = self._follow(self.exact, steps)
            apart, eager_apart = min(apart, _apart(mine, true)), _apart(theirs_, true)
        bound = 200 * _FAR if has_dropout else _FAR  # without float64, f32's own error is unknown
        again = self._repeated(has_dropout)
        right = (
            again["error"] < 200 * _FAR
            and inference < _FAR
            and training < bound
            and apart < _APART[self.autocast]
        )
        return {
            "status": "right" if right else "wrong",
            "inference": inference,
            "gradients": training,
            "losses_apart": apart,
            "eager_is_far": eager_apart >= _APART[self.autocast] or again["eager"] >= 200 * _FAR,
            "losses": [] if right else [mine, theirs_],
            "repeated": again,
            "first_result_s": first,
            "first_step_s": ready,
        }

    def _repeated(self, has_dropout: bool) -> Row:
        """Compare gradients of calls that find all memory where it was, with equal parameters.

        The reference is float64, and eager PyTorch where dropout draws masks.
        """
        self.ours.load_state_dict(self.model.state_dict())
        self.exact.load_state_dict(self.model.state_dict())
        names = ["loss", *(n for n, p in self.model.named_parameters() if p.grad is not None)]
        worst: Row = {"error": 0.0, "eager": 0.0}
        true = [] if has_dropout else _gradients(self.exact, self.exact, _in_double(self.batch))
        least = 2e-6 if self.autocast is None else 2e-3
        for turn in range(4):
            found = self._gradients(self.call, self.ours)
            eager = self._gradients(self.model, self.model)
            reference = true or eager
            largest = max(float(each.abs().max()) for each in reference[1 : len(names)])
            for name, a, b, right in zip(names, found, eager, reference, strict=False):
                bound = least * max(float(right.abs().max()), 1e-3 * largest) + 1e-8
                error = float((a.double() - right.double()).abs().max()) / bound
                eagers = float((b.double() - right.double()).abs().max()) / bound
                worst["eager"] = max(worst["eager"], eagers)
                if not error <= worst["error"]:
                    worst |= {"error": error, "turn": turn, "name": name, "shape": list(a.shape)}
        return worst

    def step(self, call: Any, owner: nn.Module) -> None:
        owner.zero_grad()
        self._cast(lambda: _loss_of(call, self.batch)).backward()

    def seconds(self, start: float) -> float:
        if self.batch[0].is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def _cast(self, call: Callable[[], torch.Tensor]) -> torch.Tensor:
        kind = self.batch[0].device.type
        with torch.autocast(kind, self.autocast, enabled=self.autocast is not None):
            return call()

    def _gradients(self, call: Any, model: nn.Module) -> list[torch.Tensor]:
        return _gradients(call, model, self.batch, self._cast)

    def _follow(self, call: Any, steps: int) -> list[float]:
        """Return the losses of some steps of training, which draw the same numbers each time."""
        model = self.ours if call is self.call else call
        batch = _in_double(self.batch) if call is self.exact else self.batch
        cast = (lambda loss: loss()) if call is self.exact else self._cast
        torch.manual_seed(5)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = cast(lambda: _loss_of(call, batch))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return [each.item() for each in losses]


def _note(stage: str) -> None:
    """Say what begins, for a process that is ended before its answer."""
    print(f"{time.process_time():.1f} s of one core: {stage}", file=sys.stderr, flush=True)


class Timing:
    """The times of a step by Xyntra, by eager PyTorch and by Inductor, in turns.

    Args:
        run: a model that has been compared.
    """

    def __init__(self, run: _Run) -> None:
        del run.exact
        self._run = run
        self._sides: dict[str, tuple[Any, nn.Module]] = {}

    def prepare(self, names: Sequence[str]) -> Row:
        """Let sides take a step; return how many seconds it took, and what failed."""
        run = self._run
        row: Row = {}
        for name in names:
            start = time.perf_counter()
            try:
                side = self._side(name)
                run.step(*side)
            except Exception as error:  # of any kind: a compiler may be missing
                row[f"{name}_failed"] = f"{type(error).__name__}: {error}"[:300]
                continue
            self._sides[name] = side
            row[f"{name}_first_timed_step_s"] = run.seconds(start)
        if run.batch[0].is_cuda:  # others run while this one waits
            for _, owner in self._sides.values():
                owner.zero_grad()
            torch.cuda.empty_cache()
        return row

    def _side(self, name: str) -> tuple[Any, nn.Module]:
        run = self._run
        if name == "inductor":
            other = copy.deepcopy(run.model)
            return torch.compile(other), other
        return (run.call, run.ours) if name == "xyntra" else (run.model, run.model)

    def measure(self) -> Row:
        """Return the milliseconds of a step, and of what the host does for it."""
        run, row = self._run, {}
        taken: dict[str, list[float]] = {name: [] for name in self._sides}
        for turn in range(_WARM + _TIMED):
            for name, side in self._sides.items():
                start = time.perf_counter()
                run.step(*side)
                if turn == _WARM:
                    row[f"{name}_host_ms"] = 1e3 * (time.perf_counter() - start)
                if turn >= _WARM:
                    taken[name].append(run.seconds(start))
        return row | {f"{name}_ms": 1e3 * median(each) for name, each in taken.items()}


def _apart(losses: Sequence[float], others: Sequence[float]) -> float:
    """Return how far losses come apart; infinity where one is no number."""
    far = [abs(a - b) / max(abs(b), 1e-2) for a, b in zip(losses, others, strict=True)]
    return max((each if each == each else float("inf") for each in far), default=0.0)


def _loss_of(call: Any, batch: Batch) -> torch.Tensor:
    return nn.functional.cross_entropy(call(batch[0]), batch[1])


def _gradients(
    call: Any,
    model: nn.Module,
    batch: Batch,
    cast: Callable[[Callable[[], torch.Tensor]], torch.Tensor] = lambda call: call(),
) -> list[torch.Tensor]:
    """Return the loss, every gradient and every buffer of one step."""
    torch.manual_seed(11)
    model.zero_grad()
    loss = cast(lambda: _loss_of(call, batch))
    loss.backward()
    found = [loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]
    return [*found, *model.buffers()]


def _in_double(batch: Batch) -> Batch:
    return tuple(t.double() if t.is_floating_point() else t for t in batch)  # type: ignore[return-value]


def _worst(
    found: Sequence[torch.Tensor], eager: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]
) -> float:
    """Return the largest error against float64, over eager's own or what f32 cannot tell."""
    ratios = [0.0]
    for ours, theirs, true in zip(found, eager, exact, strict=True):
        if not true.is_floating_point():
            ratios.append(0.0 if torch.equal(ours, theirs) else float("inf"))
            continue
        scale = float(true.abs().max()) + 1e-12
        least = max(float((theirs.double() - true).abs().max()), 2e-6 * scale, 1e-8)
        error = float((ours.double() - true).abs().max())
        ratios.append(error / least if error == error else float("inf"))
    return max(ratios)
