# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra tuned`: shows what tuning has found, writes it to a file, and merges such files."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xyntra.config import load_config

if TYPE_CHECKING:
    from xyntra.tune.database import Database


def add_parser(commands: Any, name: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(name, help="show, export or merge what tuning has found")
    parser.add_argument("--export", metavar="FILE", help="write all records to FILE")
    parser.add_argument(
        "--merge", metavar="FILE", action="append", default=[],
        help="add the records of an export, or of another database",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings, a TOML file")


def run(options: argparse.Namespace) -> int:
    """Merge, export, and say what the database holds."""
    from xyntra.tune.database import Database
    from xyntra.tune.exchange import export_records, import_records

    path = load_config(options.config).tuning_database
    if not path.exists() and not options.merge:
        print(f"{path}: there is none yet")
        return 0
    with Database(path) as database:
        for note in database.notes:
            print(f"xyntra: warning: {note}", file=sys.stderr)
        for name in options.merge:
            print(f"merged {_said(import_records(database, Path(name)))} from {name}")
        if options.export:
            counts = export_records(database, Path(options.export))
            print(f"wrote {_said(counts)} to {options.export}")
        if not options.export and not options.merge:
            print(f"{path}: {_contents(database)}")
    return 0


def _said(counts: dict[str, int]) -> str:
    from xyntra.observe.text import plural

    return f"{plural(counts['trial'], 'trial')} and {counts['best']} of tuned kernels"


def _contents(database: Database) -> str:
    from xyntra.observe.text import plural, printable

    trials, best = database.trials(), database.best()
    lines = [f"{plural(len(trials), 'trial')}, {plural(len(best), 'tuned kernel')}"]
    for (device, versions), count in Counter((e.device, e.versions) for e in best).items():
        lines.append(f"  {plural(count, 'kernel')} for {printable(device)} ({printable(versions)})")
    outcomes = Counter(each.status for each in trials)
    lines += [f"  {plural(count, 'trial')} {status}" for status, count in outcomes.items()]
    return "\n".join(lines)
