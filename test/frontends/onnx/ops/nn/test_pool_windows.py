# SPDX-License-Identifier: MIT OR Apache-2.0
"""Windows of poolings that end outside of the input, or do not fit, against the specification.

onnxruntime deviates from it: it rounds negative quotients towards zero, and lets `ceil_mode` add
windows to an `auto_pad` of VALID.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from arrays import normal
from harness import check_compiled, compare, node_model, reference, run_compiled
from refusals import check_invalid


def _outputs(size: int, kernel: int, stride: int, pads: tuple[int, int], options: Any) -> int:
    """The formulas of MaxPool and AveragePool, operator set 22."""
    auto = options.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        return -(-size // stride)
    room = size + sum(pads) - kernel
    if not options.get("ceil_mode") or auto == "VALID":
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + pads[0] else count


def _geometry(shape: tuple[int, ...], options: dict[str, Any]) -> list[tuple[int, ...]]:
    """Of each spatial dimension: outputs, stride, dilation, pad before and pad after."""
    rank, auto = len(shape) - 2, options.get("auto_pad", "NOTSET")
    found = []
    for i, size in enumerate(shape[2:]):
        stride, step = (options.get(n, [1] * rank)[i] for n in ("strides", "dilations"))
        extent = step * (options["kernel_shape"][i] - 1) + 1
        pads = options.get("pads", [0] * (2 * rank))
        low, high = pads[i], pads[rank + i]
        count = _outputs(size, extent, stride, (low, high), options)
        if auto.startswith("SAME"):
            total = max((count - 1) * stride + extent - size, 0)
            less, more = total // 2, total - total // 2
            low, high = (less, more) if auto == "SAME_UPPER" else (more, less)
        found.append((count, stride, step, low, high))
    return found


def _pool(op: str, x: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    dimensions = _geometry(x.shape, options)
    result = np.zeros((*x.shape[:2], *(count for count, *_ in dimensions)))
    for output in np.ndindex(*result.shape[2:]):
        taken, count = [], 0
        for tap in itertools.product(*map(range, options["kernel_shape"])):
            at = [
                o * stride + t * step - low
                for o, t, (_, stride, step, low, _) in zip(output, tap, dimensions, strict=True)
            ]
            ends = zip(at, x.shape[2:], dimensions, strict=True)
            padded = all(-d[3] <= p < size + d[4] for p, size, d in ends)
            if all(0 <= p < size for p, size in zip(at, x.shape[2:], strict=True)):
                taken.append(x[(slice(None), slice(None), *at)].astype(np.float64))
                count += 1
            elif padded and options.get("count_include_pad"):
                count += 1
        stack = np.array(taken).reshape(len(taken), *x.shape[:2])
        match op:
            case "MaxPool":
                value = stack.max(0, initial=-np.inf)
            case "AveragePool":
                value = stack.sum(0) / (count or np.nan)
            case _:
                value = np.sqrt((stack**2).sum(0))
        result[(slice(None), slice(None), *output)] = value
    return result


def _random_case(generator: random.Random) -> tuple[tuple[int, ...], dict[str, Any]]:
    rank = generator.choice([1, 1, 2, 2, 3])
    pick = generator.randint
    kernel = [pick(1, 4) for _ in range(rank)]
    options: dict[str, Any] = {"kernel_shape": kernel, "ceil_mode": pick(0, 1)}
    if pick(0, 2):
        options["strides"] = [pick(1, 4) for _ in range(rank)]
    if not pick(0, 2):
        options["dilations"] = [pick(1, 3) for _ in range(rank)]
    auto = generator.choice(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if auto != "NOTSET":
        options["auto_pad"] = auto
    elif pick(0, 2):
        options["pads"] = [pick(0, k - 1) for k in kernel * 2]
    batch, channels = generator.choice([(1, 2), (2, 1), (0, 2), (1, 0)])
    return (batch, channels, *(pick(1, 7) for _ in range(rank))), options


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_random_windows(op: str) -> None:
    generator = random.Random(op)
    compared = 0
    while compared < 40:
        shape, options = _random_case(generator)
        if op == "AveragePool":
            options["count_include_pad"] = generator.randint(0, 1)
        if min(count for count, *_ in _geometry(shape, options)) < 0:
            continue
        x = normal(*shape)
        found = run_compiled(node_model(op, {"x": x}, opset=22, **options), {"x": x})
        compare(found, [_pool(op, x, options).astype(np.float32)], 1e-5, 1e-6)
        compared += 1


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_a_window_larger_than_the_input_that_ceil_mode_takes(op: str) -> None:
    x = {"x": normal(1, 2, 5)}
    options = {"kernel_shape": [7], "strides": [3], "ceil_mode": 1}
    check_compiled(node_model(op, x, **options), x)


def test_indices_of_no_windows_at_all() -> None:
    x = {"x": normal(1, 2, 5)}
    values, places = run_compiled(node_model("MaxPool", x, outputs=2, kernel_shape=[6]), x)
    assert values.shape == places.shape == (1, 2, 0)
    assert (values.dtype, places.dtype) == (np.float32, np.int64)


def test_a_convolution_that_does_not_fit_once() -> None:
    x = {"x": normal(1, 2, 5, 4)}
    weight = {"w": normal(3, 2, 6, 1)}
    (found,) = run_compiled(node_model("Conv", x, constants=weight), x)
    assert found.shape == (1, 3, 0, 4)
    check_invalid("Conv", x, "spans 7 elements", constants={"w": normal(3, 2, 7, 1)})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    ("shape", "kernel"),
    [((2, 3, 9, 14), (4, 6)), ((1, 2, 33), (16,)), ((2, 1, 4, 5, 8), (2, 2, 4))],
)
def test_large_windows_side_by_side(
    op: str, shape: tuple[int, ...], kernel: tuple[int, ...]
) -> None:
    """Blocks of the image; what is left over at its end belongs to none."""
    x = normal(*shape)
    options: dict[str, Any] = {"kernel_shape": list(kernel), "strides": list(kernel)}
    model = node_model(op, {"x": x}, opset=22, **options)
    compare(run_compiled(model, {"x": x}), reference(model, {"x": x}), 1e-5, 1e-5)
