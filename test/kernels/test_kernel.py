# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels in Python are compiled for the types of their arguments, and called with any arrays."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xyntra
import xyntra.lang as xl
from xyntra.errors import InputError, KernelError, UnsupportedError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(3)
FACTOR = 2.0
TABLE = np.arange(4, dtype=np.float32)


def gelu(x: Any, bias: Any) -> Any:
    y = x + bias
    return 0.5 * y * (1 + xl.erf(y / 2**0.5))


def softmax(x: Any) -> Any:
    e = xl.exp(x - xl.max(x, axis=-1, keepdims=True))
    return e / xl.sum(e, axis=-1, keepdims=True)


def layer_norm(x: Any, scale: Any, bias: Any, eps: float = 1e-5) -> Any:
    centred = x - xl.mean(x, axis=-1, keepdims=True)
    variance = xl.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xl.sqrt(variance + eps) * scale + bias


def rms_norm(x: Any, scale: Any, eps: float) -> Any:
    return x * xl.rsqrt(xl.mean(x * x, axis=-1, keepdims=True) + eps) * scale


def rotary(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return xl.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)


def random(*shape: int) -> Array:
    return RANDOM.normal(size=shape)


def expected(name: str, arguments: list[Any]) -> Array:
    x, *rest = [np.asarray(each, np.float64) for each in arguments]
    if name == "gelu":
        y = x + rest[0]
        return 0.5 * y * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
    if name == "softmax":
        e = np.exp(x - x.max(-1, keepdims=True))
        return np.asarray(e / e.sum(-1, keepdims=True))
    if name == "layer_norm":
        z = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return np.asarray(z * rest[0] + rest[1])
    if name == "rms_norm":
        return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + rest[1]) * rest[0])
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * rest[0] - b * rest[1], b * rest[0] + a * rest[1]], -1)


CASES = {
    "gelu": (gelu, lambda m, n: [random(m, n), random(n)]),
    "softmax": (softmax, lambda m, n: [random(m, n)]),
    "layer_norm": (layer_norm, lambda m, n: [random(m, n), random(n), random(n)]),
    "rms_norm": (rms_norm, lambda m, n: [random(m, n), random(n), 1e-5]),
    "rotary": (rotary, lambda m, n: [random(2, m, 2 * n), random(m, n), random(m, n)]),
}
TOLERANCES = {"float32": 3e-6, "float16": 1e-2, "bfloat16": 8e-2}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", CASES)
def test_what_users_write_out_is_one_kernel(
    name: str, dtype: str, settings: dict[str, object]
) -> None:
    function, arguments = CASES[name]
    kernel = xyntra.kernel(config=settings)(function)
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rows, columns = {"float32": (37, 65), "float16": (3, 40), "bfloat16": (1, 17)}[dtype]
    given = [
        each if isinstance(each, float) else each.astype(kind)  # type: ignore[attr-defined]
        for each in arguments(rows, columns)  # type: ignore[no-untyped-call]
    ]
    found = kernel(*given)
    assert found.dtype == kind
    error = np.abs(found.astype(np.float64) - expected(name, given))
    assert error.max() <= TOLERANCES[dtype]
    assert len(kernel.compile(*given).kernels) == 1


def test_infinities_nan_and_empty_arrays(settings: dict[str, object]) -> None:
    kernel = xyntra.kernel(config=settings)(softmax)
    x = np.zeros((4, 3), np.float32)
    x[0, 0], x[1, 1], x[2] = np.nan, np.inf, -np.inf
    found = kernel(x)
    assert np.isnan(found[:3]).all()
    np.testing.assert_allclose(found[3], 1 / 3, rtol=1e-6)
    assert xyntra.kernel(config=settings)(gelu)(x[:0], x[0]).shape == (0, 3)


def test_numbers_of_a_call_change_without_a_new_variant(settings: dict[str, object]) -> None:
    @xyntra.kernel(config=settings)
    def step(x: Any, rate: float, count: int, power: int = 2) -> Any:
        y = x * rate + (1 - rate**2) * math.sqrt(rate) + count
        for k in range(power):
            y = y + k
        return y

    x = random(3, 4).astype(np.float32)
    for rate, count, power in ((0.5, 3, 2), (0.25, 4, 2), (0.25, 4, 3)):
        wanted = x * rate + (1 - rate**2) * math.sqrt(rate) + count + sum(range(power))
        np.testing.assert_allclose(step(x, rate, count, power), wanted, rtol=1e-5)
    assert len(step._variants) == 2
    with pytest.raises(InputError, match="math domain error"):
        step(x, -1.0, 3, 2)


def test_short_calls_mean_what_python_says(settings: dict[str, object]) -> None:
    @xyntra.kernel(config=settings)
    def scaled(x: Any, y: float = 2.0, *, z: float = 3.0) -> Any:
        return x * y + z

    @xyntra.kernel(config=settings)
    def shifted(x: Any, y: float = 2.0, z: float = 3.0) -> Any:
        return x * y + z

    x = np.ones(3, np.float32)
    for _ in range(2):
        assert scaled(x, 5.0)[0] == 8
        assert scaled(x)[0] == 5
        assert shifted(x)[0] == 5
        assert shifted(x, 5.0)[0] == 8
        assert shifted(x, 5.0, 1.0)[0] == 6
        assert shifted(x, 5, 1.0)[0] == 6
    assert scaled._fast[0] is None
    assert shifted._fast[0] is not None
    with pytest.raises(InputError, match="too many positional arguments"):
        scaled(x, 5.0, 1.0)


def test_what_is_captured_is_looked_at_in_every_call(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [1.0]

    @xyntra.kernel(config=settings)
    def scaled(x: Any) -> Any:
        return x * FACTOR + TABLE * sizes[0]

    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(scaled(x)[0], [2, 3, 4, 5])
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    np.testing.assert_array_equal(scaled(x)[0], [3, 4, 5, 6])
    monkeypatch.setitem(globals(), "TABLE", np.zeros(4, np.float32))
    np.testing.assert_array_equal(scaled(x)[0], [3, 3, 3, 3])
    TABLE[:] = 7
    np.testing.assert_array_equal(scaled(x)[0], [10, 10, 10, 10])
    sizes[0] = 2.0
    np.testing.assert_array_equal(scaled(x)[0], [17, 17, 17, 17])


def test_a_kernel_calls_another_and_returns_structures(settings: dict[str, object]) -> None:
    inner = xyntra.kernel(softmax)

    @xyntra.kernel(config=settings)
    def both(pair: Any, names: Any = ("a", "b")) -> Any:
        x, y = pair
        return {names[0]: inner(x), names[1]: (y, None, x.T)}

    x = random(3, 5).astype(np.float32)
    found = both((x, x))
    np.testing.assert_allclose(found["a"].sum(-1), 1, rtol=1e-6)
    np.testing.assert_array_equal(found["b"][0], x)
    assert found["b"][1] is None
    np.testing.assert_array_equal(found["b"][2], x.T)


def test_views_other_layouts_and_out(settings: dict[str, object]) -> None:
    kernel = xyntra.kernel(config=settings)(lambda x, y: x - y)
    x = random(6, 4).astype(np.float32)
    one = np.zeros(4, np.float32)
    for given in (x[::2], x.T[:, :3].T, np.asfortranarray(x[:3]), x[3:]):
        np.testing.assert_array_equal(kernel(given, one), given)
    room = np.empty((3, 4), np.float32)
    assert kernel(x[:3], y=one, out=room) is room
    np.testing.assert_array_equal(room, x[:3])
    with pytest.raises(InputError, match="missing a required argument"):
        kernel(x)
    with pytest.raises(InputError, match="complex64"):
        kernel(x.astype(np.complex64), one)


def test_texts_and_reports(settings: dict[str, object]) -> None:
    kernel = xyntra.kernel(config=settings)(softmax)
    x = np.zeros((4, 16), np.float32)
    assert "xyntra.fused" in kernel.emit("fused", x)
    assert "became 1 kernel" in kernel.explain(x)
    assert ".entry" in xyntra.kernel(target="cuda:sm_90a", config=settings)(softmax).emit("ptx", x)


def test_what_the_compiler_refuses_is_on_a_line_of_the_kernel(settings: dict[str, object]) -> None:
    @xyntra.kernel(config=settings | {"max_tensor_bytes": 1000})
    def wide(x: Any) -> Any:
        return xl.sum(x[:, None] * x, axis=1)

    with pytest.raises(UnsupportedError) as caught:
        wide(np.ones(64, np.float32))
    assert f"{__file__}:" in (caught.value.place or "")
    assert "x[:, None] * x" in (caught.value.place or "")


def test_tensors_of_pytorch(settings: dict[str, object]) -> None:
    torch = pytest.importorskip("torch")
    kernel = xyntra.kernel(config=settings)(rms_norm)
    for dtype in (torch.float32, torch.bfloat16):
        x, scale = torch.randn(3, 8).to(dtype), torch.ones(8, dtype=dtype)
        found = kernel(x, scale, 1e-6)
        assert found.dtype == dtype
        wanted = torch.nn.functional.rms_norm(x.float(), (8,), eps=1e-6)
        torch.testing.assert_close(found.float(), wanted, rtol=2e-2, atol=2e-2)
    with pytest.raises(InputError, match="requires a gradient"):
        kernel(x.requires_grad_(), scale, 1e-6)


def test_functions_of_the_language_are_for_kernels() -> None:
    with pytest.raises(KernelError, match=r"xl\.exp is called outside of a kernel"):
        xl.exp(np.ones(3))
    with pytest.raises(KernelError, match="takes a function of Python, not a type"):
        xyntra.kernel(int)
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        _ = xl.missing
    assert {"exp", "float32", "pi"} <= set(dir(xl))
