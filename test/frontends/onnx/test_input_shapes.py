# SPDX-License-Identifier: MIT OR Apache-2.0
"""Free dimensions take their sizes from shapes of inputs and from sizes of named dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from onnx import TensorProto, ValueInfoProto, helper

from xyntra.errors import InputError
from xyntra.frontends.onnx.inputs.input_shapes import BoundInput, bind_inputs

Declared = Mapping[str, Sequence[int | str | None] | None]

MASKED: Declared = {"ids": ["batch", "seq"], "mask": ["batch", "seq"], "bias": [3]}
UNNAMED: Declared = {"x": ["batch", None], "y": [None, 3]}
SAME_NAME: Declared = {"n": ["n", "m"], "x": ["m", 3], "one": ["m"], "m": ["n"]}


def values(declared: Declared) -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in declared.items()
    ]


def bind(declared: Declared, shapes: Mapping[str, Sequence[int]] | None = None, **dims: int):
    return {each.name: each for each in bind_inputs(values(declared), shapes or {}, dims)}


def refused(
    declared: Declared, shapes: Mapping[str, Sequence[int]] | None = None, **dims: int
) -> InputError:
    with pytest.raises(InputError) as caught:
        bind(declared, shapes, **dims)
    return caught.value


def test_a_named_dimension_is_bound_wherever_its_name_stands() -> None:
    found = bind(MASKED, batch=2, seq=0)
    dims = ("dims['batch']", "dims['seq']")
    assert found["ids"] == BoundInput("ids", "float32", (2, 0), dims)
    assert found["mask"] == BoundInput("mask", "float32", (2, 0), dims)
    assert found["bias"] == BoundInput("bias", "float32", (3,), ("",))


def test_an_input_binds_the_dimensions_of_others() -> None:
    found = bind(MASKED, {"mask": (4, 5)})
    assert found["ids"].shape == (4, 5)
    assert found["ids"].fixed_by == ("inputs['mask']",) * 2


def test_shapes_and_dimensions_together() -> None:
    found = bind(UNNAMED, {"x": (2, 7), "#1": (9, 3)}, batch=2)
    assert [each.shape for each in found.values()] == [(2, 7), (9, 3)]
    assert found["x"].fixed_by == ("dims['batch']", "inputs['x']")
    assert found["y"].fixed_by == ("inputs['y']", "")


def test_one_size_is_that_of_a_dimension() -> None:
    assert bind(MASKED, {"batch": (2,), "seq": (5,)}) == bind(MASKED, batch=2, seq=5)


@pytest.mark.parametrize(
    ("shapes", "dims", "wanted"),
    [
        # An input of rank 2 cannot have one size: it is that of the dimension.
        ({"n": (5,), "one": (2,)}, {}, (5, 2)),
        ({"n": (5, 2)}, {}, (5, 2)),
        # An input of rank 1 can: the size is the input's, whose dimension is another.
        ({"m": (5,)}, {"m": 2}, (5, 2)),
    ],
)
def test_a_name_of_an_input_and_of_a_dimension(
    shapes: dict[str, tuple[int, ...]], dims: dict[str, int], wanted: tuple[int, int]
) -> None:
    assert bind(SAME_NAME, shapes, **dims)["n"].shape == wanted


@pytest.mark.parametrize(
    ("shapes", "dims", "says"),
    [
        (
            {"ids": (1, 5), "mask": (1, 7)},
            {},
            "'seq' is 5 by input 'ids', but 7 by input 'mask'",
        ),
        ({"mask": (1, 7)}, {"seq": 5}, "'seq' is 5 by dims=, but 7 by input 'mask'"),
        ({"seq": (5,)}, {"seq": 6}, "'seq' is 5 by its own size, but 6 by dims="),
    ],
)
def test_sizes_that_disagree_name_who_came_first(
    shapes: dict[str, tuple[int, ...]], dims: dict[str, int], says: str
) -> None:
    error = refused(MASKED, shapes, **dims)
    assert (error.code, error.message) == ("shape-mismatch", says)


def test_a_dimension_that_is_not_there() -> None:
    error = refused(MASKED, batchh=1)
    assert error.code == "unknown-dimension"
    assert error.cause == "their named dimensions are batch, seq"
    assert error.hint == "did you mean 'batch'?"
    assert "inputs={'mask': (1, 1)}" in str(refused(MASKED, mask=1).hint)
    assert "none" in str(refused({"x": [2]}, batch=1).cause)


def test_an_input_that_is_not_there() -> None:
    error = refused(MASKED, {"maks": (1, 5)})
    assert error.code == "unknown-input"
    assert error.cause == "its inputs are ids, mask, bias; named dimensions are batch, seq"
    assert error.hint == "did you mean 'mask'?"


def test_what_is_free_is_shown_with_what_binds_it() -> None:
    error = refused(MASKED, batch=2)
    assert error.code == "free-dimension"
    assert error.place == "input 'ids': [2, seq]; input 'mask': [2, seq]"
    one, option, many = str(error.hint).splitlines()
    assert (one, option) == ("xyntra.compile(model, dims={'seq': 1})", "--dim seq=1")
    assert many == "one compilation for many: dims={'seq': range(1, 33)}, --dim seq=1:32"


@pytest.mark.parametrize(
    "declared", [MASKED, UNNAMED, SAME_NAME, {"x": None}, {"it's": ["a b", None]}]
)
def test_the_hint_works(declared: Declared) -> None:
    line = str(refused(declared).hint).splitlines()[0]
    text = line.replace("xyntra.compile(model, ", "dict(")
    arguments = eval(text)  # noqa: S307  (our own text)
    found = bind(declared, arguments.get("inputs"), **arguments.get("dims", {}))
    assert list(found) == list(declared)


@pytest.mark.parametrize("size", [-1, 2**41])
def test_sizes_out_of_range(size: int) -> None:
    assert refused(MASKED, batch=size).code == "shape-mismatch"
    assert refused(MASKED, {"ids": (size, 1)}).code == "shape-mismatch"
