# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks many random models, and reports one line for each class of failure."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import onnx

from verify.random_graphs.models.finish import Case
from verify.random_graphs.runs.check import GOOD, Outcome
from verify.random_graphs.runs.child import Child
from verify.random_graphs.runs.self_check import DAMAGES
from verify.random_graphs.runs.shrink import shrink
from verify.random_graphs.runs.store import read_case, write_case

__all__ = ["campaign", "replay", "self_check"]


@dataclass(frozen=True)
class Finding:
    """A model that does not do what it should, made small."""

    number: int
    outcome: Outcome
    case: Case | None


def campaign(options: argparse.Namespace) -> int:
    """Check `--graphs` models; returns 1 if there is a problem."""
    started = time.perf_counter()
    outcomes: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    first: dict[str, int] = {}
    findings: dict[str, list[Finding]] = {}
    for number, outcome, finding in _all(options):
        outcomes[outcome.kind] += 1
        if outcome.kind in ("refused", "invalid"):
            text = f"{outcome.kind}: {outcome.group}"
            refusals[text] += 1
            first.setdefault(text, number)
        if finding is not None:
            findings.setdefault(finding.outcome.group, []).append(finding)
            _show(options, finding)
    minutes = (time.perf_counter() - started) / 60
    print(
        f"\n{options.graphs} graphs in {minutes:.1f} min ({options.graphs / minutes:.0f} a minute)"
    )
    print(" ".join(f"{kind}={count}" for kind, count in outcomes.most_common()))
    for text, count in refusals.most_common(40):
        print(f"  {count:4d} {text} (number {first[text]})")
    for group, each in sorted(findings.items(), key=lambda item: -len(item[1])):
        numbers = " ".join(str(finding.number) for finding in each[:6])
        print(f"PROBLEM {len(each)} x {each[0].outcome.kind}: {group} (numbers {numbers})")
    return 1 if findings else 0


def _all(options: argparse.Namespace) -> Iterator[tuple[int, Outcome, Finding | None]]:
    numbers = range(options.first, options.first + options.graphs)
    if options.jobs == 1:
        yield from _some(options, numbers)
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        parts = [numbers[i :: options.jobs] for i in range(options.jobs)]
        for found in pool.map(lambda part: list(_some(options, part)), parts):
            yield from found


def _some(
    options: argparse.Namespace, numbers: range, broken: str = "", small: bool = True
) -> Iterator[tuple[int, Outcome, Finding | None]]:
    child = Child(options.seed, options.target, broken)
    try:
        for number in numbers:
            outcome, case = child.number(number, options.limit)
            if outcome.kind in GOOD:
                yield number, outcome, None
                continue
            finding = Finding(number, outcome, case)
            if case is not None and small:
                finding = _small(child, number, outcome, case, options.limit)
            yield number, outcome, finding
    finally:
        child.end()


def _small(child: Child, number: int, outcome: Outcome, case: Case, limit: float) -> Finding:
    word = _sort(outcome)

    def fails(smaller: Case) -> bool:
        return _sort(child.case(smaller, limit)) == word

    found = shrink(case, fails, 12 if outcome.kind == "timeout" else 80)
    return Finding(number, child.case(found, limit), found)


def _sort(outcome: Outcome) -> str:
    """What a smaller model has to have in common with the one that failed."""
    if outcome.kind == "compiler":
        return outcome.group
    return "mismatch" if outcome.kind == "disputed" else outcome.kind


def _show(options: argparse.Namespace, finding: Finding) -> None:
    print(f"\n#{finding.number} {finding.outcome.kind}: {finding.outcome.detail}", flush=True)
    if finding.case is None:
        return
    if options.keep:
        path = options.keep / f"{options.seed}-{finding.number}.onnx"
        write_case(finding.case, path)
        print(f"  {path} settings {finding.case.settings}")
    text = onnx.printer.to_text(finding.case.model)
    print("\n".join(line[:400] for line in text.splitlines()[3:45]), flush=True)


def replay(options: argparse.Namespace) -> int:
    """Check one written model."""
    child = Child(0, options.target)
    case = read_case(options.replay)
    print(onnx.printer.to_text(case.model)[:4000])
    outcome = child.case(case, options.limit)
    child.end()
    print(f"{outcome.kind}: {outcome.detail}")
    return 0 if outcome.kind in GOOD else 1


def self_check(options: argparse.Namespace) -> int:
    """Whether deliberate defects are found within `--graphs` models each."""
    missed = 0
    for name, text in DAMAGES.items():
        numbers = range(options.first, options.first + options.graphs)
        found = count = 0
        for _, _, finding in _some(options, numbers, name, small=False):
            count += 1
            found += finding is not None and finding.outcome.kind in ("mismatch", "disputed")
            if found >= 3:
                break
        missed += not found
        print(f"{name}: {text}: {found} found in {count} graphs", flush=True)
    return 1 if missed else 0
