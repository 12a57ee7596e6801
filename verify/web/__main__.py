# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks what is written for browsers in a headless Chromium.

    python -m verify.web shaders [--pipelines] NAME…   every kernel, read by Chromium
    python -m verify.web random [--graphs N]           kernels of random fused graphs, likewise
    python -m verify.web models NAME…                  pages beside onnxruntime
    python -m verify.web states [STORY…] [--pictures DIR]   loading, results and errors, by clicks
    python -m verify.web functions [NAME…]             errors of functions
    python -m verify.web magika [--pictures DIR]       the example page beside the package magika

Exits with 1 where something is refused, differs or goes wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.models import DEFAULT_FOLDER, REGISTRY
from verify.web.browser import browser, missing
from verify.web.server import served


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"verify.web: {reason}", file=sys.stderr)
        return 2
    good: bool = options.check(options)
    return 0 if good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verify.web",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    shaders = commands.add_parser("shaders")
    shaders.set_defaults(check=_shaders)
    shaders.add_argument("--pipelines", action="store_true", help="also compile them, for minutes")
    models = commands.add_parser("models")
    models.set_defaults(check=_models)
    models.add_argument("--draws", type=int, default=3, help="inputs that are tried; default: 3")
    models.add_argument("--record", type=Path, help="a file for the results, as JSON")
    for command in (shaders, models):
        command.add_argument("names", nargs="+", metavar="NAME", choices=list(REGISTRY))
        command.add_argument("--models", type=Path, default=DEFAULT_FOLDER, help="default: models/")
    states = commands.add_parser("states")
    states.set_defaults(check=_states)
    states.add_argument("names", nargs="*", metavar="STORY")
    random = commands.add_parser("random")
    random.set_defaults(check=_random)
    random.add_argument("--graphs", type=int, default=200, help="default: 200")
    random.add_argument("--seed", type=int, default=0, help="default: 0")
    functions = commands.add_parser("functions")
    functions.set_defaults(check=_functions)
    functions.add_argument("names", nargs="*", metavar="NAME")
    magika = commands.add_parser("magika")
    magika.set_defaults(check=_magika)
    for command in (states, magika):
        command.add_argument("--pictures", type=Path, help="a folder for pictures of the pages")
    return parser


def _shaders(options: argparse.Namespace) -> bool:
    from verify.web.models import compiled
    from verify.web.shaders import refusals
    from xyntra.targets.webgpu.bound_plan import images_of

    good = True
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as site:
        for name in options.names:
            images = images_of(compiled(name, options.models).artifact)
            with browser() as started:
                page = started.new_page()
                page.set_default_timeout(600_000)
                page.goto(site.address)
                found = refusals(page, images, pipelines=options.pipelines)
            count = sum(bool(image.launches) for image in images.values())
            print(f"{name}: {count} kernels, {len(found)} with messages", flush=True)
            for each in found:
                print(f"  {each.kernel}: " + "\n    ".join(each.messages))
            good = good and not found
    return good


def _random(options: argparse.Namespace) -> bool:
    from verify.web.random_kernels import refused_kernels

    count, found = 0, []
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as site,
        browser() as started,
    ):
        page = started.new_page()
        page.goto(site.address)
        for read, refused in refused_kernels(page, options.seed, options.graphs):
            count += read
            found += refused
            for each in refused:
                print(f"{each.kernel}: " + "\n    ".join(each.messages), flush=True)
    print(f"{options.graphs} graphs: {count} kernels, {len(found)} with messages")
    return not found


def _models(options: argparse.Namespace) -> bool:
    from verify.web.models import compare_model

    found = []
    good = True
    for name in options.names:
        with browser() as started:
            try:
                result = compare_model(started, name, options.models, options.draws)
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                good = False
                continue
        found.append(asdict(result))
        good = good and not result.beyond
        print(
            f"{name}: {result.kernels} kernels, largest error {result.error:.2g}, {result.beyond}"
            f" beyond, {result.megabytes:.1f} MB, loaded in {result.load / 1000:.1f} s,"
            f" call {result.call:.0f} ms, on {result.adapter}",
            flush=True,
        )
    if options.record is not None:
        options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return good


def _functions(options: argparse.Namespace) -> bool:
    from verify.web.functions import FUNCTIONS, measure

    good = True
    for name in options.names or FUNCTIONS:
        with browser() as started:
            found = measure(started, name)
        good = good and found.worst <= found.bound and not found.wrong
        print(
            f"{name}: {found.worst:.3g} ulp at {found.at}, of {found.bound} stated;"
            f" {found.wrong} of another kind, {found.flushed} flushed, of {found.count}",
            flush=True,
        )
    return good


def _states(options: argparse.Namespace) -> bool:
    from verify.web.stories import tell

    return _none(tell(options.names, _made(options.pictures)))


def _magika(options: argparse.Namespace) -> bool:
    from verify.web.magika import tell

    return _none(tell(_made(options.pictures)))


def _made(folder: Path | None) -> Path | None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _none(failures: list[str]) -> bool:
    for each in failures:
        print(each, file=sys.stderr)
    return not failures


if __name__ == "__main__":
    sys.exit(main())
