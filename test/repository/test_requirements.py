# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of which one branch fits the given shapes, called so that they take the other one."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from rate_models import SAMPLES, audio, voice_model

import xyntra
from xyntra.errors import ArchiveError, InputError, ModelError
from xyntra.executable import Executable
from xyntra.plan.artifact import Artifact

RATES = sorted(SAMPLES)
OTHER = {16000: 8000, 8000: 16000}


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(
        voice_model().SerializeToString(), providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module", params=RATES)
def voice(request: pytest.FixtureRequest, settings: dict[str, object]) -> tuple[int, Executable]:
    rate = request.param
    shapes = {"x": (2, SAMPLES[rate])}
    return rate, xyntra.compile(voice_model(), inputs=shapes, config=settings)


def _check(found: Any, x: np.ndarray, rate: int, session: onnxruntime.InferenceSession) -> None:
    expected = session.run(None, {"x": x, "sr": np.array(rate)})
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


CALLS: dict[str, Callable[[Executable, np.ndarray, int], Any]] = {
    "in order": lambda exe, x, rate: exe(x, np.array(rate)),
    "by name": lambda exe, x, rate: exe(x, sr=rate),
    "a mapping": lambda exe, x, rate: exe({"x": x, "sr": rate}),
    "run": lambda exe, x, rate: tuple(exe.run({"sr": rate, "x": x}).values()),
    "submit": lambda exe, x, rate: exe.submit(x, rate).result(60),
    "await": lambda exe, x, rate: asyncio.run(_awaited(exe, x, rate)),
    "out": lambda exe, x, rate: exe(x, rate, out=_new(exe)),
}


async def _awaited(exe: Executable, x: np.ndarray, rate: int) -> Any:
    return await exe.submit(x, rate)


def _new(exe: Executable) -> list[np.ndarray]:
    return [np.empty(port.shape, port.dtype) for port in exe.outputs]


@pytest.mark.parametrize("way", CALLS)
def test_every_way_of_calling(
    voice: tuple[int, Executable], session: onnxruntime.InferenceSession, way: str
) -> None:
    rate, exe = voice
    for seed in range(2):  # what a call has raised leaves nothing behind
        x = audio(rate, seed=seed)
        _check(CALLS[way](exe, x, rate), x, rate, session)
        with pytest.raises(InputError) as caught:
            CALLS[way](exe, x, OTHER[rate])
        assert caught.value.code == "branch-not-compiled"


def test_time_kernels_checks_as_well(voice: tuple[int, Executable]) -> None:
    rate, exe = voice
    assert len(exe.time_kernels({"x": audio(rate), "sr": rate})) == len(exe.kernels)
    with pytest.raises(InputError, match="branch"):
        exe.time_kernels({"x": audio(rate), "sr": OTHER[rate]})


def test_wrong_arrays_for_outputs(voice: tuple[int, Executable]) -> None:
    rate, exe = voice
    for out, code in (([], "output-count"), (_new(exe)[0], "output-type")):
        with pytest.raises(InputError) as caught:
            exe(audio(rate), rate, out=out)
        assert caught.value.code == code
    with pytest.raises(InputError, match="2 outputs, out= has 3"):
        exe(audio(rate), rate, out=[*_new(exe), np.empty((), bool)])


def test_the_error_says_what_why_and_what_to_do(settings: dict[str, object]) -> None:
    texts = {}
    for rate in RATES:
        shapes = {"x": (2, SAMPLES[rate])}
        exe = xyntra.compile(voice_model(), inputs=shapes, config=settings)
        with pytest.raises(InputError) as caught:
            exe(audio(rate), OTHER[rate])
        texts[rate] = caught.value
    fast, slow = texts[16000], texts[8000]
    assert "takes its else_branch, as sr does not equal 16000" in fast.message
    assert "takes its then_branch, as sr equals 16000" in slow.message
    for error, failed in ((fast, "rate8000/mix"), (slow, "rate16000/mix")):
        assert error.place == "node 'choose'"
        assert failed in (error.cause or "")
    bound = "bind it: --constant sr=16000, or constants={'sr': 16000}"
    assert f"give values for which sr equals 16000, or {bound}\n" in (fast.hint or "")
    assert "give values for which sr does not equal 16000\n" in (slow.hint or "")
    assert "constants={'sr': VALUE}" in (fast.hint or "")
    assert "constants={'sr': 16000}" in (slow.hint or "")


def test_users_do_not_see_the_flag(voice: tuple[int, Executable]) -> None:
    _, exe = voice
    assert [port.name for port in exe.outputs] == ["p", "total"]
    assert len(exe.plan.outputs) == 2
    assert len(exe.artifact.source_graph().outputs) == 2
    assert "bool" not in repr(exe)
    (requirement,) = exe.plan.requirements
    assert requirement.message in exe.explain()
    assert requirement.cause in exe.explain()
    exe.explain_html()


def test_nothing_is_left_of_the_other_branch(
    voice: tuple[int, Executable], settings: dict[str, object]
) -> None:
    """As many operations and kernels as with a bound rate, and those that compare the rate."""
    rate, exe = voice
    shapes = {"x": (2, SAMPLES[rate])}
    bound = xyntra.compile(
        voice_model(), inputs=shapes, constants={"sr": rate}, config=settings
    )  # fmt: skip
    assert exe.plan.parameters == bound.plan.parameters
    names = {name for node in exe.artifact.source_graph().nodes for name in node.names}
    assert not any(f"rate{OTHER[rate]}" in name for name in names)
    assert len(exe.kernels) <= len(bound.kernels) + 1
    assert exe.plan.operations <= bound.plan.operations + 2


def test_saved_pickled_and_copied(
    voice: tuple[int, Executable], session: onnxruntime.InferenceSession, tmp_path: Path
) -> None:
    rate, exe = voice
    exe.save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    assert loaded.plan == exe.plan
    for each in (loaded, pickle.loads(pickle.dumps(exe)), copy.deepcopy(exe)):
        x = audio(rate, seed=5)
        _check(each(x, rate), x, rate, session)
        with pytest.raises(InputError, match="sr"):
            each(x, OTHER[rate])


def test_compiled_in_a_worker_and_taken_from_the_cache(
    session: onnxruntime.InferenceSession, tmp_path: Path
) -> None:
    settings = {"isolate": True, "jobs": 1, "cache_dir": str(tmp_path)}
    for _ in range(2):
        exe = xyntra.compile(voice_model(), inputs={"x": (1, 512)}, config=settings)
        x = audio(16000, batch=1)
        _check(exe(x, 16000), x, 16000, session)
        with pytest.raises(InputError, match="else_branch"):
            exe(x, 8000)


@pytest.mark.parametrize(
    "change",
    [
        {"code": "Not A Code"},
        {"code": 3},
        {"message": None},
        {"hint": ["a"]},
        {"flag": {"name": "", "dtype": "int8", "shape": [], "buffer": -1}},
        {"flag": {"name": "", "dtype": "bool", "shape": [2], "buffer": -1}},
        {"flag": {"name": "p", "dtype": "bool", "shape": [], "buffer": -1}},
        {"flag": {"name": "", "dtype": "bool", "shape": []}},
        {"flag": None},
        {"more": 1},
        "text",
        [],
        None,
    ],
)
def test_a_header_that_is_changed_is_refused(voice: tuple[int, Executable], change: Any) -> None:
    artifact = voice[1].artifact
    plan = json.loads(json.dumps(artifact.meta()["plan"]))
    entry = plan["requirements"][0]
    if isinstance(change, dict):
        flag = change.get("flag")
        if flag and flag.get("buffer") == -1:
            change = {"flag": {**flag, "buffer": entry["flag"]["buffer"]}}
        plan["requirements"][0] = {**entry, **change}
    else:
        plan["requirements"] = [change] if change == "text" else change
    with pytest.raises(ArchiveError):
        _read(artifact, plan)


def test_a_flag_that_is_an_output_too_is_refused(voice: tuple[int, Executable]) -> None:
    artifact = voice[1].artifact
    plan = json.loads(json.dumps(artifact.meta()["plan"]))
    assert _read(artifact, plan).plan == artifact.plan
    plan["requirements"] *= 2
    with pytest.raises(ArchiveError, match="one buffer"):
        _read(artifact, plan)


def _read(artifact: Artifact, plan: Any) -> Artifact:
    from xyntra.plan.storage.container import write_container

    data = b"".join(write_container({"plan": plan, "target": artifact.target}, artifact.blobs()))
    return Artifact.from_bytes(data, "test")


@pytest.mark.parametrize("level", ["linalg", "fused", "kernels"])
def test_text_of_every_level_continues(
    settings: dict[str, object], tmp_path: Path, level: Any
) -> None:
    from xyntra.compiler.driver import emit_level
    from xyntra.compiler.inputs.sizes import sizes_of
    from xyntra.compiler.inputs.source import open_source
    from xyntra.config import load_config

    path = tmp_path / "voice.onnx"
    path.write_bytes(voice_model().SerializeToString())
    config = load_config({**settings, "parameters_root": str(tmp_path)})
    sizes = sizes_of({"x": (2, 512)}, None, None)
    text = emit_level(open_source(str(path)), sizes, config, level).decode()
    assert text.count("xyntra.requires") == 1
    edited = text.replace("16000 : i64", "44100 : i64")
    assert edited != text
    x = audio(16000)
    exe = xyntra.compile(text, config=config)
    expected = exe(x, 16000)
    with pytest.raises(InputError, match="as sr does not equal 16000"):
        exe(x, 44100)
    exe = xyntra.compile(edited, config=config)
    for ours, theirs in zip(exe(x, 44100), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(InputError, match="else_branch"):
        exe(x, 16000)


TEXT = """
func.func @main(%x: tensor<3xf32>, %ok: {kind}) -> (
    {kind} {{xyntra.requires = {attribute}}}, tensor<3xf32>
) {{
  return %ok, %x : {kind}, tensor<3xf32>
}}
"""
GOOD = '{code = "not-ok", message = "it is not"}'


@pytest.mark.parametrize("kind", ["i1", "tensor<i1>"])
def test_text_that_requires_an_input(settings: dict[str, object], kind: str) -> None:
    exe = xyntra.compile(TEXT.format(kind=kind, attribute=GOOD), config=settings)
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(exe(x, True), x)
    with pytest.raises(InputError, match="it is not") as caught:
        exe(x, False)
    assert caught.value.code == "not-ok"


def test_text_whose_results_are_requirements_alone(settings: dict[str, object]) -> None:
    text = f"func.func @main(%ok: i1) -> (i1 {{xyntra.requires = {GOOD}}}) {{ return %ok : i1 }}"
    exe = xyntra.compile(text, config=settings)
    assert exe(True) == exe.submit(True).result(60) == ()
    with pytest.raises(InputError, match="it is not"):
        exe.submit(False).result(60)


@pytest.mark.parametrize(
    ("kind", "attribute", "match"),
    [
        ("i8", GOOD, "boolean"),
        ("tensor<1xi1>", GOOD, "boolean"),
        ("tensor<i8>", GOOD, "boolean"),
        ("i1", '"text"', "no dictionary"),
        ("i1", "{}", "no entry 'code'"),
        ("i1", '{code = "a"}', "no entry 'message'"),
        ("i1", '{code = "A b", message = "m"}', "kebab"),
        ("i1", '{code = "a", message = 1 : i32}', "no text"),
        ("i1", '{code = "a", message = "m", colour = "red"}', "colour"),
    ],
)
def test_text_that_requires_what_is_none(
    settings: dict[str, object], kind: str, attribute: str, match: str
) -> None:
    with pytest.raises(ModelError, match="mlir-invalid") as caught:
        xyntra.compile(TEXT.format(kind=kind, attribute=attribute), config=settings)
    assert match in str(caught.value)
