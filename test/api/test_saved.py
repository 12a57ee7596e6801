# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that are saved and loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx_models import mlp

import xyntra
from xyntra.errors import ConfigError, InputError
from xyntra.executable import Executable


@pytest.fixture(scope="module")
def perceptron(settings: dict[str, object]) -> Executable:
    return xyntra.compile(mlp(), config=settings)


LOAD = """\
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("onnx", "torch_mlir", "google"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import numpy as np
import xyntra

exe = xyntra.load(sys.argv[1])
np.save(sys.argv[3], exe(np.load(sys.argv[2])))
print(exe.explain())
"""


def test_a_saved_model_runs_without_the_compiler(tmp_path: Path, perceptron: Executable) -> None:
    x = np.random.default_rng(4).standard_normal((4, 32)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    perceptron.save(tmp_path / "m.xyn")
    names = [str(tmp_path / name) for name in ("m.xyn", "x.npy", "y.npy")]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *names], check=True, capture_output=True, text=True
    )
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), perceptron(x))
    assert done.stdout.strip() == perceptron.explain().strip()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.xyn", "x.npy", "y.npy"]


def test_a_saved_model_is_the_same(tmp_path: Path, perceptron: Executable) -> None:
    perceptron.save(tmp_path / "m.xyn")
    loaded = xyntra.load(str(tmp_path / "m.xyn"))
    assert loaded.plan == perceptron.plan
    assert loaded.artifact.ir == perceptron.artifact.ir
    np.testing.assert_array_equal(loaded.weights["w"], perceptron.weights["w"])
    loaded.save(tmp_path / "again.xyn")
    assert (tmp_path / "again.xyn").read_bytes() == (tmp_path / "m.xyn").read_bytes()


def test_a_model_is_saved_without_its_weights(tmp_path: Path, perceptron: Executable) -> None:
    path, x = tmp_path / "m.xyn", np.ones((4, 32), np.float32)
    perceptron.save(path)
    whole = path.stat().st_size
    weights = {**perceptron.weights, "of another model": x}
    loaded = xyntra.load(path, weights={"w": perceptron.weights["w"] * np.float32(2)})
    assert not np.array_equal(loaded(x), perceptron(x))  # what is given wins
    perceptron.save(path, weights=False)
    assert path.stat().st_size <= whole - sum(array.nbytes for array in perceptron.weights.values())
    np.testing.assert_array_equal(xyntra.load(path, weights=weights)(x), perceptron(x))
    with pytest.raises(InputError) as caught:
        xyntra.load(path)
    assert caught.value.code == "weight-missing"
    for wrong in (weights["w"].astype(np.float64), weights["w"][1:]):
        with pytest.raises(InputError) as caught:
            xyntra.load(path, weights={**weights, "w": wrong})
        assert caught.value.code == "weight-mismatch"
        assert "'w'" in str(caught.value)


def test_the_number_of_threads_is_chosen_when_loading(
    tmp_path: Path, perceptron: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    perceptron.save(tmp_path / "m.xyn")
    x = np.ones((4, 32), np.float32)
    for threads in (1, 2, 5):
        loaded = xyntra.load(tmp_path / "m.xyn", threads=threads)
        np.testing.assert_array_equal(loaded(x), perceptron(x))
        assert loaded._program.team.threads == threads  # type: ignore[attr-defined]
    monkeypatch.setenv("XYNTRA_THREADS", "3")
    loaded = xyntra.load(tmp_path / "m.xyn")
    assert loaded._program.team.threads == 3  # type: ignore[attr-defined]
    with pytest.raises(ConfigError):
        xyntra.load(tmp_path / "m.xyn", threads=0)


def test_saving_over_the_loaded_file_keeps_it_working(
    tmp_path: Path, perceptron: Executable
) -> None:
    perceptron.save(tmp_path / "m.xyn")
    loaded = xyntra.load(tmp_path / "m.xyn")
    loaded.save(tmp_path / "m.xyn")
    x = np.ones((4, 32), np.float32)
    np.testing.assert_array_equal(loaded(x), perceptron(x))
    np.testing.assert_array_equal(xyntra.load(tmp_path / "m.xyn")(x), perceptron(x))
