# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the list of ONNX operators that Xyntra imports: `python -m bench.operators`."""

from __future__ import annotations

from pathlib import Path

import onnx

from xyntra.frontends.onnx import ops  # noqa: F401  (importing it registers the importers)
from xyntra.frontends.onnx.node import supported_operators

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
HEAD = """# ONNX operators

Importers exist for these operators, in every form that operator sets {first} to {last} give them,
with static shapes. Operators that the specification defines by a function of other operators are
expanded where they have no importer of their own. `If` works where its condition is known when
compiling. A form that an importer does not know is refused with an error that names the node. This
page is written by `python -m bench.operators`.
"""


def render() -> str:
    """The page's text."""
    from xyntra.frontends.onnx.importer import MIN_OPSET

    parts = [HEAD.format(first=MIN_OPSET, last=onnx.defs.onnx_opset_version())]
    domains: dict[str, list[str]] = {}
    for domain, name in supported_operators():
        domains.setdefault(domain or "ai.onnx", []).append(name)
    for domain, names in sorted(domains.items()):
        parts.append(f"\n## {domain} ({len(names)})\n\n{_wrapped(names)}\n")
    return "".join(parts)


def _wrapped(names: list[str]) -> str:
    import textwrap

    return textwrap.fill(", ".join(names), 120)


if __name__ == "__main__":
    DOCUMENT.write_text(render())
