# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of groups of channels of images with channels last: columns, combined, and arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from text_model import KINDS, run

GROUPS = """
<ir_version: 10, opset_import: ["" : 21]>
graph ({{T}}[{n},{h},{w},{c}] x, {{T}}[{c}] s, {{T}}[{c}] b) => ({{T}}[{n},{h},{w},{c}] y)
{{{{
  t = Transpose<perm = [0, 3, 1, 2]>(x)
  m = GroupNormalization<num_groups = {groups}, epsilon = 0.00001>(t, s, b)
  g = Sigmoid(m)
  h = Mul(m, g)
  y = Transpose<perm = [0, 2, 3, 1]>(h)
}}}}
"""
KEPT_FIRST = GROUPS.replace("[{n},{h},{w},{c}] y", "[{n},{c},{h},{w}] h").replace(
    "  y = Transpose<perm = [0, 2, 3, 1]>(h)\n", ""
)


BETWEEN = """
<ir_version: 10, opset_import: ["" : 21]>
graph ({T}[1,64,32,32] x, {T}[64,64,3,3] v, {T}[64] s, {T}[64] b, {T}[64,64,3,3] w)
  => ({T}[1,64,32,32] y)
{{
  c = Conv<pads = [1, 1, 1, 1]>(x, v)
  m = GroupNormalization<num_groups = 16, epsilon = 0.00001>(c, s, b)
  g = Sigmoid(m)
  h = Mul(m, g)
  y = Conv<pads = [1, 1, 1, 1]>(h, w)
}}
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "groups", "shift"),
    [
        ((2, 72, 64, 64), 16, 0.0),
        ((1, 96, 150, 40), 4, 20.0),
        ((3, 112, 112, 24), 24, 3.0),
        ((8, 28, 28, 160), 32, 0.0),
    ],
)
def test_groups_are_read_by_columns(
    shape: tuple[int, ...], groups: int, shift: float, kind: str
) -> None:
    n, h, w, c = shape
    given = GROUPS.format(n=n, h=h, w=w, c=c, groups=groups)
    found, right, images = run(given, kind, shift)
    limit = (4e-3 if kind == "float16" else 5e-5) * (1 + shift)
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    assert sum(len(image.launches) for image in images) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_results_with_channels_first(kind: str) -> None:
    found, right, _ = run(KEPT_FIRST.format(n=2, h=72, w=64, c=64, groups=8), kind, 1.0)
    limit = 8e-3 if kind == "float16" else 1e-4
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)


def test_few_elements_in_blocks_for_rows() -> None:
    found, right, images = run(GROUPS.format(n=8, h=8, w=8, c=128, groups=16), "float", 1.0)
    np.testing.assert_allclose(found[0], right[0], rtol=1e-4, atol=1e-4)
    assert sum(len(image.launches) for image in images) == 2


def test_places_whose_number_has_no_divisors() -> None:
    found, right, _ = run(GROUPS.format(n=2, h=1, w=8009, c=40, groups=8), "float", 1.0)
    np.testing.assert_allclose(found[0], right[0], rtol=1e-4, atol=1e-4)


def test_between_convolutions_no_image_is_turned() -> None:
    found, right, images = run(BETWEEN, "float16")
    np.testing.assert_allclose(found[0], right[0], rtol=2e-2, atol=0.3)
    (norm,) = [
        image
        for image in images
        if any(launch.schedule.startswith("register-rows") for launch in image.launches)
    ]
    assert max(norm.scratch) < found[0].nbytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "shift"), [((1, 24, 32, 32), 0.0), ((3, 7, 9, 40), 3.0), ((2, 1, 37, 64), 1.0)]
)
def test_few_elements_of_single_channels_are_held_by_columns(
    shape: tuple[int, ...], shift: float, kind: str
) -> None:
    n, h, w, c = shape
    found, right, images = run(GROUPS.format(n=n, h=h, w=w, c=c, groups=c), kind, shift)
    limit = (4e-3 if kind == "float16" else 5e-5) * (1 + shift)
    np.testing.assert_allclose(found[0], right[0], rtol=limit, atol=limit)
    assert sum(len(image.launches) for image in images) == 1
    assert not any(image.scratch for image in images)
