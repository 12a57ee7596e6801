# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files of TorchScript: of several versions, damaged, and hostile."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import xyntra
from xyntra.errors import ModelError, UnsupportedError, XyntraError
from xyntra.frontends.torch.script.archive import check_archive
from xyntra.tools import cli

torch = pytest.importorskip("torch")
modules = pytest.importorskip("script_modules")

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch.jit itself
Settings = dict[str, object]


def written(module: Any) -> bytes:
    data = io.BytesIO()
    torch.jit.save(module, data)
    return data.getvalue()


def rewritten(data: bytes, change: Any) -> bytes:
    """Return an archive with other records: `change` maps names and contents, or None for none."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        for each in old.infolist():
            changed = change(each.filename, old.read(each))
            if changed is not None:
                new.writestr(*changed)
    return result.getvalue()


def as_old(name: str, content: bytes) -> tuple[str, bytes] | None:
    """Return a record as PyTorch 1.13 wrote it: it had no byte order, and no number of its own."""
    if name.endswith(("/byteorder", "/.data/serialization_id")):
        return None
    return (name, b"3\n") if name.endswith("/version") else (name, content)


@pytest.fixture(scope="module")
def tagger() -> Any:
    return torch.jit.script(modules.Tagger().eval())


def test_a_file_of_an_older_version(tagger: Any, tmp_path: Path, settings: Settings) -> None:
    path, ids = tmp_path / "tagger.pt", torch.randint(0, 30, (2, 4))
    path.write_bytes(rewritten(written(tagger), as_old))
    exe = xyntra.compile(path, inputs={"ids": ids}, config=settings)
    assert exe(ids=ids).shape == (2, 4, 5)
    torch.testing.assert_close(exe(ids), tagger(ids).detach(), rtol=1e-4, atol=1e-5)
    assert "words.weight" in exe.weights


def test_operators_mean_what_they_did(tmp_path: Path, settings: Settings) -> None:
    data = rewritten(written(torch.jit.script(modules.Changed())), as_old)
    (tmp_path / "m.pt").write_bytes(data)
    inputs = torch.randn(2, 3), torch.tensor([[7, -7, 8], [1, 2, 3]])
    found = xyntra.compile(tmp_path / "m.pt", inputs=inputs, config=settings)(*inputs)
    wanted = torch.jit.load(io.BytesIO(data))(*inputs)
    assert wanted[1].dtype == torch.int64  # quotients of integers were integers
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_file_is_read_once(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, path = [torch.nn.Linear(40, 40), torch.nn.Linear(40, 2)], tmp_path / "m.pt"
    config = {**settings, "cache": True, "cache_dir": str(tmp_path / "cache")}
    x = torch.randn(3, 40)
    for number, layer in enumerate(layers):
        path.write_bytes(written(torch.jit.script(layer)))
        found = [xyntra.compile(path, inputs=(x,), config=config)(x) for _ in range(1 + number)]
        torch.testing.assert_close(found[-1], layer(x).detach())
    monkeypatch.setattr("xyntra.compiler.pytorch.files._asked", _unwanted)
    exe = xyntra.compile(path, inputs=(x,), config=config)
    torch.testing.assert_close(exe(x), layers[1](x).detach())
    assert exe(x).shape == (3, 2)
    for changed in ({"inputs": (x[:2],), "config": config}, {"inputs": (x,), "config": settings}):
        with pytest.raises(AssertionError, match="read again"):
            xyntra.compile(path, **changed)


def _unwanted(*_: object) -> bytes:
    raise AssertionError("the file is read again")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, path = torch.nn.Linear(4, 3), tmp_path / "m.pt"
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    path.write_bytes(written(torch.jit.script(module)))
    arguments = ["--input", f"input={tmp_path / 'x.npy'}", "--save", str(tmp_path)]
    assert cli.run(["run", str(path), *arguments]) == 0
    wanted = module(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(np.load(tmp_path / "output0.npy"), wanted, rtol=1e-5, atol=1e-6)
    assert cli.run(["run", str(path), "--random", "0"]) == 1
    assert "--shape input=" in capsys.readouterr().err


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    for old in (False, True):
        torch.save(Bomb(tmp_path / "made"), tmp_path / "m.pt", _use_new_zipfile_serialization=old)
        with pytest.raises(ModelError) as caught:
            xyntra.compile(tmp_path / "m.pt", inputs=[(1,)])
        assert caught.value.code == "torch-pickle"
    assert not (tmp_path / "made").exists()


def test_a_pickle_within_an_archive_runs_nothing(tagger: Any, tmp_path: Path) -> None:
    import pickle

    bomb = pickle.dumps(Bomb(tmp_path / "made"), 2)
    swapped = rewritten(written(tagger), lambda n, c: (n, bomb if n.endswith("/data.pkl") else c))
    (tmp_path / "m.pt").write_bytes(swapped)
    with pytest.raises(ModelError) as caught:
        xyntra.compile(tmp_path / "m.pt", inputs=[(1,)])
    assert caught.value.code in ("model-not-torchscript", "model-crashes")
    assert not (tmp_path / "made").exists()


def test_code_that_runs_while_it_is_read(tagger: Any) -> None:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        code = b"\n  def __setstate__(self, x: int) -> NoneType:\n    return None\n"
        return name, content + code if name.endswith("tagger.py") or ".py" in name else content

    with pytest.raises(UnsupportedError) as caught:
        check_archive(io.BytesIO(rewritten(written(tagger), change)))
    assert caught.value.code == "torch-setstate"


def test_damaged_archives_are_refused_or_whole(tagger: Any) -> None:
    data = written(tagger)
    check_archive(io.BytesIO(data))
    refused = 0
    for seed in range(100):
        random, changed = Random(seed), bytearray(data)
        for _ in range(random.randint(1, 8)):
            place = random.choice((random.randrange(len(data)), len(data) - random.randint(1, 900)))
            changed[place] = random.randrange(256)
        if random.random() < 0.2:
            del changed[random.randrange(len(changed)) :]
        try:
            check_archive(io.BytesIO(bytes(changed)))
        except XyntraError:
            refused += 1
    assert refused > 50


def test_records_that_overlap_or_hide(tagger: Any) -> None:
    data = written(tagger)
    for wrong in (data + b"x", b"PK" + data, data[:-4] + b"\xff" * 4):
        with pytest.raises(ModelError):
            check_archive(io.BytesIO(wrong))
