# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes WGSL of SPIR-V, in the form that browsers take, too.

Tint, which reads WGSL in Chromium, is stricter than naga: it wants to see that every thread of a
workgroup reaches a barrier, and that a literal is the number that it stands for.
"""

from __future__ import annotations

import re

from xyntra.errors import CompileError
from xyntra.targets.webgpu.naga.naga import naga

__all__ = ["browser_text", "check_wgsl", "entry_points", "wgsl_of"]

_PRIVATE = re.compile(r"^var<private> (_builtin_\w+): ([\w<>]+);\n", re.M)
_ENTRY = re.compile(r"(^@compute [^\n]*\nfn \w+\([^\n]*\) \{\n)(.*?)^\}\n", re.M | re.S)
_ASSIGNED = re.compile(r"^    (_builtin_\w+) = (_builtin_\w+);\n", re.M)
_CALL = re.compile(r"^    (\w+)\(\);\n", re.M)
_LARGEST = re.compile(r"\b3402823(?:4\d*|5)0*f?(?:\.0)?f\b")
_EXACT = "0x1.fffffep+127f"
_SUBGROUPS = re.compile(r"@builtin\((?:subgroup_\w+|num_subgroups)\)|\bsubgroup[A-Z]\w*\(")
_NAME = re.compile(r"^@compute [^\n]*\nfn (\w+)\(", re.M)


def wgsl_of(spirv: bytes) -> str:
    """Return the WGSL of a SPIR-V module, which has been read again.

    Raises:
        CompileError: naga cannot read the one or the other.
        MissingExtraError: naga, or what runs it, is not there.
    """
    text = _LARGEST.sub(_EXACT, _pass_builtins(naga().wgsl_of(spirv)))
    check_wgsl(text)
    return text


def check_wgsl(text: str) -> None:
    """Read WGSL.

    Raises:
        CompileError: naga cannot.
        MissingExtraError: naga, or what runs it, is not there.
    """
    naga().check(text)


def browser_text(text: str) -> str:
    """Return WGSL with the directives that browsers want, and naga does not know yet."""
    return f"enable subgroups;\n{text}" if _SUBGROUPS.search(text) else text


def entry_points(text: str) -> list[str]:
    """Return the names of the entry points, in order."""
    return _NAME.findall(text)


def _pass_builtins(text: str) -> str:
    """Pass the numbers of threads and workgroups as parameters, of which uniformity is known.

    naga leaves them in private variables, as SPIR-V has them.
    """
    kinds = dict(_PRIVATE.findall(text))
    passed: dict[str, list[str]] = {}

    def rewrite(match: re.Match[str]) -> str:
        head, body = match.groups()
        assigned = _ASSIGNED.findall(body)
        call = _CALL.search(body)
        if call is None:
            raise CompileError("naga", "naga wrote an entry point of another form", cause=body)
        passed[call[1]] = [variable for variable, _ in assigned]
        return f"{head}    {call[1]}({', '.join(value for _, value in assigned)});\n}}\n"

    text = _ENTRY.sub(rewrite, text)
    for name, variables in passed.items():
        parameters = ", ".join(f"{each}: {kinds[each]}" for each in variables)
        text = text.replace(f"fn {name}() {{", f"fn {name}({parameters}) {{")
    return _PRIVATE.sub("", text)
