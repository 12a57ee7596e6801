# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings: their sources in order, their checks, and messages that name the place."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path

import pytest

from xyntra.config import KINDS, Config, load_config, user_cache_dir
from xyntra.config_sources import find_file
from xyntra.errors import ConfigError

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XYNTRA_CACHE_DIR")
    monkeypatch.delenv("XYNTRA_TUNING_DATABASE")
    monkeypatch.delenv("XYNTRA_STRICT")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(*args: object, **arguments: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_config(*args, **arguments)  # type: ignore[arg-type]
    return caught.value


def test_defaults() -> None:
    config = load_config()
    assert config == Config()
    assert (config.target, config.precision, config.opt_level) == ("auto", "f32", 2)
    assert (config.cache_size, config.max_tensor_bytes) == (4 * GIB, 16 * GIB)
    assert config.compile_timeout == 600.0
    assert (config.cache, config.isolate, config.fuse) == (True, True, True)
    assert config.threads is config.jobs is config.memory_limit is config.progress is None


def test_every_field_is_documented() -> None:
    doc = inspect.getdoc(Config) or ""
    assert [name for name in KINDS if f"\n    {name}: " not in doc] == []


def test_later_sources_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(
        tmp_path / "fusion.toml", "[xyntra]\nthreads = 1\njobs = 1\nopt_level = 1\nfuse = false\n"
    )
    monkeypatch.setenv("XYNTRA_JOBS", "2")
    monkeypatch.setenv("XYNTRA_OPT_LEVEL", "3")
    monkeypatch.setenv("XYNTRA_TARGET", "cpu")
    config = load_config({"opt_level": 0, "target": "cuda:1"}, target="webgpu", precision=None)
    assert (config.threads, config.jobs, config.opt_level) == (1, 2, 0)
    assert (config.target, config.precision, config.fuse) == ("webgpu", "f32", False)


def test_a_finished_config_takes_arguments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XYNTRA_THREADS", "7")
    base = Config(threads=3)
    assert load_config(base) == base
    assert load_config(base, jobs=2) == dataclasses.replace(base, jobs=2)
    assert refused(base, jobs=0).place == "argument 'jobs'"


def test_file_is_found_in_a_parent_and_the_nearest_wins(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_file(inner) is None
    outer_file = write(tmp_path / "fusion.toml", "")
    assert find_file(inner) == outer_file
    near = write(tmp_path / "a" / "fusion.toml", "")
    assert find_file(inner) == near
    (inner / "fusion.toml").mkdir()
    assert find_file(inner) == near


def test_named_file_replaces_the_found_one(tmp_path: Path) -> None:
    write(tmp_path / "fusion.toml", "[xyntra]\nthreads = 1\n")
    other = write(tmp_path / "other.toml", "[xyntra]\njobs = 4\n")
    for path in (other, str(other)):
        assert load_config(path) == Config(jobs=4)


def test_paths_in_a_file_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "fusion.toml", "[xyntra]\ncache_dir = 'kept'\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert load_config().cache_dir == tmp_path / "kept"
    assert load_config(cache_dir="kept").cache_dir == inner / "kept"
    assert load_config(cache_dir=Path("~/x")).cache_dir == Path("~/x").expanduser()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("4GiB", 4 * GIB),
        ("4 gib", 4 * GIB),
        ("1.5KiB", 1536),
        ("2kb", 2000),
        ("3MB", 3_000_000),
        ("1TiB", 1 << 40),
        ("7b", 7),
    ],
)
def test_sizes(text: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config(cache_size=text).cache_size == expected
    monkeypatch.setenv("XYNTRA_CACHE_SIZE", text)
    assert load_config().cache_size == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", "CPU"),
        ("target", "cuda:"),
        ("target", 3),
        ("precision", "fp32"),
        ("precision", ["f32"]),
        ("threads", 0),
        ("threads", "4"),
        ("threads", True),
        ("threads", 1.0),
        ("opt_level", -1),
        ("opt_level", 4),
        ("cache_dir", ""),
        ("cache_dir", "a\0b"),
        ("cache_dir", b"x"),
        ("cache_size", 0),
        ("cache_size", "4 QiB"),
        ("cache_size", "-1"),
        ("cache_size", "ib"),
        ("cache_size", "9" * 400),
        ("cache", 1),
        ("cache", "yes"),
        ("compile_timeout", 0),
        ("compile_timeout", float("nan")),
        ("compile_timeout", float("inf")),
        ("compile_timeout", "10"),
        ("memory_limit", False),
        ("progress", "maybe"),
    ],
)
def test_wrong_values(name: str, value: object) -> None:
    error = refused(**{name: value})
    assert error.code == "config-value"
    assert error.place == f"argument {name!r}"
    assert f"{name!r} must be" in error.message
    assert repr(value) in error.message
    with pytest.raises(ConfigError, match="must be"):
        Config(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["target", "opt_level", "cache", "cache_dir", "compile_timeout"])
def test_required_settings_refuse_none(name: str) -> None:
    assert refused({name: None}).place == f"config[{name!r}]"


def test_messages_say_what_was_expected() -> None:
    assert refused(opt_level=9).message == "'opt_level' must be a whole number from 0 to 3, not 9"
    known = '"f32", "f16", "bf16", "int8", "w8", "w4", on CPUs "w4a8", on GPUs "tf32" and "fp8"'
    assert f"{known}, not 'half'" in refused(precision="half").message
    assert "4GiB" in refused(cache_size="big").message
    assert "a whole number from 1 to 4096, or none" in refused(jobs=0).message


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("XYNTRA_FUSE", "off", "fuse", False),
        ("XYNTRA_FUSE", "True", "fuse", True),
        ("XYNTRA_PROGRESS", "1", "progress", True),
        ("XYNTRA_PROGRESS", "none", "progress", None),
        ("XYNTRA_THREADS", " 4 ", "threads", 4),
        ("XYNTRA_THREADS", "None", "threads", None),
        ("XYNTRA_THREADS", "", "threads", None),
        ("XYNTRA_COMPILE_TIMEOUT", "2.5", "compile_timeout", 2.5),
        ("XYNTRA_MEMORY_LIMIT", "1GiB", "memory_limit", GIB),
    ],
)
def test_environment(
    variable: str, text: str, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    assert getattr(load_config(), name) == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [("XYNTRA_FUSE", "maybe"), ("XYNTRA_THREADS", "four"), ("XYNTRA_JOBS", "0")],
)
def test_environment_errors_name_the_variable(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    error = refused()
    assert (error.code, error.place) == ("config-value", f"environment variable {variable}")


def test_unknown_names_get_the_nearest_known_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert refused(thread=3).hint == "did you mean 'threads'?"
    assert refused({"optlevel": 3}).hint == "did you mean 'opt_level'?"
    assert "known names: target" in (refused(zzz=3).hint or "")
    path = write(tmp_path / "fusion.toml", "# comment\n[xyntra]\nthreads = 2\ncachedir = 'x'\n")
    error = refused()
    assert (error.place, error.hint) == (f"{path}:4", "did you mean 'cache_dir'?")
    path.unlink()
    monkeypatch.setenv("XYNTRA_THREAD", "3")
    error = refused()
    assert error.place == "environment variable XYNTRA_THREAD"
    assert error.hint == "did you mean 'XYNTRA_THREADS'?"


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("[xyntra]\nthreads = 'four'\n", ":2", "config-value"),
        ("\n\nxyntra.threads = 'four'\n", ":3", "config-value"),
        ("[xyntra]\n\n'threads' = 'four'\n", ":3", "config-value"),
        ("[xyntra]\n[xyntra.cache]\nsize = 3\n", ":2", "config-value"),
        ("[xyntra]\nthreads = 2\nthread.x = 3\n", ":3", "config-unknown"),
        ("\nthreads = 2\n", ":2", "config-unknown"),
        ("\n[xyntar]\nthreads = 2\n", ":2", "config-unknown"),
        ("xyntra = 3\n", "", "config-value"),
        ("[xyntra\n", "", "config-syntax"),
    ],
)
def test_file_errors_name_the_line(text: str, line: str, code: str, tmp_path: Path) -> None:
    path = write(tmp_path / "fusion.toml", text)
    error = refused()
    assert (error.code, error.place) == (code, f"{path}{line}")


def test_a_setting_outside_the_table_is_explained(tmp_path: Path) -> None:
    write(tmp_path / "fusion.toml", "threads = 2\n")
    assert refused().hint == "put a line [xyntra] above it"


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "absent.toml").code == "config-unreadable"
    assert refused(tmp_path).code == "config-unreadable"
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    assert refused(tmp_path / "latin.toml").code == "config-unreadable"
    assert refused(3).code == "config-type"


def test_codegen_key_follows_the_settings_that_change_code() -> None:
    base = Config()
    assert hash(base.codegen_key()) == hash(Config().codegen_key())
    for changed in (
        Config(target="cpu"),
        Config(precision="bf16"),
        Config(opt_level=0),
        Config(fuse=False),
    ):
        assert changed.codegen_key() != base.codegen_key()
    other = Config(
        cache_dir=Path("x"), cache=False, isolate=False, jobs=3, memory_limit=GIB, threads=1
    )
    assert other.codegen_key() == base.codegen_key()


def test_config_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().threads = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {}, "HOME/.cache/xyntra"),
        ("linux", {"XDG_CACHE_HOME": "/var/x"}, "/var/x/xyntra"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache/xyntra"),
        ("darwin", {"XDG_CACHE_HOME": "/var/x"}, "HOME/Library/Caches/xyntra"),
        ("win32", {}, "HOME/AppData/Local/xyntra/Cache"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/xyntra/Cache"),
    ],
)
def test_cache_dir_by_platform(
    platform: str,
    environ: dict[str, str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert user_cache_dir() == Path(expected.replace("HOME", str(tmp_path)))
    assert Config().cache_dir == user_cache_dir()


def test_cache_dir_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    assert user_cache_dir().name.startswith("xyntra-")
