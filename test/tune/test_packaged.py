# SPDX-License-Identifier: MIT OR Apache-2.0
"""The schedules that come with the package are what was measured, and damaged files are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xyntra.errors import ArchiveError
from xyntra.tune.packaged.reader import (
    FOLDER,
    PackagedFile,
    PackagedKernel,
    packaged_schedules,
    read_file,
)
from xyntra.tune.tuned import Tuned, versions

SCHEDULES = '[null,{"emitter":"register-tiles","tile":[6,16]}]'
KERNEL = PackagedKernel("k1", "func.func @k1()", SCHEDULES, "[null,null]", 80.0, 100.0)
FILE = PackagedFile("cpu-x", "cpu some", versions(), 2, "", 1, (KERNEL,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "cpu-x.jsonl"
    path.write_bytes(FILE.to_bytes())
    return path


def test_a_class_of_devices_has_its_file(path: Path) -> None:
    assert read_file(path) == FILE
    assert packaged_schedules("cpu-x", path.parent) == {"k1": Tuned(SCHEDULES, 80.0, True)}
    assert packaged_schedules("cpu-y", path.parent) == {} == packaged_schedules("", path.parent)


@pytest.mark.parametrize("change", [{"versions": "another"}, {"device_class": "cpu-y"}])
def test_a_file_of_another_version_or_class_counts_for_nothing(
    path: Path, change: dict[str, str]
) -> None:
    path.write_bytes(replace(FILE, **change).to_bytes())
    assert packaged_schedules("cpu-x", path.parent) == {}


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (b"xyntra packaged", b"other"),
        (b'"threads": 1', b'"threads": "1"'),
        (b'"nanoseconds": 80.0', b'"nanoseconds": -1'),
        (b'"nanoseconds": 80.0', b'"nanoseconds": NaN'),
        (b"register-tiles", b""),
        (b"[6,16]", b"[6,1.5]"),
        (b"null,{", b"7,{"),
        (b'"usual": "[null,null]"', b'"usual": null'),
        (b'"kernel": "k1", ', b""),
        (b"{", b"["),
    ],
)
def test_files_that_are_damaged_are_refused(path: Path, found: bytes, instead: bytes) -> None:
    data = path.read_bytes()
    assert found in data
    path.write_bytes(data.replace(found, instead))
    with pytest.raises(ArchiveError, match="packaged schedules cannot be read"):
        packaged_schedules("cpu-x", path.parent)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.jsonl")), ids=lambda each: each.stem)
def test_what_comes_with_the_package_gains(file: Path) -> None:
    found = read_file(file)
    assert found.device_class == file.stem
    assert found.versions == versions()
    assert found.kernels
    assert all(each.nanoseconds <= 0.95 * each.baseline for each in found.kernels)
    assert all(each.schedules != each.usual for each in found.kernels)
