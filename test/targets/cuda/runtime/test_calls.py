# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of a model on a GPU: where arrays may lie, in which order calls run, what goes wrong."""

from __future__ import annotations

import asyncio
import pickle
import threading

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.errors import DeviceError, InputError
from xyntra.executable import Executable
from xyntra.targets.cuda.driver.device import cuda_devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not cuda_devices(), reason="there is no GPU"),
]
SIZE = 4096


@pytest.fixture(scope="module")
def plus_one():
    return xyntra.compile(_adds(SIZE, 1), target="cuda")


@pytest.fixture(scope="module")
def chain():
    """Softmaxes between products: more launches than are bound anew."""
    return xyntra.compile(_layers(12), target="cuda")


@pytest.fixture
def torch():
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    return found


def _adds(size, number):
    return _model(
        [onnx.helper.make_node("Add", ["x", "c"], ["y"])],
        (size,),
        {"c": np.full(1, number, np.float32)},
    )


def _layers(count):
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for number in range(count):
        weights[f"w{number}"] = (rng.integers(-8, 8, (64, 64)) / 32).astype(np.float32)
        product, result = f"p{number}", "y" if number == count - 1 else f"s{number}"
        nodes.append(onnx.helper.make_node("MatMul", [last, f"w{number}"], [product]))
        nodes.append(onnx.helper.make_node("Softmax", [product], [result], axis=-1))
        last = result
    return _model(nodes, (16, 64), weights)


def _model(nodes, shape, weights):
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", kind, shape)],
        [onnx.helper.make_tensor_value_info("y", kind, shape)],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def _inputs(count, shape=(16, 64)):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for _ in range(count)]


def test_arrays_of_the_host_give_arrays_of_the_host(plus_one):
    x = np.arange(SIZE, dtype=np.float32)
    out = np.empty_like(x)
    assert np.array_equal(plus_one(x), x + 1)
    assert plus_one(x, out=[out]) is out
    assert np.array_equal(out, x + 1)


def test_arrays_on_the_gpu_stay_there(plus_one, torch):
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda")
    result = plus_one(x)
    assert result.__dlpack_device__() == (2, 0)
    assert torch.equal(torch.from_dlpack(result), x + 1)
    for _ in range(20):
        result = plus_one(result)
    assert np.array_equal(result.numpy(), x.cpu().numpy() + 21)


def test_results_go_where_out_says(plus_one, torch):
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda")
    y, z = torch.zeros_like(x), np.zeros(SIZE, np.float32)
    assert plus_one(x, out=[y]) is y
    plus_one(x, out=[z])
    assert torch.equal(y, x + 1)
    assert np.array_equal(z, y.cpu().numpy())


def test_views_of_arrays_are_read_as_they_are(plus_one, torch):
    x = torch.arange(2 * SIZE + 1, dtype=torch.float32, device="cuda")
    for part in (x[1 : SIZE + 1], x[: 2 * SIZE : 2]):
        assert np.array_equal(plus_one(part).numpy(), part.cpu().numpy() + 1)


def test_arrays_that_do_not_fit_are_refused(plus_one, torch):
    x = torch.zeros(SIZE, device="cuda")
    wide = torch.zeros(2 * SIZE, device="cuda")
    for given, out in ((x.double(), None), (x[1:], None), (x, [x]), (x, [wide[::2]])):
        with pytest.raises(InputError):
            plus_one(given, out=out)


def test_new_addresses_in_every_call_give_the_same_results(chain, torch):
    inputs = _inputs(40)
    expected = [chain(each) for each in inputs]
    on_gpu = [torch.from_numpy(each).cuda() for each in inputs]
    results = [chain(each) for each in on_gpu]
    for result, value in zip(results, expected, strict=True):
        assert np.array_equal(result.numpy(), value)


def test_calls_follow_the_stream_of_the_caller(plus_one, torch):
    stream = torch.cuda.Stream()
    slow = torch.randn(2048, 2048, device="cuda")
    x = torch.zeros(SIZE, device="cuda")
    for number in range(10):
        with torch.cuda.stream(stream):
            slow @ slow @ slow
            x.fill_(number)
            result = plus_one(x)
            x.fill_(-1)
        assert np.array_equal(result.numpy(), np.full(SIZE, number + 1, np.float32))


def test_many_calls_are_on_their_way_at_once(chain):
    inputs = _inputs(16)
    expected = [chain(each) for each in inputs]
    futures = [chain.submit(each) for each in inputs]
    for future, value in reversed(list(zip(futures, expected, strict=True))):
        assert np.array_equal(future.result(timeout=60), value)
    for _ in range(20):
        chain.submit(inputs[0])  # nobody asks for the results
    assert np.array_equal(chain(inputs[1]), expected[1])


def test_waiting_ends_after_the_time_given(plus_one, torch):
    slow = torch.randn(8192, 8192, device="cuda")
    x = torch.zeros(SIZE, device="cuda")
    torch.cuda.synchronize()
    for _ in range(10):
        slow = slow @ slow
    future = plus_one.submit(x)
    with pytest.raises(TimeoutError):
        future.result(timeout=0)
    assert np.array_equal(future.result(timeout=60).numpy(), np.ones(SIZE, np.float32))
    assert future.done()


def test_calls_are_awaited(chain):
    inputs = _inputs(12)
    expected = [chain(each) for each in inputs]

    async def main():
        first = await chain.submit(inputs[0])
        return [first, *await asyncio.gather(*(chain.submit(each) for each in inputs[1:]))]

    for found, value in zip(asyncio.run(main()), expected, strict=True):
        assert np.array_equal(found, value)


def test_pickles_run(chain):
    (given,) = _inputs(1)
    again = pickle.loads(pickle.dumps(chain))
    assert np.array_equal(again(given), chain(given))
    assert np.array_equal(again(given.tolist()), chain(given))


def test_threads_do_not_disturb_each_other(chain, torch):
    inputs = _inputs(8)
    expected = [chain(each) for each in inputs]
    wrong = []

    def work(thread):
        for step in range(30):
            number = (thread * 3 + step) % len(inputs)
            given = inputs[number]
            result = chain(given) if thread % 2 else chain(torch.from_numpy(given).cuda()).numpy()
            if not np.array_equal(result, expected[number]):
                wrong.append((thread, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_threads_may_wait_for_the_gpu_while_graphs_are_made(chain, torch):
    inputs = _inputs(8)
    expected = [chain(each) for each in inputs]
    wrong = []

    def work():
        for step in range(200):
            number = step % len(inputs)
            given = torch.from_numpy(inputs[number]).cuda()
            results = [torch.empty_like(given) for _ in range(3)]
            for result in [*results, *results]:
                chain(given, out=[result])
            if not all(np.array_equal(each.cpu().numpy(), expected[number]) for each in results):
                wrong.append(step)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        torch.cuda.synchronize()
    assert not wrong


def test_results_are_inputs_of_other_calls(plus_one, torch):
    x = torch.zeros(SIZE, device="cuda")
    y = torch.empty_like(x)
    for step in range(20):
        first = plus_one(x)
        plus_one(plus_one(first), out=[y])
        assert torch.equal(y, x + 3)
        assert first.numpy()[step] == 1
    with torch.cuda.stream(torch.cuda.Stream()):
        elsewhere = plus_one(x)
    assert plus_one(elsewhere).numpy()[0] == 2


def test_sets_of_addresses_come_and_go(chain, torch):
    inputs = _inputs(12)
    expected = [chain(each) for each in inputs]
    given = [torch.from_numpy(each).cuda() for each in inputs]
    results = [torch.empty_like(each) for each in given]
    for _ in range(4):
        for x, y, value in zip(given, results, expected, strict=True):
            y.fill_(float("nan"))
            chain(x, out=[y])
            assert np.array_equal(y.cpu().numpy(), value)


def test_streams_and_the_host_take_turns(chain, torch):
    inputs = _inputs(8)
    expected = [chain(each) for each in inputs]
    given = [torch.from_numpy(each).cuda() for each in inputs]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    for step in range(60):
        numbers = [(step + shift) % 8 for shift in (0, 3, 5)]
        results = []
        for stream, number in zip(streams, numbers, strict=False):
            with torch.cuda.stream(stream):
                results.append(torch.from_dlpack(chain(given[number])))
        on_host = chain(inputs[numbers[2]])
        torch.cuda.synchronize()
        found = [*(each.cpu().numpy() for each in results), on_host]
        for number, value in zip(numbers, found, strict=True):
            assert np.array_equal(value, expected[number])


def test_several_outputs_are_written_where_out_says(torch):
    kind = onnx.TensorProto.FLOAT
    value = onnx.helper.make_tensor_value_info
    nodes = [
        onnx.helper.make_node("Neg", ["x"], ["y"]),
        onnx.helper.make_node("Abs", ["x"], ["z"]),
    ]
    outputs = [value(name, kind, (SIZE,)) for name in "yz"]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", kind, (SIZE,))], outputs)
    opset = [onnx.helper.make_opsetid("", 17)]
    executable = xyntra.compile(onnx.helper.make_model(graph, opset_imports=opset), target="cuda")
    x = torch.arange(SIZE, dtype=torch.float32, device="cuda") - 5
    y, z = torch.zeros_like(x), torch.zeros_like(x)
    for _ in range(4):
        y.fill_(7)
        z.fill_(7)
        assert executable(x, out=[y, z]) == (y, z)
        assert torch.equal(y, -x)
        assert torch.equal(z, x.abs())
        for wrong in ([y, y], [x, z], [y, x]):
            with pytest.raises(InputError):
                executable(x, out=wrong)


def test_large_arrays_pass_through_chunks():
    size = 5 << 20
    executable = xyntra.compile(_adds(size, 1), target="cuda")
    x = np.arange(size, dtype=np.float32) % 1000
    results = [executable(x + number) for number in range(4)]
    for number, result in enumerate(results):
        assert np.array_equal(result, x + number + 1)
    out = np.empty_like(x)
    executable(x, out=[out])
    assert np.array_equal(out, x + 1)


def test_memory_that_does_not_suffice_is_an_error_that_passes(plus_one):
    from xyntra.targets.cuda.driver.gpu import gpu

    with pytest.raises(DeviceError) as caught, gpu(0).entered():
        gpu(0).blocks.take(1 << 46, 0)
    assert caught.value.code == "gpu-memory"
    assert plus_one(np.zeros(SIZE, np.float32))[0] == 1


@pytest.mark.skipif(len(cuda_devices()) < 2, reason="there are no two GPUs")
def test_two_gpus_run_at_once(chain):
    from xyntra.targets.cuda.program import CudaProgram

    second = Executable(
        chain.artifact, CudaProgram(chain.artifact, chain.weights, 1), chain.weights
    )
    inputs = _inputs(16)
    expected = [chain(each) for each in inputs]
    futures = [[each.submit(x) for x in inputs] for each in (chain, second)]
    for pending in futures:
        for future, value in zip(pending, expected, strict=True):
            assert np.array_equal(future.result(timeout=60), value)


@pytest.mark.skipif(len(cuda_devices()) < 2, reason="there are no two GPUs")
def test_arrays_of_another_gpu_are_refused_also_behind_others(plus_one):
    torch = pytest.importorskip("torch")
    x = np.zeros(SIZE, np.float32)
    here, there = (torch.from_numpy(x).to(f"cuda:{number}") for number in range(2))
    for arrays, out in (([there], None), ([here], [there]), ([x], [there])):
        with pytest.raises(InputError) as caught:
            plus_one(*arrays, out=out)
        assert caught.value.code == "input-device"
    assert plus_one(here).numpy()[0] == 1


def test_launches_are_described(chain):
    table = chain.explain_launches(chain.time_kernels({"x": _inputs(1)[0]}))
    assert "registers" in table
    assert len(table.splitlines()) > len(chain.kernels)
