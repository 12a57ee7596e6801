# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes and checks the schedules that come with the package: `python -m bench.packaged COMMAND`.

`write DATABASE` takes from a tuning database, or an export of one, the schedules that gain at least
5 % (the noise of a search is 2 %), and writes the file of their class of devices. `check` says what
is stale in the files that there are. `measure` runs their kernels on this machine, in turns with
the usual schedules; `--drop` then leaves out what gains nothing here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch_mlir import ir

from bench.harness.machine import describe
from bench.harness.measure import ROOT, write_json
from bench.kernel_modules import as_module
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.kernels.kernel import parse_kernel
from xyntra.compiler.kernels.tuned import tuning_key
from xyntra.compiler.tuning.session import Tuning, model_spaces, tune_model
from xyntra.config import Config, load_config
from xyntra.dialects import make_context
from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
from xyntra.targets.kernel import KernelSource
from xyntra.targets.table import backend_for
from xyntra.tune.database import Database
from xyntra.tune.exchange import import_records
from xyntra.tune.packaged.reader import FOLDER, PackagedFile, PackagedKernel, read_file
from xyntra.tune.records import Trial, read_schedules, write_schedules
from xyntra.tune.tuned import versions

__all__ = ["main", "stale"]

_GAIN = 0.95
_HOLDS = 0.98
"""The largest share of the usual time that is called a gain on another machine of the class."""
_SECONDS = 20.0
"""For measuring one kernel; it takes two or three."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 where something is stale, or gains nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench.packaged", description=__doc__)
    commands = parser.add_subparsers(required=True)
    write = commands.add_parser("write", help="make a file of what searches have found")
    write.add_argument("database", type=Path, help="or an export of one")
    write.add_argument("--device", default="", help="only of a device whose name starts so")
    check = commands.add_parser("check", help="look for what is stale")
    measure = commands.add_parser("measure", help="measure kernels beside the usual schedules")
    measure.add_argument("--drop", action="store_true", help="leave out what gains nothing here")
    measure.add_argument("--json", type=Path, help="default: bench/results/packaged-CLASS.json")
    for command in (write, measure):
        command.add_argument("--target", default="cpu", help="such as cuda:sm_90a")
        command.add_argument("--threads", type=int, default=1, help="on the CPU (1)")
    for command, run in ((write, _write), (check, _check), (measure, _measure)):
        command.set_defaults(run=run)
    options = parser.parse_args(arguments)
    return int(options.run(options))


def stale(file: PackagedFile) -> Iterator[str]:
    """Yield what is wrong with a file: entries that no compile takes, or that gain nothing known.

    An entry is for what a kernel would be given without it: where the cost model chooses something
    else by now, nobody has measured which is faster.
    """
    if file.versions != versions():
        yield f"{file.device_class} is of {file.versions}"
    for each in file.kernels:
        name = each.kernel[:12]
        if tuning_key(each.text, file.architecture, file.opt_level) != each.kernel:
            yield f"{name}: its text has another key"
            continue
        places = _places(each.text, file)
        usual = write_schedules([place.chosen for place in places])
        if usual != each.usual:
            yield f"{name}: what is usual is {usual} now"
        elif not _is_legal(places, each.schedules):
            yield f"{name}: {each.schedules} is not legal"


def _places(text: str, file: PackagedFile) -> Sequence[SchedulePlace]:
    """Return where a kernel can be given schedules."""
    source = KernelSource("", text, (), file.opt_level, file.architecture)
    with make_context(), ir.Location.unknown():
        return list(backend_for(file.architecture).schedule_places(parse_kernel(source), source))


def _is_legal(places: Sequence[SchedulePlace], schedules: str) -> bool:
    told = read_schedules(schedules)
    if len(told) != len(places):
        return False
    pairs = zip(told, places, strict=True)
    return all(own == place.chosen or own in place.legal for own, place in pairs)


def _write(options: argparse.Namespace) -> bool:
    target, config = CodeTarget.of(options.target), load_config(threads=options.threads)
    found, texts = _best(options.database, options.device)
    file = PackagedFile(
        device_class=target.backend.tuning_class(target.architecture, options.threads),
        device=found[0].device if found else "",
        versions=versions(),
        opt_level=config.opt_level,
        architecture=target.architecture,
        threads=options.threads,
        kernels=(),
    )
    gaining = (each for each in found if each.ratio <= _GAIN and each.kernel in texts)
    file = replace(file, kernels=tuple(_packaged(each, texts, file) for each in gaining))
    (FOLDER / f"{file.device_class}.jsonl").write_bytes(file.to_bytes())
    print(f"{file.device_class}: {len(file.kernels)} of {len(found)} kernels")
    return _said(file)


def _best(path: Path, device: str) -> tuple[list[Trial], dict[str, str]]:
    """Return what was found best on a device by this version, and the texts of kernels."""
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder) / "all.sqlite3") as all_:
        import_records(all_, path)
        found = [each for each in all_.best("", versions()) if each.device.startswith(device)]
        return found, all_.kernels()


def _packaged(best: Trial, texts: Mapping[str, str], file: PackagedFile) -> PackagedKernel:
    text = texts[best.kernel]
    usual = write_schedules([place.chosen for place in _places(text, file)])
    times = best.nanoseconds, best.baseline
    return PackagedKernel(best.kernel, text, best.schedules, usual, *times)


def _check(options: argparse.Namespace) -> bool:
    return sum(_said(read_file(path)) for path in sorted(FOLDER.glob("*.jsonl"))) > 0


def _said(file: PackagedFile) -> bool:
    problems = list(stale(file))
    print("\n".join([f"{file.device_class}: {len(problems)} stale", *problems]))
    return bool(problems)


def _measure(options: argparse.Namespace) -> bool:
    target = CodeTarget.of(options.target)
    name = target.backend.tuning_class(target.architecture, options.threads)
    path = FOLDER / f"{name}.jsonl"
    file = read_file(path)
    config = load_config(target=options.target, threads=options.threads, opt_level=file.opt_level)
    rows: list[dict[str, Any]] = []
    for kernel in file.kernels:
        rows.append(_row(kernel, config))
        print(f"{rows[-1]['kernel']}: {rows[-1]['ratio']}", flush=True)
        write_json(
            options.json or ROOT / "bench" / "results" / f"packaged-{name}.json",
            {"machine": describe(), "device_class": name, "rows": rows},
        )
    losing = {row["key"] for row in rows if row["ratio"] is None or row["ratio"] > _HOLDS}
    if options.drop:
        kept = tuple(each for each in file.kernels if each.kernel not in losing)
        path.write_bytes(replace(file, kernels=kept).to_bytes())
    return bool(losing)


def _row(kernel: PackagedKernel, config: Config) -> dict[str, Any]:
    """Measure the packaged schedules: a search begins with those that an earlier one has found."""
    source = open_source(as_module([kernel.text]))
    (space,) = model_spaces(source, Sizes(), config)
    device = CodeTarget.of(config.target).backend.tuning_key(0, config.threads), versions()
    found = "timed", kernel.nanoseconds, kernel.baseline
    with tempfile.TemporaryDirectory() as folder:
        own = replace(config, tuning_database=Path(folder) / "tuned.sqlite3")
        with Database(own.tuning_database) as database:
            database.set_best([Trial(space.key, *device, kernel.schedules, *found)])
        result = tune_model(source, Sizes(), own, Tuning(_SECONDS, trials=1))
        with Database(own.tuning_database) as database:
            trials, best = database.trials(), database.best()
    told = next((each for each in [*best, *trials] if each.schedules == kernel.schedules), None)
    return {
        "key": kernel.kernel,
        "kernel": space.name,
        "packaged": kernel.nanoseconds / kernel.baseline,
        "ratio": told.ratio if told and told.status == "timed" and trials else None,
        "nanoseconds": told.nanoseconds if told else None,
        "note": " ".join([each.note for each in result.reports] + [each.detail for each in trials]),
    }


if __name__ == "__main__":
    sys.exit(main())
