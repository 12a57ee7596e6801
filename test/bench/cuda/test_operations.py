# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that the operations of `bench.cuda`, ours and PyTorch's, compute the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest

import xyntra
from bench.cuda.graphs import host_model, onnx_model
from bench.cuda.operations import OPERATIONS, Operation, file_name

SMALL = {
    "chain": (((6, 32),) * 4, (6, 32)),
    "softmax": (((6, 32),), (6, 32)),
    "layer_norm": (((6, 32), (32,), (32,)), (6, 32)),
    "rms_norm": (((6, 32), (32,)), (6, 32)),
    "matmul": (((6, 32), (32, 8)), (6, 8)),
    "integer_product": (((6, 32), (8, 32)), (6, 8)),
    "matmul_bias_gelu": (((6, 32), (32, 8), (8,)), (6, 8)),
    "product_nn": (((2, 6, 32), (2, 32, 8)), (2, 6, 8)),
    "product_nt": (((6, 32), (8, 32)), (6, 8)),
    "product_tn": (((32, 6), (32, 8)), (6, 8)),
    "product_tt": (((2, 32, 6), (2, 8, 32)), (2, 6, 8)),
    "attention": (((2, 3, 8, 16),) * 3, (2, 3, 8, 16)),
    "causal_attention": (((2, 4, 8, 16), (2, 2, 8, 16), (2, 2, 8, 16)), (2, 4, 8, 16)),
    "masked_attention": ((*((2, 3, 8, 16),) * 3, (2, 1, 1, 8)), (2, 3, 8, 16)),
    "conv_norm": (((2, 6, 6, 8), (16, 1, 1, 8), (16,), (16,)), (2, 3, 3, 16)),
    "conv_norm_relu": (((2, 6, 6, 8), (16, 3, 3, 8), (16,), (16,)), (2, 3, 3, 16)),
    "conv_norm_add_relu": (
        ((2, 6, 6, 8), (16, 1, 1, 8), (16,), (16,), (2, 6, 6, 16)),
        (2, 6, 6, 16),
    ),
}


def small(kind: str) -> Operation:
    inputs, output = SMALL[kind]
    known = next(each for each in OPERATIONS.values() if each.kind == kind)
    dtype = "i8" if known.dtype == "i8" else "f32"
    return replace(known, dtype=dtype, inputs=inputs, output=output)


def drawn(operation: Operation) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    if operation.dtype == "i8":
        return [rng.integers(-128, 128, shape, np.int8) for shape in operation.inputs]
    return [rng.standard_normal(shape).astype(np.float32) for shape in operation.inputs]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("kind", SMALL)
def test_our_model_is_what_pytorch_computes(kind):
    torch = pytest.importorskip("torch")
    from bench.cuda.torch_peers import reference, tolerance

    operation = small(kind)
    inputs = drawn(operation)
    result = xyntra.compile(onnx_model(operation), target="cpu")(*inputs)
    tensors = [torch.from_numpy(each) for each in inputs]
    expected = reference(operation, tensors)
    assert result.shape == operation.output
    far = np.abs(result - expected.numpy()) > tolerance(operation, tensors, expected).numpy()
    assert not far.any()


@pytest.mark.parametrize("kind", sorted(SMALL.keys() - {"attention", "causal_attention"}))
def test_jax_computes_what_pytorch_does(kind):
    torch = pytest.importorskip("torch")
    pytest.importorskip("jax")
    from bench.cuda.jax_peers import jax_work
    from bench.cuda.torch_peers import reference, tolerance

    operation = small(kind)
    inputs = [torch.from_numpy(each) for each in drawn(operation)]
    work = jax_work(operation, inputs)
    if work is None:
        pytest.skip("not written for JAX")
    expected = reference(operation, inputs)
    far = (torch.from_dlpack(work()).double() - expected).abs() > tolerance(
        operation, inputs, expected
    )
    assert not far.any()


def test_every_kind_is_measured_with_shapes_that_fit():
    assert {each.kind for each in OPERATIONS.values()} == set(SMALL)
    assert len({file_name(each) for each in OPERATIONS.values()}) == len(OPERATIONS)
    for operation in OPERATIONS.values():
        model = onnx_model(operation)
        onnx.checker.check_model(model)
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        shape = inferred.graph.output[0].type.tensor_type.shape
        assert tuple(each.dim_value for each in shape.dim) == operation.output


def test_bytes_are_those_of_all_arrays():
    operation = OPERATIONS["softmax 8192x4096 bf16"]
    assert operation.nbytes == 2 * 8192 * 4096 * 2
    assert OPERATIONS["matmul 4096x4096x4096 f32"].flops == 2 * 4096**3


def test_the_model_for_host_costs_has_one_shape():
    model = host_model()
    onnx.checker.check_model(model)
    (given,), (result,) = model.graph.input, model.graph.output
    assert given.type == result.type
