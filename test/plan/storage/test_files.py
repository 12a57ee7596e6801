# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files are replaced as a whole; links, devices and pipes stay what they are."""

from __future__ import annotations

import os
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from xyntra.errors import ArchiveError
from xyntra.plan.storage.files import open_regular, replace_file

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
needs_devices = pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"before, and longer")
    replace_file(path, [b"af", memoryview(b"ter")])
    assert path.read_bytes() == b"after"
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("there", [True, False], ids=["target", "no target"])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    if there:
        (folder / "f").write_bytes(b"before")
    (tmp_path / "link").symlink_to("other/f")
    replace_file(tmp_path / "link", [b"after"])
    assert (tmp_path / "link").is_symlink()
    assert (folder / "f").read_bytes() == b"after"
    assert [each.name for each in folder.iterdir()] == ["f"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ArchiveError) as caught:
        replace_file(tmp_path / "a", [b"x"])
    assert caught.value.code == "write-failed"
    assert {each.name for each in tmp_path.iterdir()} == {"a", "b"}


@needs_devices
def test_a_device_stays_a_device() -> None:
    replace_file("/dev/null", [b"x" * 1000])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(ArchiveError) as caught:
        replace_file("/dev/full", [b"x"])
    assert "No space" in str(caught.value)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@needs_devices
def test_a_descriptor_is_written_to(tmp_path: Path) -> None:
    with open(tmp_path / "f", "w+b") as file:
        replace_file(f"/dev/fd/{file.fileno()}", [b"after"])
        assert os.fstat(file.fileno()).st_nlink == 1
        assert file.read() == b"after"


@needs_pipes
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = bytes(range(256)) * 4096  # more than a pipe holds
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # there before anything is written
    writer = threading.Thread(target=replace_file, args=(pipe, [data]))
    writer.start()
    found = b""
    while len(found) < len(data):
        with suppress(BlockingIOError):
            found += os.read(descriptor, len(data))
    writer.join()
    os.close(descriptor)
    assert found == data
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


@needs_pipes
def test_a_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArchiveError) as caught:
        replace_file(tmp_path / "pipe", [b"x"])
    assert caught.value.code == "write-failed"


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    with open_regular(tmp_path / "f") as file:
        assert file.read() == b"x"
    with pytest.raises(OSError, match="regular"):
        open_regular(tmp_path)


@needs_pipes
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular"):
        open_regular(tmp_path / "pipe")
