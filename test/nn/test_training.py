# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests layers, losses and optimisers against PyTorch from the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra import nn, optim
from xyntra.errors import InputError, ModelError

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(4)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check_training(
    ours: Any, theirs: Any, x: Any, optimizer: Any, other: Any, **options: Any
) -> None:
    """Train both networks from the same weights, and compare losses and weights after 5 steps."""
    ours.load_state_dict(theirs.state_dict())
    targets = RANDOM.integers(0, 3, len(x))
    step = optim.TrainStep(
        ours, lambda model, x, y: nn.functional.cross_entropy(model(x), y), optimizer, **options
    )
    for _ in range(5):
        loss = step(xa.asarray(x), xa.asarray(targets))
        other.zero_grad()
        expected = torch.nn.functional.cross_entropy(
            theirs(torch.from_numpy(x)), torch.from_numpy(targets)
        )
        expected.backward()
        if "clip" in options:
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), options["clip"])
        other.step()
        assert float(loss) == pytest.approx(expected.item(), rel=2e-4)
    for name, value in theirs.state_dict().items():
        if name in ours.state_dict():
            own = ours.state_dict()[name].numpy()
            np.testing.assert_allclose(own, value.numpy(), rtol=2e-3, atol=2e-4)


def test_a_perceptron_with_momentum_and_with_moments() -> None:
    ours = nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    theirs = torch.nn.Sequential(
        torch.nn.Linear(12, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)
    )
    x = numbers(8, 12)
    sgd = torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
    check_training(
        ours, theirs, x, optim.SGD(0.1, 0.9, nesterov=True, weight_decay=0.01), sgd, clip=0.5
    )
    small = nn.Sequential(nn.Linear(12, 3))
    theirs = torch.nn.Sequential(torch.nn.Linear(12, 3))
    check_training(
        small, theirs, x, optim.AdamW(0.01), torch.optim.AdamW(theirs.parameters(), 0.01)
    )


def test_a_small_convolutional_network() -> None:
    ours = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(54, 3),
    )  # fmt: skip
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 6, 3, stride=2), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(54, 3),
    )  # fmt: skip
    # By the gradient itself: that of a bias ahead of a norm is 0 but for rounding.
    sgd = torch.optim.SGD(theirs.parameters(), 0.05)
    check_training(ours, theirs, numbers(6, 1, 14, 14), optim.SGD(0.05), sgd)
    ours.eval()
    theirs.eval()
    x = numbers(2, 1, 14, 14)
    found = ours(xa.asarray(x)).numpy()
    np.testing.assert_allclose(
        found, theirs(torch.from_numpy(x)).detach().numpy(), rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("kind", ["encoder", "lstm", "gru"])
def test_layers_of_sequences_and_their_gradients(kind: str) -> None:
    if kind == "encoder":
        ours: Any = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", norm_first=True)
        theirs: Any = torch.nn.TransformerEncoderLayer(
            8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True
        )
    else:
        name = kind.upper()
        ours = getattr(nn, name)(8, 6)
        theirs = getattr(torch.nn, name)(8, 6, batch_first=True)
    ours.load_state_dict(theirs.state_dict())
    x = numbers(3, 2, 8)
    given = torch.from_numpy(x).requires_grad_()
    out = theirs(given)
    out = out if kind == "encoder" else out[0]
    (out**2).sum().backward()
    value, slopes = nn.value_and_grad(ours, lambda x: xa.sum(xa.square(ours(x))))(xa.asarray(x))
    assert float(value) == pytest.approx((out**2).sum().item(), rel=1e-4)
    for name, parameter in theirs.named_parameters():
        np.testing.assert_allclose(
            slopes[name].numpy(), parameter.grad.numpy(), rtol=2e-3, atol=2e-4, err_msg=name
        )


def test_losses_and_functions() -> None:
    x, y = numbers(4, 5), numbers(4, 5)
    own, other = xa.asarray(x), torch.from_numpy(x)
    flags, f, g = (y > 0).astype(np.float32), nn.functional, torch.nn.functional
    target = torch.from_numpy(y)
    table, places = numbers(7, 3), np.array([[0, 6], [2, 2]])
    pairs = [
        (f.mse_loss(own, xa.asarray(y)), g.mse_loss(other, target)),
        (f.l1_loss(own, xa.asarray(y), reduction="sum"), g.l1_loss(other, target, reduction="sum")),
        (f.huber_loss(own, xa.asarray(y), delta=0.5), g.huber_loss(other, target, delta=0.5)),
        (
            f.binary_cross_entropy_with_logits(own, xa.asarray(flags)),
            g.binary_cross_entropy_with_logits(other, torch.from_numpy(flags)),
        ),
        (
            f.cross_entropy(own, xa.asarray([1, 0, 4, 2]), label_smoothing=0.1),
            g.cross_entropy(other, torch.tensor([1, 0, 4, 2]), label_smoothing=0.1),
        ),
        (f.rms_norm(own, (5,), eps=1e-5), g.rms_norm(other, (5,), eps=1e-5)),
        (f.embedding(xa.asarray(places), xa.asarray(table)), torch.from_numpy(table[places])),
        (f.avg_pool2d(own.reshape((1, 1, 4, 5)), 2), g.avg_pool2d(other.reshape(1, 1, 4, 5), 2)),
        (f.group_norm(own.reshape((1, 4, 5)), 2), g.group_norm(other.reshape(1, 4, 5), 2)),
    ]
    xa.compute(*(found for found, _ in pairs))
    for found, expected in pairs:
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_states_go_through_safetensors(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm2d(4))
    path = tmp_path / "model.safetensors"
    nn.save_safetensors(model.state_dict(), path)
    found = nn.load_safetensors(path)
    assert list(found) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
    ]  # fmt: skip
    assert found["0.weight"].tolist() == model.state_dict()["0.weight"].tolist()
    content = path.read_bytes()
    for damaged in (
        b"",
        content[:9],
        content[:-4],
        b"\xff" * 8 + content[8:],
        content.replace(b"F32", b"F99"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match="no safetensors"):
            nn.load_safetensors(path)
    with pytest.raises(InputError, match=r"has no '0\.bias'"):
        model.load_state_dict({name: value for name, value in found.items() if name != "0.bias"})
    with pytest.raises(InputError, match="has the shape"):
        model.load_state_dict({**found, "0.bias": xa.zeros(5)})


def test_schedules_and_lion() -> None:
    rate = optim.linear_warmup(optim.cosine(1.0, 10), 2)
    assert [rate(0), rate(1)] == [0.5, pytest.approx(0.9755, abs=1e-4)]
    assert rate(10) == 0
    assert optim.step_decay(1.0, 2, 0.5)(5) == 0.25
    lion = optim.Lion(0.1, weight_decay=0.5)
    weights = {"w": xa.asarray([1.0, -2.0])}
    new, kept = lion.update(weights, {"w": xa.asarray([3.0, -1.0])}, lion.init(weights), 0.1)
    np.testing.assert_allclose(new["w"].numpy(), [0.85, -1.8], rtol=1e-6)
    np.testing.assert_allclose(kept["momentum"]["w"].numpy(), [0.03, -0.01], rtol=1e-5)
