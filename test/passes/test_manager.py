# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running pipelines of our passes and upstream's, and the errors that come out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError, ConfigError, UnsupportedError, XyntraError
from xyntra.passes import pipelines
from xyntra.passes.diagnostics import Diagnostic, PassFailure, PipelineError
from xyntra.passes.hooks import IrPrinter, PassTimer
from xyntra.passes.manager import run_pipeline
from xyntra.passes.pipeline_text import PassStep, parse_pipeline
from xyntra.passes.pipelines import PIPELINES, Pipeline, expand, fusion_pipeline

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @g()
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with make_context(), ir.Location.unknown():
        yield ir.Module.parse(TEXT)


@dataclass(frozen=True)
class Call:
    """A pass made of a function."""

    name: ClassVar[str] = "call"
    body: Callable[[ir.Operation], None]

    def run(self, module: ir.Operation) -> None:
        self.body(module)


@dataclass
class Recorder:
    """A hook that remembers."""

    events: list[str] = field(default_factory=list)

    def before(self, name: str, module: ir.Operation) -> None:
        self.events.append(f"before {name}")

    def after(self, name: str, module: ir.Operation) -> None:
        self.events.append(f"after {name}")

    def failed(self, name: str, module: ir.Operation) -> None:
        self.events.append(f"failed {name}")


def test_ours_and_upstream_in_one_pipeline(module: ir.Module) -> None:
    hook = Recorder()
    run_pipeline(
        module,
        "builtin.module(decompose-named-ops,func.func(canonicalize),symbol-dce)",
        hooks=[hook],
    )
    assert "xyntra.silu" not in str(module)
    assert "@g" not in str(module)
    names = ["decompose-named-ops", "canonicalize", "symbol-dce"]
    assert hook.events == [f"{when} {name}" for name in names for when in ("before", "after")]


def test_named_pipelines_and_ready_passes(module: ir.Module) -> None:
    seen: list[str] = []
    run_pipeline(module, [Call(lambda op: seen.append(op.name)), "decompose"])
    assert seen == ["builtin.module"]
    assert "linalg.generic" in str(module)


def test_every_named_pipeline_parses() -> None:
    for name in PIPELINES:
        assert [step for element in expand(name) for step in parse_pipeline(element)]


def test_pipelines_may_name_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Pipeline("twice", ("cse", "decompose", "symbol-dce"))
    monkeypatch.setattr(pipelines, "PIPELINES", {**PIPELINES, "both": both})
    assert expand("both") == ("cse", *PIPELINES["decompose"].elements, "symbol-dce")


def test_targets_with_tensor_cores_keep_narrow_factors_and_order_weights():
    wide = fusion_pipeline(egraph=True, fast_math=False)
    narrow = fusion_pipeline(egraph=True, fast_math=False, target="cuda")
    told = {"fuse-operations", "channels-last", "fold-transposes"}
    removed = {"widen-contractions", "split-long-norms{target=cpu}", "round-rows", *told}
    removed |= {"integer-contractions"}
    assert set(wide) - set(narrow) == removed
    added = {"pack-channels", "order-weights", "fold-norms", "split-long-norms{target=cuda}"}
    added |= {f"{each}{{target=cuda}}" for each in told}
    added |= {"narrow-row-ops", "split-gates", "inline-into-reductions", "split-variances"}
    added |= {"inline-broadcasts", "inline-into-scores", "narrow-contractions", "unpack-products"}
    added |= {"integer-contractions{float8=true}"}
    assert set(narrow) - set(wide) == added
    apart = fusion_pipeline(egraph=True, fast_math=False, target="cuda", fold_norms=False)
    assert set(narrow) - set(apart) == {"fold-norms"}
    pairs = fusion_pipeline(egraph=True, fast_math=False, target="cuda", merge_gates=True)
    assert set(pairs) - set(narrow) == {"merge-contractions{gates=true}"}
    start = narrow.index("fold-transposes{target=cuda}") + 1
    assert list(narrow[start : start + 3]) == ["split-gates", "pack-channels", "order-weights"]


def test_unknown_pipeline() -> None:
    with pytest.raises(ConfigError, match="no pipeline 'decompos'") as caught:
        expand("decompos")
    assert caught.value.hint == "did you mean 'decompose'?"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", []),
        ("cse", [PassStep("cse")]),
        ("builtin.module(cse)", [PassStep("cse")]),
        ("builtin.module()", []),
        (" a-b{x=1 y={z=2}} , cse ", [PassStep("a-b", "x=1 y={z=2}"), PassStep("cse")]),
        ("a{s='),('}", [PassStep("a", "s='),('")]),
        ("func.func(a,scf.for(b))", [
            PassStep("a", nest=("builtin.module", "func.func")),
            PassStep("b", nest=("builtin.module", "func.func", "scf.for")),
        ]),
        ("any(cse)", [PassStep("cse", nest=("any",))]),
    ],
)  # fmt: skip
def test_pipeline_text(text: str, steps: list[PassStep]) -> None:
    assert list(parse_pipeline(text)) == steps


def test_step_as_text() -> None:
    step = PassStep("a", "x=1", ("builtin.module", "func.func"))
    assert step.pipeline == "builtin.module(func.func(a{x=1}))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,,b", "a pass name is missing before or after a comma"),
        ("a,", "a pass name is missing"),
        ("a{x=1", "'{' in 'a{x=1' is never closed"),
        ("a)", r"'\)' at column 2 of 'a\)' closes nothing"),
        ("f(a}", "closes nothing"),
        ("a{s='}", "''' in .* is never closed"),
        ("a b", "'a b' is neither a pass nor a nested pipeline"),
        ("a{x}y", "'a{x}y' is neither a pass nor"),
    ],
)
def test_malformed_pipeline_text(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_pipeline(text)


@pytest.mark.parametrize(
    ("pipeline", "code"),
    [
        ("no-such-pass", "unknown-pass"),
        ("cse,decompose-named-ops{x=1}", "unknown-option"),
        ("func.func(decompose-named-ops)", "wrong-anchor"),
        ("canonicalize{no-such-option=1}", "bad-pipeline"),
        ("spirv-lower-abi-attrs", "bad-pipeline"),
    ],
)
def test_wrong_pipelines_do_nothing(module: ir.Module, pipeline: str, code: str) -> None:
    hook = Recorder()
    with pytest.raises(ConfigError) as caught:
        run_pipeline(module, ["decompose-named-ops", pipeline], hooks=[hook])
    assert caught.value.code == code
    assert hook.events == []


def test_upstream_failure(module: ir.Module) -> None:
    hook = Recorder()
    with pytest.raises(PipelineError, match="pass 'inline' failed") as caught:
        run_pipeline(module, "func.func(inline),cse", hooks=[hook])
    first = caught.value.diagnostics[0]
    assert first.severity == "error"
    assert "was scheduled to run under the inliner" in first.message
    assert (first.line, first.column) == (2, 1)
    assert [note.severity for note in first.notes] == ["note"]
    assert hook.events == ["before inline", "failed inline"]


def test_pass_failure_has_the_place(module: ir.Module) -> None:
    def fail(op: ir.Operation) -> None:
        raise PassFailure.at(op.regions[0].blocks[0].operations[0], "cannot do @f")

    with pytest.raises(PassFailure) as caught:
        run_pipeline(module, [Call(fail)])
    assert caught.value.diagnostics == (
        Diagnostic("error", "cannot do @f", '"-":2:1', "-", 2, 1),
    )  # fmt: skip
    assert '"-":2:1' in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics
    assert type(XyntraError.from_dict(caught.value.to_dict())) is CompileError


def test_typed_errors_keep_their_type(module: ir.Module) -> None:
    def fail(_: ir.Operation) -> None:
        raise UnsupportedError("no-way", "not today")

    with pytest.raises(UnsupportedError, match="not today"):
        run_pipeline(module, [Call(fail)])


def test_emitted_error_is_a_failure(module: ir.Module) -> None:
    with pytest.raises(PipelineError, match="pass 'call' failed") as caught:
        run_pipeline(module, [Call(lambda op: op.location.emit_error("emitted"))])
    assert caught.value.cause == "emitted"


def test_passes_make_attributes_where_no_location_is_set() -> None:
    def body(operation: ir.Operation) -> None:
        operation.attributes["xyntra.half"] = ir.FloatAttr.get(ir.F32Type.get(), 0.5)

    module = ir.Module.parse("module {}", make_context())
    run_pipeline(module, [Call(body)])
    assert "xyntra.half = 5.0" in str(module)


def test_crash_names_the_line(module: ir.Module) -> None:
    with pytest.raises(CompileError, match=r"KeyError: 'x' \(test_manager\.py:\d+\)") as caught:
        run_pipeline(module, [Call(lambda _: {}["x"])])
    assert caught.value.code == "pass-crashed"


def break_silu(op: ir.Operation) -> None:
    function = op.regions[0].blocks[0].operations[0]
    silu = function.regions[0].blocks[0].operations[0].operation
    silu.attributes["approximate"] = ir.StringAttr.get("none")
    half = ir.RankedTensorType.get([4], ir.F16Type.get())
    bad = ir.Operation.create(
        "xyntra.silu", [half], list(silu.operands), loc=silu.location, ip=ir.InsertionPoint(silu)
    )
    assert bad.results[0].type == half


def test_invalid_ir_is_caught(module: ir.Module) -> None:
    hook = Recorder()
    with pytest.raises(PipelineError, match="pass 'call' left invalid IR") as caught:
        run_pipeline(module, [Call(break_silu), "cse"], hooks=[hook])
    assert caught.value.code == "invalid-ir"
    assert "expects the result type" in (caught.value.cause or "")
    assert hook.events == ["before call", "failed call"]


def test_verification_can_wait_for_the_last_pass(module: ir.Module) -> None:
    seen: list[ir.Operation] = []
    with pytest.raises(PipelineError, match="invalid IR"):
        run_pipeline(module, [Call(break_silu), Call(seen.append)], verify_each=False)
    assert seen


def test_printer(module: ir.Module) -> None:
    written: list[str] = []
    printer = IrPrinter(written.append, frozenset({"cse"}), None)
    run_pipeline(module, "decompose-named-ops,cse", hooks=[printer])
    titles = [text.partition(" //----- //")[0] for text in written]
    start = "// -----// IR Dump "
    assert titles == [
        f"{start}{t}" for t in ("After decompose-named-ops", "Before cse", "After cse")
    ]
    assert "linalg.generic" in written[0]


def test_printer_after_a_failure(module: ir.Module) -> None:
    written: list[str] = []
    with pytest.raises(PipelineError):
        run_pipeline(
            module, [Call(break_silu)], hooks=[IrPrinter(written.append, frozenset(), None)]
        )
    assert "IR Dump After call failed" in written[0]


def test_timer(module: ir.Module) -> None:
    timer = PassTimer()
    run_pipeline(module, "decompose-named-ops,cse", hooks=[timer])
    assert [name for name, _ in timer.seconds] == ["decompose-named-ops", "cse"]
    assert all(seconds > 0 for _, seconds in timer.seconds)
    assert [line.split()[-1] for line in timer.table().splitlines()[2:]] == [
        "decompose-named-ops",
        "cse",
        "total",
    ]
