# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of which one branch fits the given shapes, on GPUs and without one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from emulator import run_artifact
from rate_models import SAMPLES, audio, voice_model

import xyntra
from xyntra.errors import InputError, UnsupportedError
from xyntra.executable import Executable
from xyntra.plan.artifact import Artifact
from xyntra.targets.cuda.driver.device import cuda_devices
from xyntra.targets.program import Future

OTHER = {16000: 8000, 8000: 16000}


def _expected(x: np.ndarray, rate: int) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(voice_model().SerializeToString())
    return session.run(None, {"x": x, "sr": np.array(rate)})


class Started:
    """A future of the emulator's results."""

    def __init__(self, results: list[np.ndarray]) -> None:
        self._results = results

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return tuple(self._results)

    def cancel(self) -> bool:
        return False

    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> Any:
        return tuple(self._results)


class EmulatedProgram:
    """Runs an artifact in the emulator, as a GPU would."""

    def __init__(self, artifact: Artifact, weights: Mapping[str, np.ndarray]) -> None:
        self._artifact, self._weights = artifact, weights

    def call(self, arrays: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]:
        results = run_artifact(self._artifact, list(map(np.asarray, arrays)), self._weights)
        if out is None:
            return results
        for target, result in zip(out, results, strict=True):
            target[...] = result
        return out

    def time_steps(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
        self.call(inputs, outputs)
        return [0 if step.once else 1 for step in self._artifact.plan.steps]

    def submit(self, arrays: Sequence[Any]) -> Future:
        return Started(list(self.call(arrays)))

    def launches(self, addresses: Sequence[int]) -> Sequence[Any]:
        return [addresses]

    def overlaps(self) -> Mapping[str, Sequence[bool]]:
        return {"kernel": [True]}

    def launch_resources(self) -> Sequence[Any]:
        return ["resource"]


@pytest.fixture(scope="module", params=sorted(SAMPLES))
def emulated(request: pytest.FixtureRequest) -> tuple[int, Executable]:
    rate = request.param
    shapes = {"x": (2, SAMPLES[rate])}
    exe = xyntra.compile(voice_model(), inputs=shapes, target="cuda:sm_90a")
    program = EmulatedProgram(exe.artifact, exe.weights)
    return rate, Executable(exe.artifact, program, exe.weights)


def test_the_flag_is_computed_behind_the_outputs(emulated: tuple[int, Executable]) -> None:
    rate, exe = emulated
    assert [port.name for port in exe.outputs] == ["p", "total"]
    x = audio(rate)
    for given in OTHER:
        *outputs, flag = run_artifact(exe.artifact, [x, np.array(given)], exe.weights)
        assert flag.dtype == bool
        assert flag.shape == ()
        assert bool(flag) == (given == rate)
        if flag:
            for ours, theirs in zip(outputs, _expected(x, rate), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_every_way_of_calling_looks_at_it(emulated: tuple[int, Executable]) -> None:
    rate, exe = emulated
    x, other = audio(rate), np.array(OTHER[rate])
    expected = _expected(x, rate)
    out = [np.empty_like(each) for each in expected]

    async def awaited(given: int | np.ndarray) -> Any:
        return await exe.submit(x, given)

    for found in (
        exe(x, rate),
        exe(x, rate, out=out),
        exe.submit(x, np.array(rate)).result(1),
        asyncio.run(awaited(np.array(rate))),
        tuple(exe.run({"x": x, "sr": rate}).values()),
    ):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    started = exe.submit(x, other)
    assert started.done()
    assert not started.cancel()
    for call in (
        lambda: exe(x, other),
        lambda: exe(x, other, out=out),
        lambda: exe.run({"x": x, "sr": other}),
        started.result,
        started.result,  # again
        lambda: asyncio.run(awaited(other)),
        lambda: exe.time_kernels({"x": x, "sr": other}),
    ):
        with pytest.raises(InputError, match="branch-not-compiled"):
            call()
    assert len(exe.time_kernels({"x": x, "sr": rate})) == len(exe.kernels)


def test_launches_are_not_given_away(emulated: tuple[int, Executable]) -> None:
    _, exe = emulated
    with pytest.raises(UnsupportedError) as caught:
        exe.launches([0, 0, 0, 0])
    assert caught.value.code == "launches-unchecked"
    assert "sr" in str(caught.value)
    assert exe.overlaps == {"kernel": [True]}


def test_a_bound_rate_gives_launches_away() -> None:
    shapes = {"x": (2, 512)}
    exe = xyntra.compile(
        voice_model(), inputs=shapes, constants={"sr": 16000}, target="cuda:sm_90a"
    )
    program = EmulatedProgram(exe.artifact, exe.weights)
    assert Executable(exe.artifact, program, exe.weights).launches([1, 2, 3]) == [[1, 2, 3]]


@pytest.mark.cuda
@pytest.mark.skipif(not cuda_devices(), reason="there is no GPU")
class TestOnAGpu:
    @pytest.fixture
    def voice(self) -> Executable:
        return xyntra.compile(voice_model(), inputs={"x": (2, 512)}, target="cuda")

    def test_arrays_of_the_host(self, voice: Executable) -> None:
        x = audio(16000)
        expected = _expected(x, 16000)
        out = [np.empty_like(each) for each in expected]
        for _ in range(4):  # the later calls are native code's
            for found in (
                voice(x, np.array(16000)),
                voice(x, 16000, out=out),
                voice.submit(x, 16000).result(60),
            ):
                for ours, theirs in zip(found, expected, strict=True):
                    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
            for call in (
                lambda: voice(x, np.array(8000)),
                lambda: voice(x, 8000, out=out),
                voice.submit(x, 8000).result,
                lambda: voice.time_kernels({"x": x, "sr": 8000}),
            ):
                with pytest.raises(InputError, match="branch-not-compiled"):
                    call()

    def test_arrays_on_the_gpu(self, voice: Executable) -> None:
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("PyTorch has no GPU")
        host = audio(16000)
        x = torch.from_numpy(host).cuda()
        rates = {rate: torch.tensor(rate, device="cuda") for rate in OTHER}
        expected = _expected(host, 16000)
        out = [torch.empty(each.shape, device="cuda") for each in expected]
        for _ in range(4):
            for given in (rates[16000], 16000):
                for found in (
                    voice(x, given),
                    voice(x, given, out=out),
                    voice.submit(x, given).result(60),
                ):
                    for ours, theirs in zip(found, expected, strict=True):
                        array = torch.from_dlpack(ours).cpu().numpy()
                        np.testing.assert_allclose(array, theirs, rtol=1e-4, atol=1e-5)
            for given in (rates[8000], 8000):
                for call in (
                    lambda given=given: voice(x, given),
                    lambda given=given: voice(x, given, out=out),
                    voice.submit(x, given).result,
                ):
                    with pytest.raises(InputError, match="branch-not-compiled"):
                        call()
