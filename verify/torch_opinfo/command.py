# SPDX-License-Identifier: MIT OR Apache-2.0
"""Run PyTorch's samples of its commonest operators: `python -m verify.torch_opinfo`.

Each sample goes through torch.compile(backend="xyntra"), its results in f32 and its gradients in
float64, and is compared with eager PyTorch. What PyTorch runs instead is named in a warning. The
exit status is 1 where a sample is wrong, or fails where eager PyTorch does not. With --page, the
table of docs/pytorch.md is written from the file of --json.
"""

from __future__ import annotations

import argparse
import json
import textwrap
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.machine import describe
from verify.torch_opinfo.operators import GROUPS

__all__ = ["main"]

Row = dict[str, Any]
_VERDICTS = ("right", "fallback", "wrong", "failed", "skipped")
_PAGE = Path(__file__).resolve().parents[2] / "docs" / "pytorch.md"
_BEGIN = "<!-- begin: python -m verify.torch_opinfo -->\n"
_END = "<!-- end: python -m verify.torch_opinfo -->\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the operators that are asked for; return 1 if one is wrong or fails."""
    options = _parser().parse_args(arguments)
    rows = _earlier(options)
    if not options.page:
        _run(options, rows)
    for group, names in GROUPS.items():
        print(f"{group}: {_counts(rows, names)}")
    bad = [row for row in rows if row["wrong"]]
    for row in bad:
        print(row["name"], row["variant"], *row["wrong"], sep="\n  ")
    if options.page:
        _write_page(rows)
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verify.torch_opinfo", description=__doc__)
    parser.add_argument("--samples", type=int, default=2, help="of each operator")
    parser.add_argument("--only", action="append", metavar="NAME", help="of an operator")
    parser.add_argument("--json", help="a file that is written as it goes, and gone on with")
    parser.add_argument("--page", action="store_true", help="write the table; runs nothing")
    return parser


def _earlier(options: argparse.Namespace) -> list[Row]:
    if not options.json or not Path(options.json).exists():
        return []
    rows: list[Row] = json.loads(Path(options.json).read_text(encoding="utf-8"))["rows"]
    return rows


def _run(options: argparse.Namespace, rows: list[Row]) -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    from verify.torch_opinfo.checking import check

    warnings.simplefilter("ignore")
    done = {(row["name"], row["variant"]) for row in rows}
    wanted = {name for names in GROUPS.values() for name in names} & set(
        options.only or (operator.name for operator in op_db)
    )
    found = {"machine": describe(), "samples": options.samples}
    for operator in op_db:
        if operator.name not in wanted or (operator.name, operator.variant_test_name) in done:
            continue
        rows.append(check(operator, options.samples))
        print(_line(rows[-1]), flush=True)
        if options.json:
            text = json.dumps({**found, "rows": rows}, indent=1)
            Path(options.json).write_text(text + "\n", encoding="utf-8")


def _line(row: Row) -> str:
    parts = [f"{way} {_plain(row[way])}" for way in ("forward", "backward") if row[way]]
    text = f"{row['name']} {row['variant']}".ljust(48) + "; ".join(parts)
    return "\n  ".join([text, *row["reports"], *row["wrong"]])


def _plain(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[each]} {each}" for each in _VERDICTS if counts.get(each))


def _counts(rows: Sequence[Row], names: Sequence[str]) -> str:
    found = [row for row in rows if row["name"] in names]
    kinds = Counter(map(_kind, found))
    return f"{len(found)} operators and variants, {_plain(dict(kinds))}"


def _kind(row: Row) -> str:
    """Return the worst that became of an operator's samples."""
    seen = {*row["forward"], *row["backward"]}
    return next(
        each for each in ("failed", "wrong", "fallback", "right", "skipped") if each in seen
    )


def _write_page(rows: Sequence[Row]) -> None:
    lines = ["| operators | with variants | all right | in part by PyTorch | wrong |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for group, names in [*GROUPS.items(), ("all", sum(GROUPS.values(), ()))]:
        own = [row for row in rows if row["name"] in names]
        kinds = Counter(map(_kind, own))
        bad = kinds["wrong"] + kinds["failed"]
        cells = (f"{group} ({len(names)})", len(own), kinds["right"], kinds["fallback"], bad)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    parts = sorted({row["name"] for row in rows if _kind(row) == "fallback"})
    samples = sum(sum(row[way].values()) for row in rows for way in ("forward", "backward"))
    lines += [
        "",
        *textwrap.wrap(f"{samples} samples. In part by PyTorch: {', '.join(parts)}.", 130),
    ]
    text = _PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = "\n".join(lines) + "\n"
    _PAGE.write_text(before + _BEGIN + table + _END + after, encoding="utf-8")
