# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch modules compiled and compared with themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xyntra
from xyntra.errors import InputError, ModelError, UnsupportedError

torch = pytest.importorskip("torch")
nn = torch.nn
pytree = pytest.importorskip("torch.utils._pytree")

Settings = dict[str, object]


def compiled(module: Any, settings: Settings, *inputs: Any) -> Any:
    """Return a module's executable, once its outputs are those of the module."""
    exe = xyntra.compile(module, inputs=inputs, config=settings)
    with torch.no_grad():
        wanted = module(*inputs)
    torch.testing.assert_close(exe(*inputs), wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
    return exe


class Decoder(nn.Module):  # type: ignore[misc, name-defined]
    """One block as GPT-2 has it, with tied embeddings and outputs in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.qkv, self.norm = nn.Linear(32, 96), nn.LayerNorm(32)
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Any) -> Any:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        heads = self.qkv(self.norm(x)).view(*ids.shape, 3, 4, 8).permute(2, 0, 3, 1, 4)
        query, key, value = heads.unbind(0)
        y = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + y.transpose(1, 2).reshape(x.shape)
        return {"logits": self.head(x), "hidden": [x]}


def image_network() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(8, 8, 3, groups=4, padding=2, dilation=2),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.ConvTranspose2d(8, 4, 2, stride=2),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
        nn.Softmax(-1),
    ).eval()


def test_a_perceptron(settings: Settings) -> None:
    module = nn.Sequential(nn.Linear(7, 30), nn.GELU(), nn.LayerNorm(30), nn.Linear(30, 3))
    compiled(module, settings, torch.randn(5, 7))


def test_an_image_network(settings: Settings) -> None:
    compiled(image_network(), settings, torch.randn(2, 3, 17, 13))


def test_an_encoder_names_its_layers(settings: Settings) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    module = nn.TransformerEncoder(layer, 2).eval()
    exe = compiled(module, settings, torch.randn(2, 7, 32))
    assert any("layers.1.linear1/" in name for kernel in exe.kernels for name in kernel.fused)


def test_a_decoder_shares_its_weights(settings: Settings) -> None:
    module = Decoder()
    exe = compiled(module, settings, torch.randint(0, 50, (2, 9)))
    weight = module.tokens.weight
    assert np.shares_memory(
        exe.weights["head.weight" if "head.weight" in exe.weights else "tokens.weight"],
        weight.detach().numpy(),
    )
    assert len({"head.weight", "tokens.weight"} & set(exe.weights)) == 1
    assert [port.name for port in exe.outputs] == ["logits", "hidden.0"]


def test_numpy_in_is_numpy_out(settings: Settings) -> None:
    module, x = nn.Linear(4, 3), torch.randn(2, 4)
    found = compiled(module, settings, x)(x.numpy())
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_inputs_and_outputs_by_name(settings: Settings) -> None:
    x = np.ones((2, 4), np.float32)
    exe = xyntra.compile(nn.Linear(4, 3).eval(), inputs=(torch.tensor(x),), config=settings)
    found = exe.run({exe.inputs[0].name: x})
    assert list(found) == [port.name for port in exe.outputs]
    np.testing.assert_array_equal(found[exe.outputs[0].name], exe(x))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_special_values_go_through(value: float, settings: Settings) -> None:
    x = torch.randn(3, 5)
    x[1, 2] = value
    compiled(nn.Sequential(nn.ReLU(), nn.Hardtanh(), nn.Softmax(-1)), settings, x)


@pytest.mark.parametrize("counts", [(3, 4), (8, 7)])
def test_adaptive_means_of_windows_that_differ(counts: Any, settings: Settings) -> None:
    x = torch.randn(2, 3, 7, 5)
    x[1, :, 1, 2], x[0, 1, 3, 4] = float("inf"), float("nan")
    compiled(nn.AdaptiveAvgPool2d(counts), settings, x)


def test_no_rows(settings: Settings) -> None:
    compiled(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), settings, torch.zeros(0, 4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(dtype: str, settings: Settings) -> None:
    kind = getattr(torch, dtype)
    module, x = nn.Sequential(nn.Linear(40, 40), nn.Tanh()).to(kind), torch.randn(3, 40).to(kind)
    found = xyntra.compile(module, inputs=(x,), config=settings)(x)
    assert found.dtype == kind
    near = 1e-6 if dtype == "float64" else 2e-2
    torch.testing.assert_close(found, module(x), rtol=near, atol=near)


def test_an_exported_program_and_its_file(tmp_path: Path, settings: Settings) -> None:
    module, x = nn.Linear(4, 3), torch.randn(2, 4)
    program = torch.export.export(module, (x,))
    torch.export.save(program, tmp_path / "m.pt2")
    for model in (program, tmp_path / "m.pt2"):
        found = xyntra.compile(model, config=settings)(x)
        torch.testing.assert_close(found, module(x))


def test_a_file_that_holds_no_program(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "m.pt2").write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelError) as caught:
        xyntra.compile(tmp_path / "m.pt2", config=settings)
    assert caught.value.code == "model-not-torch"
    assert caught.value.place == str(tmp_path / "m.pt2")


class Refused(nn.Module):  # type: ignore[misc, name-defined]
    """A module whose forward is the function given."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


REFUSED = {
    "operator": (lambda x: torch.linalg.eigvalsh(x), "operator-unsupported", "_linalg_eigh"),
    "branch": (lambda x: x + 1 if x.sum() > 0 else x, "torch-data-dependent", "depend"),
    "output": (lambda x: 3, "torch-output", "no output is a tensor"),
    "complex": (lambda x: torch.fft.fft(x), "torch-output", "an output is complex"),
}


@pytest.mark.parametrize(("function", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(function: Any, code: str, message: str, settings: Settings) -> None:
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(Refused(function), inputs=(torch.randn(3, 3),), config=settings)
    assert caught.value.code == code
    assert message in str(caught.value)


def test_training_is_refused(settings: Settings) -> None:
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(nn.BatchNorm1d(3).train(), inputs=(torch.randn(4, 3),), config=settings)
    assert caught.value.code == "torch-mutation"
    assert "eval()" in str(caught.value.hint)


def test_wrong_arguments(settings: Settings) -> None:
    module, x = nn.Linear(4, 3), torch.randn(2, 4)
    with pytest.raises(InputError) as caught:
        xyntra.compile(module, config=settings)
    assert caught.value.code == "inputs-missing"
    exe = compiled(module, settings, x)
    for wrong in ((), (x, x), ([x],)):
        with pytest.raises(InputError, match="structure"):
            exe(*wrong)
    with pytest.raises(InputError):
        exe(torch.randn(3, 4))
    with pytest.raises(InputError, match="no free dimension"):
        xyntra.compile(module, inputs=(x,), dims={"batch": 2}, config=settings)


def test_weights_without_values_are_refused(settings: Settings) -> None:
    module = nn.Linear(4, 4, device="meta")
    with pytest.raises(UnsupportedError) as caught:
        xyntra.compile(module, inputs=((2, 4),), config=settings)
    assert caught.value.code == "torch-device"


def test_an_input_without_values_is_refused(settings: Settings) -> None:
    exe = xyntra.compile(nn.Linear(4, 4).eval(), inputs=((2, 4),), config=settings)
    with pytest.raises(InputError) as caught:
        exe(torch.zeros(2, 4, device="meta"))
    assert caught.value.code == "input-type"
