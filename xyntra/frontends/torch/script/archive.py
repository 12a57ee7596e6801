# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that a file is an archive of TorchScript, before PyTorch's reader gets to see it.

Archives are ZIP files. Readers of ZIP disagree about damaged ones, so that this one is strict: what
is checked here is what PyTorch reads.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

from xyntra.errors import ModelError, UnsupportedError

__all__ = ["check_archive"]

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LOCAL = struct.Struct("<4s5H3L2H")
_MOST_RECORDS = 1_000_000
_MOST_UNPACKED = 1 << 30
"""Bytes that compressed records may have in all; weights are stored as they are."""
_RUNS = re.compile(rb"(?<![A-Za-z0-9_])__setstate__(?![A-Za-z0-9_])")
_SAVE = "torch.jit.save(torch.jit.script(module), path)"


def check_archive(file: BinaryIO) -> None:
    """Check a file, which is read from its beginning.

    Raises:
        ModelError: it is no archive of TorchScript, or is damaged.
        UnsupportedError: it would have to run code to be read.
    """
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(4)
    if head[:2] != b"PK":
        raise _no_archive(head)
    try:
        directory = _directory(file, size)
        with zipfile.ZipFile(file) as archive:
            records = archive.infolist()
            _check_records(file, records, directory)
            _check_kind([each.filename for each in records])
            _check_code(archive, records)
    except (zipfile.BadZipFile, struct.error, zlib.error, EOFError, NotImplementedError) as error:
        raise _damaged(str(error)) from None
    except (UnicodeDecodeError, ValueError, RuntimeError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from None


def _directory(file: BinaryIO, size: int) -> int:
    """Return where the list of records begins, which ends where the file's end mark begins."""
    end = size - _END.size
    mark, disk, first, here, count, length, start, comment = _unpacked(file, end, _END)
    if mark != b"PK\x05\x06" or disk or first or here != count or comment:
        raise zipfile.BadZipFile("its end is not that of an archive")
    if size >= _END.size + _LOCATOR.size + _END64.size:
        locator = _unpacked(file, end - _LOCATOR.size, _LOCATOR)
        if locator[0] == b"PK\x06\x07":
            end -= _LOCATOR.size + _END64.size
            fields = _unpacked(file, end, _END64)
            if fields[0] != b"PK\x06\x06" or locator[2] != end:
                raise zipfile.BadZipFile("its two end marks disagree")
            short = (count, length, start)
            for narrow, wide, limit in zip(
                short, fields[7:], (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF), strict=True
            ):
                if narrow not in (wide, limit):
                    raise zipfile.BadZipFile("its two end marks disagree")
            count, length, start = fields[7:]
    if start + length != end or count > _MOST_RECORDS:
        raise zipfile.BadZipFile("its list of records is not where it should be")
    return int(start)


def _unpacked(file: BinaryIO, offset: int, fields: struct.Struct) -> tuple[Any, ...]:
    if offset < 0:
        raise zipfile.BadZipFile("it is cut off")
    file.seek(offset)
    return fields.unpack(file.read(fields.size))


def _check_records(file: BinaryIO, records: list[zipfile.ZipInfo], directory: int) -> None:
    """Check that records have names of their own, lie apart, and unpack to a bounded size."""
    names = {each.filename.casefold() for each in records}
    if len(names) != len(records) or any("\0" in each.orig_filename for each in records):
        raise zipfile.BadZipFile("two records have one name")
    unpacked, free = 0, 0
    for each in sorted(records, key=lambda record: record.header_offset):
        fields = _unpacked(file, each.header_offset, _LOCAL)
        name = file.read(fields[9])
        if fields[0] != b"PK\x03\x04" or name != each.orig_filename.encode():
            raise zipfile.BadZipFile(f"the record '{each.filename}' is not where it should be")
        begin = each.header_offset + _LOCAL.size + fields[9] + fields[10]
        if each.header_offset < free or begin + each.compress_size > directory:
            raise zipfile.BadZipFile("its records overlap")
        free = begin + each.compress_size
        if each.flag_bits & 1 or each.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise zipfile.BadZipFile("it is encrypted, or packed in another way than PyTorch's")
        if each.compress_type == zipfile.ZIP_STORED and each.compress_size != each.file_size:
            raise zipfile.BadZipFile("a stored record has two sizes")
        unpacked += each.file_size if each.compress_type != zipfile.ZIP_STORED else 0
    if unpacked > _MOST_UNPACKED:
        raise UnsupportedError(
            "model-too-large", f"the archive unpacks to {unpacked:,} bytes of code"
        )


def _check_kind(names: list[str]) -> None:
    roots = {name.partition("/")[0] for name in names}
    inner = {name.partition("/")[2] for name in names}
    if len(roots) != 1:
        raise zipfile.BadZipFile("its records are in more than one folder")
    is_old = "model.json" in inner
    if is_old or ({"data.pkl", "constants.pkl"} <= inner and any(_is_code(n) for n in names)):
        return
    if "data.pkl" in inner:
        raise _pickle("it was written by torch.save")
    raise ModelError(
        "model-not-torchscript",
        "the archive holds no TorchScript",
        cause=f"it holds {', '.join(sorted(inner)[:5])}",
        hint=f"{_SAVE}; an exported program has the suffix .pt2",
    )


def _is_code(name: str) -> bool:
    folded = name.casefold()  # PyTorch's reader finds records whatever the case of their names
    return "/code/" in folded or folded.endswith(".py")


def _check_code(archive: zipfile.ZipFile, records: list[zipfile.ZipInfo]) -> None:
    """Refuse classes that run code of their own while the archive is read."""
    for each in records:
        if _is_code(each.filename) and _RUNS.search(archive.read(each)):
            raise UnsupportedError(
                "torch-setstate",
                "the archive has to run code of its own to be read",
                cause=f"'{each.filename}' defines __setstate__, as quantized modules do",
                hint="export the module without quantization",
            )


def _pickle(cause: str) -> ModelError:
    return ModelError(
        "torch-pickle",
        "the file is a pickle, which is never loaded: that would run code that it holds",
        cause=cause,
        hint=f"where you trust it, load it in Python and save the module as TorchScript: {_SAVE}\n"
        "or compile the module itself, with weights from torch.load(path, weights_only=True):"
        " xyntra.compile(module, inputs=(example,))",
    )


def _damaged(cause: str) -> ModelError:
    return ModelError(
        "model-malformed",
        "the archive is damaged",
        cause=cause,
        hint="download or save the file again",
    )


def _no_archive(head: bytes) -> ModelError:
    if not head:
        return ModelError("model-empty", "the file is empty", hint="download or save it again")
    if head[:1] in (b"\x80", b"("):
        return _pickle("it begins as a pickle does")
    return ModelError(
        "model-not-torchscript",
        "the file is no archive of TorchScript",
        cause=f"it begins with {head!r}",
        hint=_SAVE,
    )
