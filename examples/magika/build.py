# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write a page that says what type a file is that is dropped on it.

    python examples/magika/build.py -o site/
    python -m http.server --directory site

The model is Magika (3 MB). It runs in the browser: files do not leave the machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import xyntra

# The module that knows where the model comes from is not installed: take it from this clone.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from bench.models import REGISTRY, ensure
from bench.models.magika import CONFIG, CONTENT_TYPES
from bench.models.wheels import read

HERE = Path(__file__).resolve().parent
PAGE = ("index.html", "features.js", "magika.js", "magika.css")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder")
    build(parser.parse_args(arguments).output)
    return 0


def build(folder: Path) -> None:
    """Write the page, its model, and what labels mean, into a folder."""
    spec = REGISTRY["magika"]
    model = xyntra.compile(ensure(spec.name), inputs=spec.shapes, target="webgpu")
    model.save_web(folder, title="What is this file?")
    (folder / "types.json").write_text(json.dumps(types()), encoding="utf-8")
    for name in PAGE:
        shutil.copyfile(HERE / name, folder / name)


def types() -> dict[str, object]:
    """Return the labels of the model in order, when they are to be believed, and their meaning."""
    config, known = json.loads(read(CONFIG)), json.loads(read(CONTENT_TYPES))
    labels = config["target_labels_space"]
    overwrites = config["overwrite_map"]
    wanted = {*labels, *overwrites.values(), "txt", "unknown", "empty"}
    meanings = {
        name: {
            "description": known[name]["description"] or name,
            "mime": known[name]["mime_type"],
            "group": known[name]["group"],
            "text": known[name]["is_text"],
        }
        for name in sorted(wanted)
    }
    return {
        "labels": labels,
        "thresholds": config["thresholds"],
        "threshold": config["medium_confidence_threshold"],
        "overwrites": overwrites,
        "least": config["min_file_size_for_dl"],
        "meanings": meanings,
    }


if __name__ == "__main__":
    sys.exit(main())
