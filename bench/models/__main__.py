# SPDX-License-Identifier: MIT OR Apache-2.0
"""Command line of `bench.models`: list, fetch and export the benchmark models."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.models import DEFAULT_FOLDER, REGISTRY, ModelSpec, ensure
from xyntra.errors import XyntraError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 if every model asked for is there, 1 otherwise."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        _print_list()
        return 0
    names = _chosen(options, parser)
    failed = [name for name in names if not _provide(name, options.out, options.force)]
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to provide")
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    parser.add_argument("--force", action="store_true", help="make files again that are there")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="print what is known and stop")
    which.add_argument("--all", action="store_true", help="all models")
    which.add_argument("--pypi", action="store_true", help="those that need pip only")
    return parser


def _chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[str]:
    unknown = [name for name in options.names if name not in REGISTRY]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; known: {', '.join(REGISTRY)}")
    if options.all:
        return list(REGISTRY)
    if options.pypi:
        return [name for name, spec in REGISTRY.items() if spec.from_wheel]
    if not options.names:
        parser.error("name a model, or give --list, --all or --pypi")
    return list(dict.fromkeys(options.names))


def _provide(name: str, folder: Path, force: bool) -> bool:
    spec = REGISTRY[name]
    try:
        if force:
            spec.build(folder / spec.filename)
        path = ensure(name, folder)
    except XyntraError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    return True


def _print_list() -> None:
    for spec in REGISTRY.values():
        print(f"{spec.name:14}{_needs(spec):6}{_inputs(spec)}")
        print(f"{'':20}{spec.title}; {spec.source}; licence: {spec.licence}")


def _needs(spec: ModelSpec) -> str:
    return "pip" if spec.from_wheel else "torch"


def _inputs(spec: ModelSpec) -> str:
    return ", ".join(f"{i.name}: {i.dtype}{list(i.shape)}" for i in spec.inputs)


if __name__ == "__main__":
    sys.exit(main())
