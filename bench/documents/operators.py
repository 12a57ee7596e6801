# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the list of ONNX operators that Xyntra imports: `python -m bench.documents.operators`."""

from __future__ import annotations

import argparse
from pathlib import Path

import onnx

from xyntra.frontends.onnx.node import find_handler, supported_operators
from xyntra.frontends.onnx.ops import refused

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operators.md"
HEAD = """# ONNX operators

Importers exist for these operators, in every form that operator sets {first} to {last} give them,
with static shapes. Operators that the specification defines by a function of other operators are
expanded where they have no importer of their own. An `If` whose condition is known takes its
branch; else both are computed, if their results have equal shapes. Where one of them cannot be
compiled, for the given shapes for example, the other one is, and a call that takes the first is an
`InputError` (`branch-not-compiled`) that says which values lead there; `explain` lists these
errors. An input that decides an `If` can be bound to a value: `compile(constants={{"sr": 16000}})`.
An input that decides a shape can be bound, too, or stay an input whose value calls must repeat:
`compile(specialize={{"shape": array}})`.
Elements of float8, float4 and of integers of 2 and 4 bits are moved, cast and (de)quantized, one
in a byte; no other operator has them.
`Loop` and `Scan` are unrolled where the number of iterations is known when compiling.

Results of NonZero, Compress, Unique and NonMaxSuppression are as long as a call finds out. What
reads them is computed where that is right on the largest size: elementwise operators, Transpose,
Gather, GatherND, Slice, Concat, Squeeze, Unsqueeze and Shape; other operators are refused there.

Refused, with an error that names the node: forms that an importer does not know, random numbers,
other shapes that depend on the data, and strings. By name:
{refused}.

This page is written by `python -m bench.documents.operators`.
"""


def render() -> str:
    """The page's text."""
    from xyntra.frontends.onnx.opsets import MIN_OPSET

    names = [name for _, name in supported_operators() if _is_refused(name)]
    last = onnx.defs.onnx_opset_version()
    parts = [HEAD.format(first=MIN_OPSET, last=last, refused=", ".join(names))]
    domains: dict[str, list[str]] = {"ai.onnx": ["If", "Loop", "Scan"]}
    for domain, name in supported_operators():
        if not _is_refused(name):
            domains.setdefault(domain or "ai.onnx", []).append(name)
    for domain, names in sorted(domains.items()):
        parts.append(f"\n## {domain} ({len(names)})\n\n{_wrapped(sorted(names))}\n")
    return "".join(parts)


def _is_refused(name: str) -> bool:
    handler = find_handler("", name)
    return handler is not None and handler.__module__ == refused.__name__


def _wrapped(names: list[str]) -> str:
    import textwrap

    return textwrap.fill(", ".join(names), 120)


if __name__ == "__main__":
    program = "python -m bench.documents.operators"
    argparse.ArgumentParser(prog=program, description=__doc__).parse_args()
    DOCUMENT.write_text(render())
