# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compile`: writes a compiled model, or its text at a level."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any

from xyntra.compiler.worker.request import LEVELS
from xyntra.targets.table import TARGETS
from xyntra.tools.commands.model import (
    add_model_arguments,
    executable_of,
    progress,
    samples_of,
    settings_of,
    sizes_of,
    source_of,
)
from xyntra.tools.commands.standard_input import is_saved, label_of, stem_of

_GRAPHS = ("dot", "json")
_ASSEMBLIES = tuple(each.assembly for each in TARGETS.values() if each.assembly)
_EMITTED = (*LEVELS, *_GRAPHS, "onnx", "web")


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="compile a model, or show it at a level")
    add_model_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write; MODEL.xyn here, or standard output. A folder gets a file of"
        f" {' or '.join(_ASSEMBLIES)} for each kernel; web writes a folder, MODEL-web here",
    )
    parser.add_argument(
        "--emit",
        metavar="LEVEL",
        choices=_EMITTED,
        help=f"write this instead: {', '.join(_EMITTED)}",
    )
    parser.add_argument(
        "--kernel",
        metavar="NAME",
        default="",
        help="the only kernel whose text is written, at the level kernels or below",
    )
    parser.add_argument(
        "--graph",
        choices=["before", "after", "both"],
        default="after",
        help="which graph --emit dot and json write: before fusion, after (the default), or both",
    )
    parser.add_argument(
        "--reproduce",
        metavar="DIR",
        help="write the smallest part of the model on which Xyntra fails, for a report",
    )
    parser.add_argument(
        "--trace", metavar="FILE.json", help="write a trace of compiling, for Perfetto"
    )
    parser.add_argument(
        "--flamegraph",
        metavar="FILE",
        help="write where the time of compiling goes: an .svg, or a .json for speedscope",
    )


def run(options: argparse.Namespace) -> int:
    """Write what was asked for."""
    if options.trace is None and options.flamegraph is None:
        return _write_asked(options)
    from xyntra.observe.timing.flamegraph import check_name, write_flamegraph
    from xyntra.observe.timing.trace import trace

    if options.flamegraph is not None:
        check_name(options.flamegraph)
    with trace(options.trace) as recorded:
        status = _write_asked(options)
    if options.flamegraph is not None:
        write_flamegraph(options.flamegraph, recorded.stacks(), f"compiling {label_of(options)}")
    return status


def _write_asked(options: argparse.Namespace) -> int:
    if options.reproduce is not None:
        return _reproduce(options)
    if options.emit in LEVELS and not _wants_files(options):
        _write(_level_text(options), options.output)
        return 0
    if options.emit == "onnx" and settings_of(options).precision == "int8":
        from xyntra.tools.commands.quantized import write_quantized

        write_quantized(options)
        return 0
    executable = executable_of(options)
    if options.emit is None:
        executable.save(options.output or f"{stem_of(options)}.xyn")
        return 0
    if options.emit in _ASSEMBLIES:
        from xyntra.tools.commands.assembly_files import write_assembly

        write_assembly(executable, options.emit, options.output)
        return 0
    if options.emit == "web":
        folder = options.output or f"{stem_of(options)}-web"
        executable.save_web(folder, title=stem_of(options))
        print(f"wrote {folder}; try: python -m http.server --directory {shlex.quote(folder)}")
        return 0
    if options.emit == "onnx":
        from xyntra.tools.commands.reduced import write_reduced

        write_reduced(options, executable)
        return 0
    from xyntra.observe.graph_export import to_dot, to_json

    write = to_dot if options.emit == "dot" else to_json
    source = executable.artifact.source_graph() if options.graph != "after" else None
    _write(write(executable.plan, source, options.graph).encode(), options.output)
    return 0


def _wants_files(options: argparse.Namespace) -> bool:
    """Tell whether assembly goes into a file for each kernel."""
    if options.emit not in _ASSEMBLIES:
        return False
    folder = options.output is not None and (
        options.output.endswith(os.sep) or os.path.isdir(options.output)
    )
    return folder or is_saved(options)


def _reproduce(options: argparse.Namespace) -> int:
    from xyntra.compiler.reproduce import reproduce

    settings = settings_of(options)
    with progress(f"looking for the smallest part of {options.model} that fails", settings):
        found = reproduce(source_of(options), sizes_of(options), settings, options.reproduce)
    if found is None:
        print(f"{options.model} compiles, and nothing falls back: there is nothing to reproduce")
        return 0
    size = "" if found.nodes is None else f" of {found.nodes} nodes"
    print(f"wrote a model{size} to {found.model}; it fails with\n{found.failure}")
    return 0


def _level_text(options: argparse.Namespace) -> bytes:
    from xyntra.compiler.driver import emit_level

    settings = settings_of(options)
    with progress(f"compiling {label_of(options)}", settings):
        sizes, kernel = sizes_of(options), options.kernel
        samples = samples_of(options)
        return emit_level(source_of(options), sizes, settings, options.emit, kernel, samples)


def _write(text: bytes, output: str | None) -> None:
    if output is None or output == "-":
        rest = memoryview(text)
        while rest:  # Unbuffered, one write may take a part only.
            rest = rest[sys.stdout.buffer.write(rest) :]
        return
    from xyntra.plan.storage.files import replace_file

    replace_file(output, [text])
