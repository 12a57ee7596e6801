# SPDX-License-Identifier: MIT OR Apache-2.0
"""The registry of models is consistent, and its random inputs are what the models take."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import onnx
import pytest

from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec
from bench.models.__main__ import main
from bench.models.magika import PADDING, WINDOW
from bench.models.pictures import picture
from bench.models.spec import prefix_mask
from bench.models.wheels import WheelFile

SPECS = pytest.mark.parametrize("spec", REGISTRY.values(), ids=lambda spec: spec.name)
NAMES = {
    "magika", "rapidocr-det", "rapidocr-cls", "rapidocr-rec", "nudenet",
    "minilm", "bert-base", "gpt2", "vit-tiny", "resnet50",
}  # fmt: skip


def test_the_ten_models_are_there() -> None:
    assert set(REGISTRY) == NAMES


@SPECS
def test_names_are_consistent(spec: ModelSpec) -> None:
    assert REGISTRY[spec.name] is spec
    assert re.fullmatch(r"[a-z0-9-]+", spec.name)
    assert spec.filename == f"{spec.name}.onnx"
    assert spec.title
    assert spec.source
    assert spec.licence
    assert set(spec.free_dimensions) <= {i.name for i in spec.inputs}
    assert set(spec.shapes) == set(spec.free_dimensions)


@SPECS
def test_random_inputs_have_the_stated_type(spec: ModelSpec) -> None:
    arrays = spec.random_inputs(seed=3)
    assert list(arrays) == [i.name for i in spec.inputs]
    for i in spec.inputs:
        assert arrays[i.name].dtype == np.dtype(i.dtype)
        assert arrays[i.name].shape == i.shape
        assert arrays[i.name].flags.c_contiguous


@SPECS
def test_random_inputs_depend_on_the_seed_alone(spec: ModelSpec) -> None:
    first, again, other = (spec.random_inputs(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(("name", "vocabulary"), [("bert-base", 30522), ("gpt2", 50257)])
def test_token_ids_are_in_the_vocabulary(name: str, vocabulary: int) -> None:
    ids = np.concatenate([REGISTRY[name].random_inputs(s)["input_ids"] for s in range(50)])
    assert ids.min() >= 0
    assert 0.99 * vocabulary < ids.max() < vocabulary


def test_masks_are_ones_and_then_zeros() -> None:
    masks = prefix_mask()(np.random.default_rng(0), (200, 8))
    assert set(np.unique(masks)) == {0, 1}
    assert (np.diff(masks, axis=1) <= 0).all()
    assert set(masks.sum(axis=1)) == set(range(1, 9))


def test_pictures_fill_the_range_that_was_asked_for() -> None:
    image = picture(-2.0, 2.0)(np.random.default_rng(0), (1, 3, 64, 96))
    assert image.min() >= -2.0
    assert image.max() <= 2.0
    assert image.max() - image.min() > 2.0


@pytest.mark.parametrize("shape", [(1, 3, 48, 192), (2, 3, 7, 5), (1, 1, 15, 1)])
def test_pictures_have_the_shape_that_was_asked_for(shape: tuple[int, ...]) -> None:
    assert picture(0.0, 1.0)(np.random.default_rng(0), shape).shape == shape


def test_magika_sees_padding_only_between_head_and_tail() -> None:
    seen = set()
    for seed in range(60):
        features = REGISTRY["magika"].random_inputs(seed)["bytes"][0]
        content = features != PADDING
        length = int(content[:WINDOW].sum())
        seen.add(length == WINDOW)
        assert content[:length].all()
        assert content[2 * WINDOW - length :].all()
        assert not content[length : 2 * WINDOW - length].any()
    assert seen == {True, False}


@SPECS
def test_wheels_are_pinned_and_hashed(spec: ModelSpec) -> None:
    if not spec.from_wheel:
        assert not isinstance(spec.build, partial)
        return
    assert isinstance(spec.build, partial)
    (source,) = spec.build.args
    assert isinstance(source, WheelFile)
    assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", source.requirement)
    assert re.fullmatch(r"[0-9a-f]{64}", source.sha256)
    assert source.member.endswith(".onnx")


@SPECS
def test_files_take_the_inputs_of_the_spec(spec: ModelSpec) -> None:
    path = DEFAULT_FOLDER / spec.filename
    if not path.exists():
        pytest.skip(f"python -m bench.models {spec.name}")
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    assert [value.name for value in inputs] == [i.name for i in spec.inputs]
    for value, i in zip(inputs, spec.inputs, strict=True):
        tensor = value.type.tensor_type
        assert onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type) == np.dtype(i.dtype)
        sizes = [d.dim_value if d.dim_value > 0 else None for d in tensor.shape.dim]
        assert len(sizes) == len(i.shape)
        assert all(a in (None, b) for a, b in zip(sizes, i.shape, strict=True))
        assert (None in sizes) == (i.name in spec.free_dimensions)


def test_the_list_names_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"^{name} ", listed, re.MULTILINE) for name in NAMES)


@pytest.mark.parametrize("arguments", [[], ["no-such-model"], ["--all", "--pypi"]])
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err
