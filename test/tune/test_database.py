# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tuning database: kept, merged, shared by processes, and what may be wrong with its file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.errors import ArchiveError
from xyntra.tune.database import Database, best_schedules
from xyntra.tune.exchange import export_records, import_records
from xyntra.tune.recorder import Recorder
from xyntra.tune.records import Trial, read_schedules, write_schedules

TILES = write_schedules((None, Schedule("register-tiles", {"tile": (6, 16), "epilogue": True})))
ROWS = write_schedules((Schedule("vector-rows", {"nests": 2}), None))
TRIAL = Trial("k1", "cpu a", "v1", TILES, "timed", 80.0, 100.0, made=10.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "tuned.sqlite3"


def test_schedules_come_back_from_text() -> None:
    read = read_schedules(TILES)
    assert read[0] is None
    assert read[1] == Schedule("register-tiles", {"epilogue": True, "tile": (6, 16)})
    assert write_schedules(read) == TILES


@pytest.mark.parametrize(
    "text",
    ["", "{}", '[{"tile": [1]}]', '[{"emitter": 3}]', '["x"]', '[{"emitter": "e", "t": [1.5]}]'],
)
def test_other_texts_are_no_schedules(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_schedules(text)


def test_what_is_added_is_found(path: Path) -> None:
    slow = replace(TRIAL, schedules=ROWS, status="hung", nanoseconds=0.0, detail="no answer")
    with Database(path) as database:
        database.add([TRIAL, slow, replace(TRIAL, kernel="k2", device="gpu")])
        database.set_best([TRIAL])
        assert set(database.trials("k1")) == {TRIAL, slow}
        assert len(database.trials()) == 3
    assert list(best_schedules(path, "cpu a", "v1")) == ["k1"]
    assert best_schedules(path, "cpu a", "v2") == {} == best_schedules(path, "gpu", "v1")


def test_of_equal_trials_the_newer_is_kept(path: Path) -> None:
    with Database(path) as database:
        database.add([TRIAL])
        database.add([replace(TRIAL, nanoseconds=70.0, made=11.0)])
        database.add([replace(TRIAL, nanoseconds=60.0, made=9.0)])
        assert [each.nanoseconds for each in database.trials()] == [70.0]


def test_nothing_is_made_by_reading(path: Path) -> None:
    assert best_schedules(path, "cpu a", "v1") == {}
    assert not path.parent.exists()


def test_exports_are_merged_by_gain(path: Path, tmp_path: Path) -> None:
    better = replace(TRIAL, schedules=ROWS, nanoseconds=300.0, baseline=400.0, made=5.0)
    with Database(path) as database:
        database.add([better])
        database.set_best([better, replace(TRIAL, kernel="k2")])
        database.add_kernels([("k1", "func.func @k1()")])
        counts = export_records(database, tmp_path / "all.json")
        assert counts == {"trial": 1, "best": 2, "kernel": 1}
    with Database(tmp_path / "other.sqlite3") as other:
        other.set_best([TRIAL])
        import_records(other, tmp_path / "all.json")
        import_records(other, path)  # again, from the database itself
        found = {each.kernel: each.schedules for each in other.best()}
        assert found == {"k1": ROWS, "k2": TILES}
        assert other.trials() == [better]
        assert other.kernels() == {"k1": "func.func @k1()"}
        other.merge_best([replace(TRIAL, nanoseconds=79.0, baseline=100.0)])
        assert {each.schedules for each in other.best() if each.kernel == "k1"} == {ROWS}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "line 2 is no table"),
        (b"{", "line 2 is no JSON"),
        (b'{"trial": {"kernel": 1}}', "line 2"),
        (b'{"best": {}}', "line 2"),
        (b"[" * 100_000, "line 2 is no JSON"),
    ],
)
def test_files_that_are_no_exports_are_refused(
    path: Path, tmp_path: Path, line: bytes, message: str
) -> None:
    file = tmp_path / "given.json"
    file.write_bytes(b'{"format": "xyntra tuning", "version": 1}\n' + line + b"\n")
    with Database(path) as database:
        with pytest.raises(ArchiveError) as caught:
            import_records(database, file)
        assert message in str(caught.value.cause)
        file.write_bytes(line)
        with pytest.raises(ArchiveError):
            import_records(database, file)
        assert database.trials() == []


def _with_trial(path: Path) -> None:
    with Database(path) as database:
        database.add([TRIAL])
        database.set_best([TRIAL])


@pytest.mark.parametrize("first", [True, False])
def test_a_damaged_file_is_set_aside(path: Path, *, first: bool) -> None:
    _with_trial(path)
    data = bytearray(path.read_bytes())
    start, end = (0, 64) if first else (4096, len(data))
    data[start:end] = b"\x5a" * (end - start)
    path.write_bytes(bytes(data))
    if first:
        with pytest.raises(ArchiveError, match="cannot be read"):
            best_schedules(path, "cpu a", "v1")
    with Database(path) as database:
        (note,) = database.notes
        assert "was damaged" in note
        assert database.trials() == []
    kept = [each for each in path.parent.iterdir() if ".damaged-" in each.name]
    assert [each.read_bytes() for each in kept if each.stat().st_size == len(data)] == [bytes(data)]


def test_a_file_of_another_version_is_set_aside(path: Path) -> None:
    _with_trial(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(ArchiveError):
        best_schedules(path, "cpu a", "v1")
    with Database(path) as database:
        assert "another version (99)" in database.notes[0]
    found = [each for each in path.parent.iterdir() if ".version-99-" in each.name]
    (kept,) = [each for each in found if not each.name.endswith(("-wal", "-shm"))]
    assert sqlite3.connect(kept).execute("SELECT count(*) FROM best").fetchone() == (1,)


def test_a_file_that_is_locked_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xyntra.tune.database._WAIT", 0.05)
    _with_trial(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(ArchiveError) as caught:
        Database(path)
    assert "locked" in str(caught.value.cause)
    assert list(best_schedules(path, "cpu a", "v1")) == ["k1"]  # readers do not wait
    holder.close()
    Database(path).close()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError) as caught:
        Database(tmp_path / "file" / "tuned.sqlite3")
    assert "XYNTRA_TUNING_DATABASE" in str(caught.value.hint)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_read(path: Path, tmp_path: Path) -> None:
    _with_trial(path)
    away = tmp_path / "away"
    shutil.copytree(path.parent, away)
    (away / path.name).chmod(0o444)
    away.chmod(0o555)
    try:
        assert list(best_schedules(away / path.name, "cpu a", "v1")) == ["k1"]
        with pytest.raises(ArchiveError):
            Database(away / path.name)
    finally:
        away.chmod(0o755)


def test_what_a_full_disk_does_not_take_is_kept_apart(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_trial(path)
    connect = sqlite3.connect

    def full(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count=1")  # no more than there are
        return connection

    monkeypatch.setattr("xyntra.tune.database.sqlite3.connect", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    recorder = Recorder(path)
    long = replace(TRIAL, kernel="k2", detail="x" * 40_000)
    recorder.keep([long])
    recorder.keep_best(replace(TRIAL, kernel="k2"))
    recorder.close()
    assert "full" in recorder.notes[0]
    (kept,) = tmp_path.glob("xyntra-tuned-*.json")
    assert str(kept) in recorder.notes[-1]
    monkeypatch.undo()
    with Database(path) as database:
        import_records(database, kept)
        assert database.trials("k2") == [long]
        assert [each.kernel for each in database.best()] == ["k1", "k2"]
    # Where there is no room for that, either, it is said.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    recorder = Recorder(kept / "tuned.sqlite3")  # below what is a file
    recorder.keep([long])
    recorder.close()
    assert "could not be kept" in recorder.notes[-1]


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from xyntra.tune.database import Database
from xyntra.tune.records import Trial
path, name = Path(sys.argv[1]), sys.argv[2]
trial = Trial(name, "cpu a", "v1", "[]", "timed", 80.0, 100.0, made=1.0)
for number in range(40):
    with Database(path) as database:
        database.add([replace(trial, schedules="[" + ",".join(["null"] * number) + "]")])
        database.set_best([trial])
"""


_OPENER = """
import sys, time
from pathlib import Path
from xyntra.tune.database import Database
folder, start = Path(sys.argv[1]), float(sys.argv[2])
for number in range(60):
    while time.time() < start + 0.02 * number:
        pass
    Database(folder / str(number)).close()
"""


def test_several_processes_make_the_file_at_once(tmp_path: Path) -> None:
    # The first connection changes the file to WAL mode and the last removes the log: in between
    # SQLite tells the others of errors that are gone a moment later.
    command = [sys.executable, "-c", _OPENER, str(tmp_path), str(time.time() + 1)]
    openers = [subprocess.Popen(command) for _ in range(4)]
    assert [each.wait(60) for each in openers] == [0, 0, 0, 0]
    assert not list(tmp_path.glob("*.version-*"))  # set aside as of another version


def test_several_processes_write_at_once(path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(path)]
    writers = [subprocess.Popen([*command, f"k{n}"]) for n in range(3)]
    assert [each.wait(60) for each in writers] == [0, 0, 0]
    with Database(path) as database:
        assert database.notes == []
        assert len(database.trials()) == 3 * 40
        assert len(database.best()) == 3
