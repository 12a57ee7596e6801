# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modules that compute with complex numbers inside, beside eager PyTorch."""

import pytest

torch = pytest.importorskip("torch")

import xyntra  # noqa: E402
from xyntra.errors import UnsupportedError  # noqa: E402
from xyntra.integrations.torch_compile import backend  # noqa: E402

_X = torch.linspace(-3, 3, 5 * 28).reshape(5, 28).sin() * 2


class _Module(torch.nn.Module):
    """Calls a function of itself, which has a complex buffer and a complex parameter."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        turns = torch.arange(28.0).reshape(2, 14) / 9
        self.register_buffer("turns", torch.polar(torch.ones(2, 14), turns))
        self.weight = torch.nn.Parameter(torch.polar(1 + turns, turns * 2))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def _rotary(module, x):
    z = torch.view_as_complex(x.reshape(5, 14, 2))
    return torch.view_as_real(z[:, None] * module.turns).flatten(2)


def _numbers(module, x):
    z = torch.complex(x, x.flip(0))
    other = torch.complex(x + 1, -x)
    parts = [z.abs(), z.angle(), z.conj().imag.t() * 2, (z**3).real, (z**-1).imag, z.exp().real]
    parts += [z.log().imag, z.sqrt().real, (z / other).imag, (3 / z).real, (z * (2 - 1j)).imag]
    parts += [(z - 2 * other).real, (1 - z).imag, (z + x).real, torch.sgn(z).imag, z != other]
    return [*parts, z.mean(0).imag, torch.linalg.vector_norm(z, dim=1), torch.view_as_real(z * z)]


def _structures(module, x):
    z = torch.complex(x[:, :14], x[:, 14:])
    parts = [torch.cat([z, module.turns]).imag, torch.where(x[:, :14] > 0, z, 1.0).imag]
    parts += [torch.nn.functional.pad(z, (1, 2), value=2.0).imag, z.to(torch.complex128).imag]
    parts += [each.imag for each in z.split((4, 10), 1)]
    parts += [z.cumsum(1).real, z[torch.tensor([3, 0])].imag, torch.full_like(z, 2 + 1j).imag]
    return [
        *parts,
        (z @ module.weight.t().conj()).imag,
        torch.nn.functional.linear(z, module.turns).real,
    ]


def _frequencies(module, x):
    whole = torch.fft.fft2(x.repeat(1, 12)[:, :300], norm="ortho")
    prime = torch.fft.ifft(torch.complex(x.flatten()[:137], x.flatten()[-137:]))
    images = x[:, :24].reshape(5, 4, 6)
    filtered = torch.fft.rfft2(images) * module.turns[0, :4]
    window = torch.hann_window(16)
    bands = torch.stft(x, 16, 4, window=window, return_complex=True)
    parts = [whole.real, prime.imag, torch.fft.irfft2(filtered, s=(4, 6)), bands.abs()]
    return [*parts, torch.fft.irfft(torch.fft.rfft(x[:, :27]), n=27), torch.fft.hfft(prime[:9])]


@pytest.mark.parametrize("function", [_rotary, _numbers, _structures, _frequencies])
def test_exported(function):
    module = _Module(function)
    exe = xyntra.compile(module, inputs=(_X,), threads=1)
    torch.testing.assert_close(exe(_X), module(_X), rtol=1e-4, atol=1e-4)


def test_large_and_small_quotients_neither_overflow_nor_vanish():
    def divided(module, x):
        z = torch.complex(x, x)
        return torch.view_as_real(z / torch.complex(x * 1e30, x * 2e30) * 1e30)

    module = _Module(divided)
    found = xyntra.compile(module, inputs=(_X,), threads=1)(_X)
    torch.testing.assert_close(found, module(_X), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("error:xyntra")
def test_training_takes_and_returns_complex_tensors():
    def function(module, z):
        y = torch.fft.fft(z.transpose(0, 1), dim=0) * module.weight.flatten()[:, None]
        return y.transpose(0, 1) / 3, y.abs().square().mean()

    found = []
    for compiled in (False, True):
        module = _Module(function)
        call = torch.compile(module, backend=backend) if compiled else module
        z = torch.complex(_X, _X.flip(1)).requires_grad_()
        result, loss = call(z)
        (loss + result.real.sum()).backward()
        found.append((result.detach(), loss.detach(), z.grad, module.weight.grad))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)
    assert found[1][0].stride() == found[0][0].stride()


def test_pytorch_runs_what_has_no_rule():
    def function(module, z):
        return torch.tan(z * 2).real + z.imag

    z = torch.complex(_X, _X.flip(1))
    with pytest.warns(UserWarning, match="PyTorch runs aten.tan"):
        found = torch.compile(_Module(function), backend=backend)(z)
    torch.testing.assert_close(found, function(None, z), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("function", "input_", "code", "place"),
    [
        (lambda _, x: torch.tan(x * 1j).imag, _X, "operator-unsupported", "tan"),
        (lambda _, x: x * 1j, _X, "torch-output", "mul"),
        (lambda _, x: x.real, torch.complex(_X, _X), "torch-input", "input"),
    ],
)
def test_what_is_refused_is_named(function, input_, code, place):
    with pytest.raises(UnsupportedError, match=place) as raised:
        xyntra.compile(_Module(function), inputs=(input_,))
    assert raised.value.code == code
