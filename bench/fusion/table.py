# SPDX-License-Identifier: MIT OR Apache-2.0
"""Count kernels of the benchmark models and time fusion: `python -m bench.fusion.table`.

For each model: operations of level 1, the kernels that one call launches, with fusion and without,
what upstream's `linalg-fuse-elementwise-ops` leaves of the same level 1, what torch's Inductor
launches for the same architecture on the CPU, and the seconds of every pass. The result is JSON,
from which the table in docs/fusion-results.md is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.documents.fusion import DOCUMENT, update_document
from bench.fusion.scale import count_calls, timed_passes
from bench.harness.machine import describe, slug
from bench.harness.measure import ROOT, MeasureError, fresh, write_json
from bench.models import DEFAULT_FOLDER, REGISTRY

if TYPE_CHECKING:
    from bench.models.spec import ModelSpec
    from xyntra.dialects.mlir import ir

__all__ = ["count_compute", "main"]

_TIMEOUT = 900.0
_MODELS = ("bert-base", "gpt2", "vit-tiny", "minilm", "resnet50")
"""Those that are PyTorch modules."""
_UPSTREAM = (
    "decompose-named-ops",
    "canonicalize",
    "cse",
    "func.func(linalg-fuse-elementwise-ops)",
    "canonicalize",
    "cse",
)
_MOVES = frozenset({"tensor.pad", "tensor.insert_slice", "tensor.concat"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    machine = describe()
    path = options.json or ROOT / f"bench/results/fusion_table-{slug(machine)}.json"
    known = _known_inductor(path) if options.keep_inductor else {}
    rows = []
    for name in options.models or REGISTRY:
        rows.append(_row(REGISTRY[name], options.rounds))
        rows[-1] |= known.get(name) or _inductor(name)
        print({k: v for k, v in rows[-1].items() if k != "passes"}, flush=True)
    write_json(path, {"machine": machine, "rounds": options.rounds, "rows": rows})
    if options.document:
        update_document(options.document, path.parent)
    return 0


def _known_inductor(path: Path) -> dict[str, dict[str, Any]]:
    """What an earlier run has counted, by model."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {row["model"]: {"inductor": row["inductor"]} for row in rows if "inductor" in row}


def _inductor(model: str) -> dict[str, Any]:
    if model not in _MODELS:
        return {}
    try:
        return {"inductor": fresh("bench.fusion.inductor_launches", {"model": model}, _TIMEOUT)}
    except MeasureError as error:
        return {"inductor_error": f"{error}\n{error.detail}"}


def _row(spec: ModelSpec, rounds: int) -> dict[str, Any]:
    row: dict[str, Any] = {"model": spec.name, "title": spec.title}
    timed = [_launches(spec, ("prepare", "fuse", "kernels")) for _ in range(rounds)]
    row |= min(timed, key=lambda entry: entry["ours_seconds"])
    row["unfused"] = _launches(spec, ("prepare", "form", "kernels"))["launches"]
    row["upstream"] = _upstream(spec)
    return row


def _launches(spec: ModelSpec, pipeline: Sequence[str]) -> dict[str, Any]:
    from xyntra.compiler.levels import count_operations
    from xyntra.dialects import make_context
    from xyntra.dialects.mlir import ir
    from xyntra.plan.build import build_plan

    with make_context() as context, ir.Location.unknown():
        module = _imported(spec, context)
        operations = count_operations(module.operation)
        times = timed_passes(module, pipeline, left_out=frozenset())
        launches = count_calls(module)
        plan = build_plan(module.operation, operations)
    once = sum(step.once for step in plan.steps)
    kinds: dict[str, int] = {}
    for step in plan.steps:
        if not step.once:
            kind = plan.kernels[step.kernel].kind
            kinds[kind] = kinds.get(kind, 0) + 1
    return {
        "operations": operations,
        "launches": launches - once,
        "launches_at_load": once,
        "kinds": kinds,
        **times,
    }


def _upstream(spec: ModelSpec) -> int:
    """Compute operations that are left by upstream's fusion."""
    from xyntra.dialects import make_context
    from xyntra.dialects.mlir import ir
    from xyntra.passes.manager import run_pipeline

    with make_context() as context, ir.Location.unknown():
        module = _imported(spec, context)
        run_pipeline(module, list(_UPSTREAM))
        return count_compute(module)


def _imported(spec: ModelSpec, context: ir.Context) -> ir.Module:
    from xyntra.compiler.inputs.source import open_source
    from xyntra.frontends.onnx.importer import import_model

    source = open_source(DEFAULT_FOLDER / spec.filename)
    return import_model(source.model, spec.shapes, context=context, max_tensor_bytes=16 << 30)


def count_compute(module: ir.Module) -> int:
    """Operations that each become at least one loop nest.

    Fills of accumulators, views and constants are left out: they come with what uses them.
    """
    from xyntra.passes.analysis.functions import function_blocks
    from xyntra.passes.fusion.graph.block_graph import reads_no_tensor

    count = 0
    for block in function_blocks(module.operation):
        for view in block.operations:
            op = view.operation
            computes = op.name.startswith("linalg.") and not reads_no_tensor(op)
            count += computes or op.name in _MOVES or op.name.startswith("scf.")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.fusion.table", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, help="measurements (the best counts)")
    parser.add_argument(
        "--keep-inductor", action="store_true", help="take Inductor's counts from the last result"
    )
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument(
        "--document", type=Path, nargs="?", const=DOCUMENT, help="write the table into this file"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
