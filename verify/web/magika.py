# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drops files on the page of `examples/magika` and compares its answers with Magika's own."""

from __future__ import annotations

import importlib.util
import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verify.web.browser import browser
from verify.web.server import served

__all__ = ["tell"]

ROOT = Path(__file__).resolve().parents[2]
FROM_HERE = ("README.md", "Makefile", "pyproject.toml", "setup.py", "docs/images/explain.png")
READY, DONE = "body[data-state=ready]", "body[data-state=done]"


def tell(pictures: Path | None) -> list[str]:
    """Drop files one by one; returns a line for each that the page says something else of.

    Raises:
        ImportError: the package `magika` is not installed.
    """
    from magika import Magika

    reference, failures = Magika(), []
    with tempfile.TemporaryDirectory() as folder:
        _builder().build(Path(folder))
        with served(Path(folder)) as site, browser() as started:
            page = started.new_page(viewport={"width": 1000, "height": 700})
            page.set_default_timeout(60_000)
            page.goto(site.address)
            page.wait_for_selector(READY)
            if pictures is not None:
                page.screenshot(path=pictures / "magika-ready.png")
            for name, content in files().items():
                wanted = str(reference.identify_bytes(content).output.label)
                found = _dropped(page, name, content)
                print(f"{name}: {found}", flush=True)
                if found != wanted:
                    failures.append(f"{name}: the page says {found}, Magika says {wanted}")
            if pictures is not None:
                page.check("#timed")
                _dropped(page, "README.md", (ROOT / "README.md").read_bytes())
                page.wait_for_selector("#timeline .step")
                page.screenshot(path=pictures / "magika-result.png", full_page=True)
    return failures


def files() -> Mapping[str, bytes]:
    """Return files of many kinds, short and white ones among them."""
    rng = np.random.default_rng(0)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "text " * 500)
    array = io.BytesIO()
    np.save(array, rng.standard_normal((20, 30)))
    made = {
        "empty": b"",
        "short.txt": b"hello",
        "short.bin": b"\xff\xfe\x00\x01",
        "white.txt": b" \n\t" * 3000,
        "padded.py": b"\n" * 3000
        + b"import os\n\n\ndef f(x):\n    return os.path.join(x, 'a')\n" * 40,
        "trailing.json": b'{"a": [1, 2, {"b": null}], "c": "text"}' + b" " * 5000,
        "random.bin": rng.bytes(20_000),
        "letters.txt": bytes(rng.integers(97, 123, 3000, dtype=np.uint8)),
        "page.html": b"<!doctype html><html><head><title>x</title></head><p>text</p></html>",
        "script.sh": b'#!/bin/sh\nset -e\nfor f in *.txt; do\n  echo "$f"\ndone\n',
        "table.csv": b"name,age,city\n" + b"anna,31,Bern\nbob,44,Rome\n" * 50,
        "archive.zip": packed.getvalue(),
        "array.npy": array.getvalue(),
    }
    return {**made, **{name: (ROOT / name).read_bytes() for name in FROM_HERE}}


def _dropped(page: Any, name: str, content: bytes) -> str:
    """Drop a file on the page, as from the desktop; returns the label that it shows."""
    page.evaluate("() => { delete document.body.dataset.state; }")
    page.evaluate(
        """([name, bytes]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(bytes)], name));
          const event = new DragEvent("drop", { dataTransfer: transfer, bubbles: true });
          document.getElementById("drop").dispatchEvent(event);
        }""",
        [name.rsplit("/", 1)[-1], list(content)],
    )
    page.wait_for_selector(DONE)
    label: str = page.get_attribute("#answer", "data-label")
    return label


def _builder() -> Any:
    """Return `examples/magika/build.py` as a module."""
    path = ROOT / "examples" / "magika" / "build.py"
    spec = importlib.util.spec_from_file_location("magika_page", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
