# SPDX-License-Identifier: MIT OR Apache-2.0
"""The public functions: compile and call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import chain, make_model, mlp, mlp_reference

import xyntra
from xyntra.executable import Executable

Settings = dict[str, object]

MLIR = """\
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %y = linalg.negf ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
Y = np.array([[10, 20, -30], [1, 2, 3]], np.float32)
Z = np.maximum(X + Y, 0) * 2


@pytest.fixture(scope="module")
def summed(settings: Settings) -> Executable:
    return xyntra.compile(chain(), config=settings)


@pytest.fixture(scope="module")
def perceptron(settings: Settings) -> Executable:
    return xyntra.compile(mlp(), config=settings)


def test_a_model_file_is_compiled(tmp_path: Path, settings: Settings) -> None:
    onnx.save(chain(), tmp_path / "m.onnx")
    for path in (tmp_path / "m.onnx", str(tmp_path / "m.onnx")):
        np.testing.assert_array_equal(xyntra.compile(path, config=settings)(X, Y), Z)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_compiled(settings: Settings, kind: Any) -> None:
    data = kind(chain().SerializeToString())
    np.testing.assert_array_equal(xyntra.compile(data, config=settings)(X, Y), Z)


def test_a_model_proto_is_compiled(summed: Executable) -> None:
    np.testing.assert_array_equal(summed(X, Y), Z)


def test_mlir_is_compiled(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(MLIR)
    for model in (MLIR, MLIR.encode(), path, str(path)):
        np.testing.assert_array_equal(xyntra.compile(model, config=settings)(X), -X)


def free() -> onnx.ModelProto:
    return make_model([("Add", ["x", "y"], ["z"])], {"x": ["n", 3], "y": ["n", 3]}, ["z"])


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": (2, 3)},
        {"x": [2, 3], "y": [2, 3]},
        {"y": X},
        [(2, 3)],
        [(2, 3), (2, 3)],
        [X, Y],
        (X,),
    ],
    ids=["a name", "names", "an example", "in order", "all in order", "examples", "one example"],
)
def test_free_dimensions_take_sizes(settings: Settings, inputs: Any) -> None:
    compiled = xyntra.compile(free(), inputs=inputs, config=settings)
    assert [port.shape for port in compiled.inputs] == [(2, 3), (2, 3)]
    np.testing.assert_array_equal(compiled(X, Y), X + Y)


def test_the_second_time_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("a worker was started")

    own = {"cache_dir": str(tmp_path), "isolate": True}
    xyntra.compile(chain(), config={**settings, **own, "isolate": False})
    monkeypatch.setattr("xyntra.worker.compile_isolated", refuse)
    np.testing.assert_array_equal(xyntra.compile(chain(), config=own)(X, Y), Z)
    with pytest.raises(AssertionError, match="a worker"):
        xyntra.compile(chain(), config={**own, "cache": False})
    with pytest.raises(AssertionError, match="a worker"):
        xyntra.compile(chain(), config={**own, "fuse": False})


def test_a_worker_process_gives_the_same_code(summed: Executable) -> None:
    isolated = xyntra.compile(chain(), config={"cache": False, "jobs": 1})
    assert isolated.plan == summed.plan
    np.testing.assert_array_equal(isolated(X, Y), Z)


def test_fusion_changes_kernels_and_not_numbers(settings: Settings, summed: Executable) -> None:
    apart = xyntra.compile(chain(), config={**settings, "fuse": False})
    assert [kernel.kind for kernel in summed.kernels] == ["elementwise"]
    assert len(apart.kernels) == 3
    np.testing.assert_array_equal(apart(X, Y), summed(X, Y))


def test_results_that_are_inputs_constants_and_repeated(settings: Settings) -> None:
    constant = np.array([[7, 8], [9, 10]], np.float32)
    model = make_model(
        [("Neg", ["x"], ["n"]), ("Identity", ["n"], ["m"]), ("Identity", ["k"], ["c"])],
        {"x": [2, 3]},
        ["n", "x", "c", "m"],
        {"k": constant},
    )
    compiled = xyntra.compile(model, config=settings)
    n, x, c, m = compiled(X)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(n, -X)
    np.testing.assert_array_equal(m, -X)
    np.testing.assert_array_equal(c, constant)
    arrays = [n, x, c, m, X]
    assert not any(np.shares_memory(a, b) for a in arrays for b in arrays if a is not b)
    assert [port.name for port in compiled.outputs] == ["n", "x", "c", "m"]


def test_a_large_weight_can_be_a_result(settings: Settings) -> None:
    weight = np.arange(600, dtype=np.float32)
    model = make_model([("Identity", ["w"], ["y"])], {}, ["y"], {"w": weight})
    found = xyntra.compile(model, config=settings)()
    np.testing.assert_array_equal(found, weight)
    assert found.flags.writeable


def test_a_model_of_no_nodes_copies(settings: Settings) -> None:
    found = xyntra.compile(make_model([], {"x": [3]}, ["x"]), config=settings)(X[0])
    np.testing.assert_array_equal(found, X[0])
    assert not np.shares_memory(found, X)


def test_a_view_of_an_input_is_copied(settings: Settings) -> None:
    shape = {"shape": np.array([3, 2])}
    model = make_model([("Reshape", ["x", "shape"], ["y"])], {"x": [2, 3]}, ["y"], shape)
    found = xyntra.compile(model, config=settings)(X)
    np.testing.assert_array_equal(found, X.reshape(3, 2))
    assert not np.shares_memory(found, X)


def test_empty_tensors(settings: Settings) -> None:
    nodes = [
        ("Neg", ["x"], ["n"]),
        helper.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=0),
        helper.make_node("Concat", ["x", "k"], ["c"], axis=1),
    ]
    weights = {"axes": np.array([1]), "k": np.ones((3, 2), np.float32)}
    compiled = xyntra.compile(
        make_model(nodes, {"x": [3, 0]}, ["n", "s", "c"], weights), config=settings
    )
    n, s, c = compiled(np.empty((3, 0), np.float32))
    assert n.shape == (3, 0)
    np.testing.assert_array_equal(s, np.zeros(3, np.float32))
    np.testing.assert_array_equal(c, weights["k"])


def test_scalars(settings: Settings) -> None:
    model = make_model([("Mul", ["x", "y"], ["z"])], {"x": [], "y": []}, ["z"])
    compiled = xyntra.compile(model, config=settings)
    for x, y in ((np.float32(3), 2.5), (np.array(3, np.float32), np.float32(2.5)), (3, 2.5)):
        found = compiled(x, y)
        assert found.shape == ()
        assert found == 7.5


DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "bfloat16", "float32", "float64",
]  # fmt: skip


def test_every_dtype_goes_in_and_comes_out(settings: Settings) -> None:
    generator = np.random.default_rng(1)
    arrays = {
        name: (generator.standard_normal(5) * 50).astype(getattr(ml_dtypes, name, None) or name)
        for name in DTYPES
    }
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in arrays.items()
    ]
    nodes = [helper.make_node("Concat", [name, name], [f"{name}_"], axis=0) for name in arrays]
    outputs = [onnx.ValueInfoProto(name=f"{name}_") for name in arrays]
    model = helper.make_model(
        helper.make_graph(nodes, "graph", infos, outputs),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    compiled = xyntra.compile(model, config=settings)
    assert [port.dtype for port in compiled.inputs] == DTYPES
    assert [port.dtype for port in compiled.outputs] == DTYPES
    found = compiled.run(arrays)
    for name, array in arrays.items():
        assert found[f"{name}_"].dtype == array.dtype
        np.testing.assert_array_equal(found[f"{name}_"], np.concatenate([array, array]))


def test_outputs_are_written_where_asked(summed: Executable) -> None:
    out = np.full((2, 3), np.nan, np.float32)
    assert summed(X, Y, out=[out]) is out
    np.testing.assert_array_equal(out, Z)


def test_inputs_by_name(summed: Executable) -> None:
    found = summed.run({"y": Y, "x": X})
    assert list(found) == ["z"]
    np.testing.assert_array_equal(found["z"], Z)


class Exporter:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def test_dlpack_is_read(summed: Executable) -> None:
    np.testing.assert_array_equal(summed(Exporter(X), Exporter(Y)), Z)
    transposed = Exporter(np.asfortranarray(Y))
    np.testing.assert_array_equal(summed(X, transposed), Z)


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _unaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    memory[:] = np.frombuffer(array.tobytes(), np.uint8)
    return np.frombuffer(memory.data, array.dtype).reshape(array.shape)


LAYOUTS = {
    "read-only": _read_only,
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
    "unaligned": _unaligned,
    "subclass": lambda a: a.view(np.matrix),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_any_layout_is_read(summed: Executable, layout: Any) -> None:
    given = layout(X)
    before = given.copy()
    found = summed(given, Y)
    np.testing.assert_array_equal(found, np.maximum(np.asarray(given) + Y, 0) * 2)
    np.testing.assert_array_equal(given, before)
    assert type(found) is np.ndarray


def test_weights_are_parameters(perceptron: Executable) -> None:
    x = np.random.default_rng(2).standard_normal((4, 32)).astype(np.float32)
    np.testing.assert_allclose(perceptron(x), mlp_reference(mlp(), x), rtol=1e-5, atol=1e-5)
    assert list(perceptron.weights) == perceptron.plan.parameters == ["w"]
    assert not perceptron.weights["w"].flags.writeable


def test_weights_in_another_file(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="w.bin", size_threshold=100)
    assert (tmp_path / "w.bin").stat().st_size >= 32 * 16 * 4
    x = np.random.default_rng(3).standard_normal((4, 32)).astype(np.float32)
    found = xyntra.compile(path, config=settings)(x)
    np.testing.assert_allclose(found, mlp_reference(mlp(), x), rtol=1e-5, atol=1e-5)


def test_equal_code_with_other_weights_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, perceptron: Executable
) -> None:
    model = mlp()
    model.graph.initializer[0].raw_data = (perceptron.weights["w"] * np.float32(2)).tobytes()
    monkeypatch.delattr("xyntra.worker.compile_isolated")
    changed = xyntra.compile(model, config={**settings, "isolate": True})
    x = np.ones((4, 32), np.float32)
    np.testing.assert_allclose(changed(x), mlp_reference(model, x), rtol=1e-5, atol=1e-5)


def test_an_executable_says_what_it_is(perceptron: Executable) -> None:
    (x,), (y,) = perceptron.inputs, perceptron.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", (4, 32))
    assert (y.name, y.dtype, y.shape) == ("y", "float32", (4, 16))
    kinds = [kernel.kind for kernel in perceptron.kernels]
    assert kinds[0] == "contraction"
    for kernel in perceptron.kernels:
        assert kernel.name in kernel.source()
        assert "linalg" in kernel.source("kernels")
    # A multiplication and an addition for each of 4 * 32 * 16 products; then the bias and ReLU.
    assert sum(kernel.flops for kernel in perceptron.kernels) == 2 * 4 * 32 * 16 + 2 * 4 * 16
    assert perceptron.kernels_at_load == []
    report = perceptron.explain()
    assert f"became {len(kinds)} kernel" in report
    assert all(kernel.name in report for kernel in perceptron.kernels)


def test_kernels_are_timed(perceptron: Executable) -> None:
    times = perceptron.time_kernels({"x": np.ones((4, 32), np.float32)})
    assert len(times) == len(perceptron.kernels)
    assert all(time > 0 for time in times)


def test_the_same_input_gives_the_same_bits(perceptron: Executable) -> None:
    x = np.random.default_rng(5).standard_normal((4, 32)).astype(np.float32)
    first = perceptron(x)
    assert all(perceptron(x).tobytes() == first.tobytes() for _ in range(5))


def test_a_result_stays_when_the_model_is_called_again(perceptron: Executable) -> None:
    first = perceptron(np.ones((4, 32), np.float32))
    kept = first.copy()
    perceptron(np.zeros((4, 32), np.float32))
    np.testing.assert_array_equal(first, kept)


def test_weights_alone_are_computed_at_load(settings: Settings) -> None:
    weight = np.arange(600, dtype=np.float32).reshape(20, 30)
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        ("Exp", ["t"], ["e"]),
        ("Sub", ["x", "e"], ["y"]),
    ]
    model = make_model(nodes, {"x": [30, 20]}, ["y"], {"w": weight / 600})
    compiled = xyntra.compile(model, config={**settings, "fuse": False})
    assert [kernel.once for kernel in compiled.kernels].count(False) == 1
    for x in (0, 1, 0):  # A call must not write into what was computed at load.
        found = compiled(np.full((30, 20), x, np.float32))
        np.testing.assert_allclose(found, x - np.exp(weight.T / 600), rtol=1e-6, atol=1e-6)


def test_a_device_is_described() -> None:
    device = xyntra.devices()[0]
    assert device.name
    assert repr(device) == f"<cpu: {device.summary}>"
    assert device.name in device.summary
    assert len(repr(device)) < 200


def test_element_types_of_models_are_numpys(settings: Settings) -> None:
    model = make_model([("Not", ["x"], ["y"])], {"x": [4]}, ["y"], dtype=TensorProto.BOOL)
    x = np.array([True, False, False, True])
    found = xyntra.compile(model, config=settings)(x)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, ~x)
