# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measuring in fresh processes: results, errors, crashes and time limits come back."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from bench.harness.machine import describe, slug
from bench.harness.measure import MeasureError, fresh, write_json
from bench.harness.memory import peak_memory

RESULT = "import json, os, sys\njob = json.loads(sys.argv[1])\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that `python -m measured_program` runs."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return tmp_path / "measured_program.py"


def failure(timeout: float = 60.0) -> MeasureError:
    with pytest.raises(MeasureError) as failed:
        fresh("measured_program", {"x": 1}, timeout)
    return failed.value


def test_a_result_comes_back(program: Path) -> None:
    program.write_text(RESULT + "json.dump({'y': job['x'] + 1}, open(sys.argv[2], 'w'))\n")
    assert fresh("measured_program", {"x": 1}, timeout=60.0) == {"y": 2}


def test_an_error_of_ours_is_quoted_as_a_whole(program: Path) -> None:
    raised = "UnsupportedError('op', 'no such op', hint='another')"
    program.write_text(f"from xyntra.errors import UnsupportedError\nraise {raised}\n")
    assert str(failure()) == "error[op]: no such op\n  try: another"
    assert "Traceback" in failure().detail


def test_an_error_inside_an_error_does_not_hide_it(program: Path) -> None:
    text = "error[a]: outer\n  because: error[b]: inner"
    program.write_text(f"import sys\nsys.exit({text!r})\n")
    assert str(failure()) == text


def test_another_error_is_named_by_its_last_line(program: Path) -> None:
    program.write_text("raise KeyError('gone')\n")
    assert str(failure()) == "KeyError: 'gone'"


def test_a_silent_failure_is_named_by_its_status(program: Path) -> None:
    program.write_text("raise SystemExit(3)\n")
    assert str(failure()) == "exit status 3"


def test_a_crash_is_named_by_its_signal(program: Path) -> None:
    program.write_text("import os\nos.abort()\n")
    assert str(failure()).startswith("killed by signal 6")


def test_a_process_that_hangs_is_ended(program: Path) -> None:
    program.write_text("import time\ntime.sleep(60)\n")
    assert "no result after" in str(failure(timeout=0.5))


def test_what_a_hanging_process_started_is_ended_too(program: Path) -> None:
    started = program.with_suffix(".pid")
    program.write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(started)!r}, 'w').write(str(child.pid))\n"
        "child.wait()\n"
    )
    failure(timeout=3.0)
    deadline = time.monotonic() + 10.0
    while alive(started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(started.read_text())


def alive(pid: str) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # Nobody may have collected the exit status yet: Z is a process that has ended.
    return status.rsplit(") ", 1)[1][0] != "Z"


def test_the_peak_rises_with_what_is_touched() -> None:
    before = peak_memory()
    block = np.ones(64 << 20, np.uint8)
    after = peak_memory()
    grown = int(after["parent_bytes"]) - int(before["parent_bytes"])
    assert int(after["parent_bytes"]) > block.nbytes
    assert grown <= 2 * block.nbytes
    assert after["peak_bytes"] == max(int(after["parent_bytes"]), int(after["worker_bytes"]))
    assert after[f"{after['peak_process']}_bytes"] == after["peak_bytes"]


def test_a_machine_is_described_in_json() -> None:
    machine = describe()
    assert json.loads(json.dumps(machine)) == machine
    assert machine["cores_allowed"] >= 1  # type: ignore[operator]
    assert machine["versions"]["numpy"] == np.__version__  # type: ignore[index]


@pytest.mark.parametrize(
    ("cpu", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "intel-xeon-platinum-8259cl-4c"),
        ("AMD EPYC 7R13 Processor", "amd-epyc-7r13-4c"),
        ("Apple M3 Pro", "apple-m3-pro-4c"),
    ],
)
def test_result_files_are_named_after_the_machine(cpu: str, name: str) -> None:
    assert slug({"cpu": cpu, "cores_allowed": 4}) == name


def test_json_is_written_to_a_new_folder(tmp_path: Path) -> None:
    write_json(tmp_path / "results" / "a.json", {"x": [1]})
    assert json.loads((tmp_path / "results" / "a.json").read_text()) == {"x": [1]}
