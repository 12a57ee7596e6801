# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts Inductor's launches for a model: `python -m bench.fusion.inductor_launches JOB RESULT`.

The model is built as the benchmarks build it for their export, compiled by `torch.compile` for the
CPU without gradients, and its generated code is read: every call of a C++ kernel, of
`extern_kernels` and of an ATen or oneDNN operator in the function `call` is one launch.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.models.torch_module import torch_model

if TYPE_CHECKING:
    import torch

__all__ = ["count_launches", "main"]

_CALL = re.compile(
    r"\s+(?:\w+ = )?(?P<name>cpp_fused\w*|extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+)\("
)
# They look at a tensor, and compute nothing.
_VIEWS = re.compile(r"reinterpret|as_strided|\.view|\.alias|empty_strided|set_\b|assert")


def main() -> None:
    """Compile the model `model` of JOB and write its launches as JSON to RESULT."""
    job = json.loads(sys.argv[1])
    module, inputs = torch_model(job["model"])
    Path(sys.argv[2]).write_text(json.dumps(launches(module, inputs)), encoding="utf-8")


def launches(module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> dict[str, Any]:
    """Launches of one call: in all, and by the callee's name; and the version of torch."""
    import torch
    from torch._inductor.utils import run_and_get_code

    with torch.no_grad():
        _, codes = run_and_get_code(torch.compile(module.eval()), *inputs)
    calls: Counter[str] = Counter()
    for code in codes:
        calls.update(count_launches(code))
    cpp = sum(count for name, count in calls.items() if name.startswith("cpp_fused"))
    by_library = {n: count for n, count in calls.items() if not n.startswith("cpp_fused")}
    return {
        "launches": sum(calls.values()),
        "generated": cpp,
        "libraries": by_library,
        "graphs": len(codes),
        "torch": torch.__version__,
    }


def count_launches(code: str) -> Counter[str]:
    """Launches by callee in the text of one generated module."""
    names = (match["name"] for match in map(_CALL.match, _body_of_call(code)) if match)
    return Counter(name for name in names if not _VIEWS.search(name))


def _body_of_call(code: str) -> Iterator[str]:
    """The lines of the function `call`, which may be a method."""
    indent: int | None = None
    for line in code.splitlines():
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip():
            if depth <= indent:
                return
            yield line
        elif line.lstrip().startswith("def call("):
            indent = depth


if __name__ == "__main__":
    main()
