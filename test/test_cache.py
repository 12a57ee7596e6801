# SPDX-License-Identifier: MIT OR Apache-2.0
"""The disk cache keeps what it was given, or nothing: damage, races and full disks included."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from xyntra.cache import CacheWarning, DiskCache, cache_key
from xyntra.errors import CacheError

HEADER = 64
MIB = 1 << 20
KEY = cache_key("some", b"key")


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "a" / "cache", 16 * MIB)


def entry(cache: DiskCache, key: str = KEY) -> Path:
    return cache.root / "v1" / key[:2] / key[2:]


def files(cache: DiskCache) -> list[Path]:
    return [path for path in cache.root.rglob("*") if path.is_file() and path.name != "journal"]


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 5000], ids=["empty", "1", "big"])
def test_what_is_put_is_read_back(cache: DiskCache, data: bytes) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, data)
    assert cache.get(KEY) == data
    assert DiskCache(cache.root, MIB).get(KEY) == data
    assert cache.get(cache_key("other")) is None


def test_put_replaces(cache: DiskCache) -> None:
    cache.put(KEY, b"first, and longer")
    cache.put(KEY, bytearray(b"second"))
    assert cache.get(KEY) == b"second"
    assert files(cache) == [entry(cache)]


def test_put_takes_views_of_wider_items(cache: DiskCache) -> None:
    cache.put(KEY, memoryview(bytes(range(16))).cast("I"))
    assert cache.get(KEY) == bytes(range(16))


def test_map_is_read_only_and_outlives_the_entry(cache: DiskCache) -> None:
    assert cache.map(KEY) is None
    cache.put(KEY, b"mapped" * 1000)
    view = cache.map(KEY)
    assert view is not None
    assert view.readonly
    cache.put(KEY, b"other")
    entry(cache).unlink()
    assert view == b"mapped" * 1000


@pytest.mark.parametrize("key", ["", "abc", "../" * 21 + "a", KEY.upper(), KEY + "\n", KEY + "0"])
def test_other_keys_are_refused(cache: DiskCache, key: str) -> None:
    for use in (cache.get, cache.map, lambda key: cache.put(key, b"")):
        with pytest.raises(CacheError) as caught:
            use(key)
        assert caught.value.code == "cache-key"


def test_keys_are_unambiguous() -> None:
    parts: list[tuple[bytes | str, ...]] = [
        (),
        ("",),
        (b"",),
        ("", ""),
        ("ab",),
        ("a", "b"),
        (b"a", "b"),
        ("a", b"b"),
        ("b", "a"),
        ("\udcff",),
        ("a\x00b",),
    ]
    keys = {cache_key(*some) for some in parts}
    assert len(keys) == len(parts)
    assert cache_key("ab", b"c") == cache_key("ab", b"c")
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)


@pytest.mark.parametrize("offset", [0, 7, 8, 11, 12, 16, 19, 20, 51, 52, 63, HEADER, HEADER + 99])
def test_a_flipped_bit_anywhere_is_a_miss(cache: DiskCache, offset: int) -> None:
    cache.put(KEY, bytes(100))
    damaged = bytearray(entry(cache).read_bytes())
    damaged[offset] ^= 0x10
    entry(cache).write_bytes(damaged)
    assert cache.get(KEY) is None
    assert not entry(cache).exists()
    cache.put(KEY, b"again")
    assert cache.get(KEY) == b"again"


@pytest.mark.parametrize("length", [0, 1, HEADER - 1, HEADER, HEADER + 50, HEADER + 99])
def test_a_truncated_entry_is_a_miss(cache: DiskCache, length: int) -> None:
    cache.put(KEY, bytes(100))
    os.truncate(entry(cache), length)
    assert cache.map(KEY) is None
    assert not entry(cache).exists()


def test_bytes_added_at_the_end_are_a_miss(cache: DiskCache) -> None:
    cache.put(KEY, bytes(100))
    with entry(cache).open("ab") as file:
        file.write(b"x")
    assert cache.get(KEY) is None


def test_an_entry_under_another_key_is_a_miss(cache: DiskCache) -> None:
    other = cache_key("other")
    cache.put(KEY, b"mine")
    entry(cache, other).parent.mkdir(exist_ok=True)
    entry(cache).rename(entry(cache, other))
    assert cache.get(other) is None


def test_the_folder_is_private(cache: DiskCache) -> None:
    cache.put(KEY, b"x")
    assert stat.S_IMODE((cache.root / "v1").stat().st_mode) & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no POSIX permissions")
def test_a_folder_that_everybody_may_write_to_is_not_used(cache: DiskCache) -> None:
    cache.put(KEY, b"x")
    (cache.root / "v1").chmod(0o777)
    again = DiskCache(cache.root, MIB)
    with pytest.warns(CacheWarning, match="every user"):
        assert again.get(KEY) is None
    again.put(KEY, b"y")
    assert cache.get(KEY) == b"x"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)
def test_a_folder_of_another_user_is_not_used(cache: DiskCache) -> None:
    cache.put(KEY, b"x")
    os.chown(cache.root / "v1", 12345, -1)
    again = DiskCache(cache.root, MIB)
    with pytest.warns(CacheWarning, match="another user"):
        again.put(KEY, b"y")
    assert again.get(KEY) is None
    assert cache.get(KEY) == b"x"


@pytest.mark.parametrize("depth", [".", "below", "v1"])
def test_a_file_in_place_of_the_folder_gives_one_warning(tmp_path: Path, depth: str) -> None:
    (tmp_path / ("v1" if depth == "v1" else "file")).write_bytes(b"")
    cache = DiskCache(tmp_path if depth == "v1" else tmp_path / "file" / depth, MIB)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.get(KEY) is None
        cache.put(KEY, b"x")
        cache.put(KEY, b"x")
        assert cache.get(KEY) is None
    assert [warning.category for warning in caught] == [CacheWarning]
    assert re.search(r"cache in .* cannot be (read|written): ", str(caught[0].message))


def test_a_full_disk_stops_writing_only(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    assert resource.RLIMIT_FSIZE is not None
    script = f"""
        import resource, warnings
        from pathlib import Path
        from xyntra.cache import DiskCache
        cache = DiskCache({str(tmp_path)!r}, 1 << 30)
        cache.put("0" * 64, b"kept")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cache.put("1" * 64, bytes(100_000))
            cache.put("2" * 64, bytes(100_000))
        assert [type(w.message).__name__ for w in caught] == ["CacheWarning"], caught
        print(caught[0].message)
        assert cache.get("0" * 64) == b"kept"
        assert cache.get("1" * 64) is None
        left = [p.name for p in Path({str(tmp_path)!r}).rglob("*") if p.is_file()]
        assert sorted(left) == ["0" * 62, "journal"], left
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be written: [Errno 27]" in done.stdout


def test_a_folder_removed_meanwhile_is_made_again(cache: DiskCache) -> None:
    cache.put(KEY, b"x")
    shutil.rmtree(cache.root)
    assert cache.get(KEY) is None
    cache.put(KEY, b"y")
    assert cache.get(KEY) == b"y"


def aged_keys(cache: DiskCache, count: int, size: int) -> Iterator[str]:
    """Put `count` entries, the first the oldest by a day each."""
    now = time.time()
    for number in range(count):
        key = cache_key(str(number))
        cache.put(key, bytes(size))
        when = now - 86400 * (count - number)
        os.utime(entry(cache, key), (when, when))
        yield key


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10 * MIB)
    keys = list(aged_keys(cache, 9, MIB))
    assert cache.get(keys[0]) is not None
    newest = cache_key("newest")
    cache.put(newest, bytes(MIB))
    kept = [key for key in keys if entry(cache, key).exists()]
    assert sum(path.stat().st_size for path in files(cache)) <= 8 * MIB
    assert kept[0] == keys[0]
    assert kept[1:] == keys[-len(kept) + 1 :]
    assert len(kept) >= 5
    assert cache.get(newest) is not None


def test_the_bound_holds_whatever_the_sizes(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, MIB)
    chance = random.Random(7)
    for number in range(150):
        key = cache_key(str(number))
        cache.put(key, bytes(chance.choice([10, 1000, 50_000, 300_000, 1_000_000])))
        assert entry(cache, key).exists()
        assert sum(path.stat().st_size for path in files(cache)) <= MIB


def test_small_entries_are_not_evicted_early(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, MIB)
    keys = [cache_key(str(number)) for number in range(500)]
    for key in keys:
        cache.put(key, bytes(1000))
    assert all(cache.get(key) is not None for key in keys)


def test_eviction_looks_at_the_folder_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    scandir = os.scandir

    def counted(path: str) -> object:
        nonlocal looks
        looks += os.path.basename(path) == "v1"
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    cache = DiskCache(tmp_path, 8 * MIB)
    for number in range(400):
        cache.put(cache_key(str(number)), bytes(60_000))
    assert 1 <= looks <= 40


def test_data_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1000)
    cache.put(KEY, bytes(1000))
    assert cache.get(KEY) is None
    cache.put(KEY, bytes(1000 - HEADER))
    assert cache.get(KEY) == bytes(1000 - HEADER)


def test_abandoned_temporary_files_are_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, MIB)
    cache.put(KEY, b"x")
    old, new = (entry(cache).with_name(f".new-{name}") for name in ("old", "new"))
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (1e9, 1e9))
    for number in range(3):
        cache.put(cache_key(str(number)), bytes(500_000))
    assert (old.exists(), new.exists()) == (False, True)


def payload(number: int) -> bytes:
    return bytes([number]) * (20_000 + 1000 * number)


HAMMER = """
import random, sys, warnings
from xyntra.cache import DiskCache, cache_key

warnings.simplefilter("error")
cache = DiskCache(sys.argv[1], 200_000)
chance = random.Random(int(sys.argv[2]))
hits = 0
for _ in range(300):
    number = chance.randrange(10)
    right = bytes([number]) * (20_000 + 1000 * number)
    data = cache.get(cache_key(str(number)))
    if data is None or chance.random() < 0.3:
        cache.put(cache_key(str(number)), right)
    if data is not None:
        assert data == right, number
        hits += 1
print(hits)
"""


def test_processes_share_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HAMMER, str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(4)
    ]
    hits = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert min(map(int, hits)) > 50
    cache = DiskCache(tmp_path, 200_000)
    assert all(path.name[0] != "." for path in files(cache))
    assert sum(path.stat().st_size for path in files(cache)) <= 400_000


def test_threads_share_one_cache(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 10 * MIB)
    wrong: list[int] = []

    def work(seed: int) -> None:
        for number in random.Random(seed).choices(range(10), k=100):
            cache.put(cache_key(str(number)), payload(number))
            if cache.get(cache_key(str(number))) != payload(number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
