# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever legal schedule a stage has, its numbers are the same; others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulator import run_artifact
from gpu_code import compiled
from test_emulated_kernels import attention, product

from verify.random_models.case import Case
from verify.random_models.check import compared
from verify.random_models.compile import compile_case
from verify.random_models.maker import CaseMaker
from verify.random_models.reference import expected
from xyntra.dialects import Schedule, make_context
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of, set_schedule
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import kernel_function
from xyntra.passes.lower.cuda import pipeline
from xyntra.passes.lower.gpu.device import GpuDevice, device_of
from xyntra.passes.lower.gpu.emitters.families import families_of, legal_schedules, schedule_text
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of, tidy
from xyntra.passes.lower.kernels.given_schedules import give_schedules
from xyntra.targets.cuda.code.kernel_image import KernelImage
from xyntra.targets.kernel import KernelSource
from xyntra.targets.table import backend_for

_EACH = 3  # schedules of an emitter: the first, the last, and one between
Change = Callable[[Stage, GpuDevice], None]


def convolution() -> Case:
    m = CaseMaker("convolution", 7)
    x, w = m.leaf("float16", (2, 64, 7, 9)), m.leaf("float16", (64, 64, 3, 3), "weight")
    y = m.step(
        "Conv", [x, w], (2, 64, 7, 9), kernel_shape=[3, 3], strides=[1, 1], dilations=[1, 1],
        pads=[1, 1, 1, 1], group=1,
    )  # fmt: skip
    return m.finish(m.step("Relu", [y], y.shape), label="")


def depthwise() -> Case:
    m = CaseMaker("convolution", 7)
    x, w = m.leaf("float32", (2, 16, 9, 7)), m.leaf("float32", (16, 1, 3, 3), "weight")
    y = m.step(
        "Conv", [x, w], (2, 16, 9, 7), kernel_shape=[3, 3], strides=[1, 1], dilations=[1, 1],
        pads=[1, 1, 1, 1], group=16,
    )  # fmt: skip
    return m.finish(m.step("Relu", [y], y.shape), label="")


def wide_windows(*, turned: bool) -> Case:
    m = CaseMaker("convolution", 7)
    x, w = m.leaf("float16", (2, 12, 19, 24)), m.leaf("float16", (12, 1, 7, 6), "weight")
    y = m.step(
        "Conv", [x, w], (2, 12, 19, 24), kernel_shape=[7, 6], strides=[1, 1], dilations=[1, 1],
        pads=[3, 2, 3, 3], group=12,
    )  # fmt: skip
    y = m.step("Relu", [y], y.shape)
    if turned:
        y = m.step("Transpose", [y], (2, 19, 24, 12), perm=[0, 2, 3, 1])
    return m.finish(y, label="")


def groups() -> Case:
    m = CaseMaker("convolution", 7)
    x, w = m.leaf("float32", (2, 24, 9, 7)), m.leaf("float32", (48, 4, 3, 3), "weight")
    y = m.step(
        "Conv", [x, w], (2, 48, 9, 7), kernel_shape=[3, 3], strides=[1, 1], dilations=[1, 1],
        pads=[1, 1, 1, 1], group=6,
    )  # fmt: skip
    y = m.step("Relu", [y], y.shape)
    return m.finish(m.step("Transpose", [y], (2, 9, 7, 48), perm=[0, 2, 3, 1]), label="")


def pooling() -> Case:
    m = CaseMaker("convolution", 7)
    x = m.leaf("float16", (2, 5, 13, 24))
    how = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}
    return m.finish(m.step("MaxPool", [x], x.shape, **how), label="")


def softmax() -> Case:
    m = CaseMaker("rows", 7)
    x = m.leaf("float32", (19, 130))
    return m.finish(m.step("Softmax", [x], x.shape, axis=-1), label="")


def total() -> Case:
    m = CaseMaker("rows", 7)
    x = m.leaf("float32", (19, 130))
    return m.finish(m.step("ReduceSum", [x], (19, 1), constants={"1": [1]}), label="")


def columns() -> Case:
    m = CaseMaker("rows", 7)
    x = m.leaf("float32", (130, 36))
    return m.finish(m.step("ReduceSum", [x], (1, 36), constants={"1": [0]}), label="")


def chain() -> Case:
    m = CaseMaker("elementwise", 7)
    x, y = m.leaf("float16", (33, 136)), m.leaf("float16", (136,))
    return m.finish(m.step("Relu", [m.step("Add", [x, y], x.shape)], x.shape), label="")


def running() -> Case:
    m = CaseMaker("rows", 7)
    x = m.leaf("float32", (5, 300))
    return m.finish(
        m.step("CumSum", [x], x.shape, constants={"1": [1]}, exclusive=0, reverse=0), label=""
    )


def pieces() -> Case:
    m = CaseMaker("elementwise", 7)
    x, y = m.leaf("float16", (9, 40)), m.leaf("float16", (9, 24))
    joined = m.step("Concat", [x, y], (9, 64), axis=1)
    return m.finish(m.step("Relu", [joined], joined.shape), label="")


CASES: dict[str, Case] = {
    "chain": chain(),
    "pieces": pieces(),
    "columns": columns(),
    "running sums": running(),
    "product of f16": product("float16", 70, 72, 264),
    "product of f32": product("float32", 70, 72, 264),
    "convolution": convolution(),
    "depthwise convolution": depthwise(),
    "wide windows": wide_windows(turned=False),
    "wide windows, channels last": wide_windows(turned=True),
    "pooling": pooling(),
    "groups, channels last": groups(),
    "attention": attention("float16", (19, 300), 40),
    "long attention": attention("bfloat16", (130, 197), 64, heads=(1, 1)),
    "softmax": softmax(),
    "total": total(),
}


@pytest.fixture(scope="module")
def context() -> ir.Context:
    return make_context()


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Return a function that changes the stages of whatever is compiled."""
    original = pipeline.to_stages

    def change(stage_by_stage: Change) -> None:
        def to_stages(module: ir.Operation, device: GpuDevice) -> ir.Operation:
            lowered = original(module, device)
            function = kernel_function(lowered)
            for stage in stages_of(function):
                stage_by_stage(stage, device)
            tidy(function)
            return lowered

        monkeypatch.setattr(pipeline, "to_stages", to_stages)

    return change


def _spread(found: list[Schedule]) -> list[Schedule]:
    """Return some schedules of each emitter."""
    by_emitter: dict[str, list[Schedule]] = {}
    for each in found:
        by_emitter.setdefault(each.emitter, []).append(each)
    chosen = []
    for same in by_emitter.values():
        places = {round(n * (len(same) - 1) / max(1, _EACH - 1)) for n in range(_EACH)}
        chosen += [same[place] for place in sorted(places)]
    return chosen


@pytest.mark.parametrize("name", CASES)
def test_every_legal_schedule_gives_right_numbers(
    name: str, context: ir.Context, changed: Callable[[Change], None]
) -> None:
    case = CASES[name]
    spaces: list[list[Schedule]] = []

    def look(stage: Stage, device: GpuDevice) -> None:
        spaces.append(_spread(list(legal_schedules(stage, families_of(device), device))))
        assert schedule_of(stage.op) in list(legal_schedules(stage, families_of(device), device))

    changed(look)
    compile_case(case, "sm_90a", context)
    wanted = expected(case)
    for number in range(max(map(len, spaces))):
        count = iter(range(len(spaces)))

        def choose(
            stage: Stage, _device: GpuDevice, number: int = number, count: Any = count
        ) -> None:
            space = spaces[next(count)]
            set_schedule(stage.op, space[number % len(space)])

        changed(choose)
        artifact = compile_case(case, "sm_90a", context)
        inputs = case.arrays("input")
        arrays = [inputs[port.name] for port in artifact.plan.inputs]
        finding = compared(run_artifact(artifact, arrays, case.arrays("weight")), wanted)
        told = [space[number % len(space)] for space in spaces]
        assert not finding.problem, told


PRODUCT = """
func.func @k(%x: tensor<64x512xf32>, %y: tensor<512x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%x, %y : tensor<64x512xf32>, tensor<512x64xf32>)
      outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}"""


@pytest.mark.parametrize(
    ("schedule", "code", "reason"),
    [
        (Schedule("nma"), "bad-schedule", "no emitter 'nma' makes code for this stage"),
        (Schedule("fma", {"tiles": (32, 32)}), "bad-schedule", "did you mean 'tile'"),
        (
            Schedule("fma", {"tile": (48, 32)}),
            "illegal-schedule",
            "two positive numbers as thread_tile",
        ),
        (
            Schedule("fma", {"tile": (48, 32), "thread_tile": (4, 4)}),
            "illegal-schedule",
            r"has other tiles: \[128, 128\] of \[8, 8\] a thread",
        ),
        (
            Schedule("fma", {"tile": (32, 32), "thread_tile": (4, 4), "split_k": 64}),
            "illegal-schedule",
            "splits this reduction in 1 to 8, not 64",
        ),
        (
            Schedule("mma", {"tile": (64, 64)}),
            "illegal-schedule",
            "cannot compute this contraction",
        ),
        (Schedule("windows"), "illegal-schedule", "no reduction over windows of an image"),
    ],
)
def test_schedules_that_cannot_be_carried_out_are_refused(
    schedule: Schedule, code: str, reason: str, changed: Callable[[Change], None]
) -> None:
    changed(lambda stage, _: set_schedule(stage.op, schedule))
    with pytest.raises(CompileError, match=reason) as caught:
        compiled(PRODUCT)
    assert caught.value.code == code


def test_schedules_are_said_in_the_words_of_their_emitters() -> None:
    families = families_of(device_of("sm_90a"))
    told = Schedule("mma", {"warps": (2, 2), "stages": 4, "tile": (128, 64), "early_weights": True})
    text = schedule_text(told, families)
    assert text == "mma tile [128, 64] warps [2, 2] stages 4 early_weights"
    assert schedule_text(Schedule("reduction"), families) == "reduction"
    assert schedule_text(None, families) == "plain loops"


def test_launches_keep_their_schedules(context: ir.Context) -> None:
    artifact = compile_case(CASES["softmax"], "sm_90a", context)
    (kernel,) = artifact.plan.kernels.values()
    (code,) = artifact.objects.values()
    launches = KernelImage.from_bytes(code).launches
    assert kernel.schedules == tuple(each.schedule for each in launches)
    assert kernel.schedules[0].startswith("register-rows")


def test_a_kernel_is_given_schedules_before_it_has_stages(context: ir.Context) -> None:
    backend = backend_for("sm_90a")
    source = KernelSource("k", PRODUCT, architecture="sm_90a")
    with context:
        (place,) = backend.schedule_places(ir.Module.parse(PRODUCT), source)
        assert place.chosen in place.legal
        assert len(place.legal) > 10
        wanted = next(each for each in place.legal[::-1] if each != place.chosen)
        module = ir.Module.parse(PRODUCT)
        give_schedules(kernel_function(module.operation), [wanted])
        found = backend.compile(ir.Module.parse(str(module)), source).schedules
    assert found[0] == schedule_text(wanted, families_of(device_of("sm_90a")))
    assert found != backend.compile(ir.Module.parse(PRODUCT, context), source).schedules
